import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../shared/redis/keys.ts';
import { createTranscriber, type Recording } from '../../worker/features/voice/transcriber.ts';
import { startTranscription, type TranscriptionStandIn } from '../stand-in/transcription.ts';

const MB = 1024 * 1024;
/** Longer than Jest lets a test take: how fast the machine uploads decides nothing here. */
const PATIENCE_MS = 3_600_000;

const recording = (bytes: number, over: Partial<Recording> = {}): Recording => ({
  bytes: Buffer.alloc(bytes, 1),
  name: 'recording.ogg',
  mediaType: 'audio/ogg',
  payer: { chat: chatKey(1001) },
  ...over,
});

let standIn: TranscriptionStandIn;

beforeEach(async () => {
  standIn = await startTranscription();
});

afterEach(() => standIn.close());

const ask = (over: object = {}, sent = recording(9), signal = new AbortController().signal) =>
  createTranscriber({
    baseUrl: standIn.url,
    apiKey: standIn.key,
    model: standIn.model,
    timeoutMs: PATIENCE_MS,
    ...over,
  }).transcribe(sent, signal);

test('a recording is sent as it is, and its transcript comes back without white space around it', async () => {
  standIn.hear(' hello \0there\ud83d ');
  expect(await ask()).toEqual({ kind: 'heard', text: 'hello there\ufffd' });
  expect(standIn.calls).toEqual([{ status: 200, bytes: 9, name: 'recording.ogg', mediaType: 'audio/ogg' }]);
});

test('slashes at the end of the base URL make no difference, and another path is refused for good', async () => {
  expect(await ask({ baseUrl: `${standIn.url}//` })).toMatchObject({ kind: 'heard' });
  expect(await ask({ baseUrl: standIn.url.replace('/v1', '/v2') })).toEqual({ kind: 'refused', detail: 'status 404' });
});

test.each<[string, object, Recording, string]>([
  ['a wrong key', { apiKey: 'other' }, recording(9), 'status 401'],
  ['no key', { apiKey: undefined }, recording(9), 'status 401'],
  ['an unknown model', { model: 'other' }, recording(9), 'status 404'],
  ['an empty file', {}, recording(0), 'status 400'],
  ['a file of no known ending', {}, recording(9, { name: 'a.exe' }), 'status 400'],
  ['a file of more than 25 MB', {}, recording(25 * MB + 1), 'status 413'],
])('%s is refused for good', async (_, over, sent, detail) => {
  expect(await ask(over, sent)).toEqual({ kind: 'refused', detail });
});

const HTML = '<!DOCTYPE html><html><body>Sign in</body></html>';

test.each<[string, Parameters<TranscriptionStandIn['fail']>[0], object]>([
  [
    'a limit, with the wait that it asks for',
    { do: 'answer', status: 429, body: '{}', headers: { 'retry-after': '7' } },
    { detail: 'status 429', retryAfterMs: 7_000 },
  ],
  ['a limit with a wait that is none', { do: 'answer', status: 429, body: '', headers: { 'retry-after': 'x' } }, {}],
  ['an error of the server', { do: 'answer', status: 503, body: HTML }, { detail: 'status 503' }],
  ['a page of a proxy', { do: 'answer', status: 200, body: HTML }, { detail: 'status 200 without a transcript' }],
  ['JSON that breaks off', { do: 'answer', status: 200, body: '{"text":"he' }, {}],
  ['JSON without a text', { do: 'answer', status: 200, body: '{"text":{"a":1}}' }, {}],
  ['JSON that is null', { do: 'answer', status: 200, body: 'null' }, {}],
  ['nothing', { do: 'answer', status: 200, body: '' }, {}],
  ['an endless answer', { do: 'answer', status: 200, body: `{"text":"${'x'.repeat(5 * MB)}"}` }, {}],
  ['a redirect', { do: 'answer', status: 307, body: '', headers: { location: 'http://127.0.0.1:1/' } }, {}],
  ['a connection that is cut', { do: 'cut' }, { detail: 'no connection' }],
])('%s is trouble that may pass', async (_, mischief, trouble) => {
  standIn.fail(mischief);
  expect(await ask()).toMatchObject({ kind: 'trouble', ...trouble });
});

test('an endpoint that is away, or silent for longer than its time, is trouble', async () => {
  expect(await ask({ baseUrl: 'http://127.0.0.1:1/v1' })).toEqual({ kind: 'trouble', detail: 'no connection' });
  standIn.fail({ do: 'hang' });
  expect(await ask({ timeoutMs: 50 })).toEqual({ kind: 'trouble', detail: 'no answer in 50 ms' });
});

test('a call that is aborted says so', async () => {
  standIn.fail({ do: 'hang' });
  const abort = new AbortController();
  const asked = ask({}, recording(9), abort.signal);
  await standIn.waitForCalls(1);
  abort.abort();
  expect(await asked).toEqual({ kind: 'aborted' });
});
