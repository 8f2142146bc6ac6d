import { createServer, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createTelegram } from '../../shared/telegram/client.ts';
import { isUnanswered } from '../../shared/telegram/failure.ts';
import { startBot } from '../fixture/bot-api.ts';
import { blankPng } from '../fixture/files.ts';
import { closeServer, listen } from '../stand-in/loopback.ts';

/** Our own client of the Bot API: what it makes of answers, and what it sends. */
const CHAT = { chatId: 1001 };
const TOKEN = '7000001:AAFakeFakeFakeFakeFakeFakeFakeFake-_';
const SECRET = 'a_secret';
const { signal } = new AbortController();

const open: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

type Answering = (response: ServerResponse) => void;

/** An HTTP server that answers every request like that. */
async function serve(answer: Answering): Promise<string> {
  const http = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(response));
  });
  open.push({ close: () => closeServer(http) });
  return listen(http);
}

const clientOf = async (answer: Answering) =>
  createTelegram({ token: TOKEN, apiRoot: await serve(answer), callTimeoutMs: 300 });

/** The stand-in, and a client of it. */
async function start(options: Parameters<typeof startBot>[0] = {}) {
  const { telegram, updates } = await startBot(options);
  const client = createTelegram({ token: telegram.token, apiRoot: telegram.url });
  return { telegram, updates, client };
}

const body =
  (status: number, type: string, text: string): Answering =>
  (response) =>
    void response.writeHead(status, { 'content-type': type }).end(text);
const page = (status: number) => body(status, 'text/html', '<html><title>no</title></html>');
const json = (status: number, value: unknown) => body(status, 'application/json', JSON.stringify(value));
const FILE = { name: 'a.txt', bytes: Buffer.from('a'), caption: '' };

test.each<[string, Answering]>([
  ...[200, 403, 404, 413, 429, 502, 504].map((status): [string, Answering] => [`a page, ${status}`, page(status)]),
  ['JSON of somebody else, 403', json(403, { error: 'forbidden' })],
  ['JSON of somebody else, 200', json(200, { status: 'up' })],
  ['null', json(200, null)],
  ['an answer to a send that names no message', json(200, { ok: true, result: true })],
  ['an answer without a result', json(200, { ok: true })],
  ["Telegram's own 500", json(500, { ok: false, error_code: 500, description: 'Internal Server Error' })],
  ['a connection that dies', (response) => void response.destroy()],
  ['silence', () => {}],
  ['one message of two', json(200, { ok: true, result: [{ message_id: 7 }] })],
])('a text, a file and an album whose send ends with %s got no word of Telegram', async (name, answer) => {
  const client = await clientOf(answer);
  const sent = [await client.sendMessage(CHAT, 'a')];
  // A file may take minutes, so nobody waits for silence here.
  if (name !== 'silence') sent.push(await client.sendFile(CHAT, FILE), await client.sendAlbum(CHAT, [FILE, FILE]));
  expect(sent.filter((each) => each.ok || !isUnanswered(each.failure))).toEqual([]);
});

test.each([
  [403, { description: 'Forbidden: bot was blocked by the user' }, { kind: 'gone' }],
  [400, { description: `Bad Request: bot${TOKEN} wrote too much` }, { kind: 'rejected' }],
  [429, { description: 'Slow', parameters: { retry_after: 900 } }, { kind: 'throttled', retryAfterMs: 900_000 }],
])("Telegram's own %s is its word, for a text, a file and an album alike", async (status, rest, failure) => {
  const client = await clientOf(json(status, { ok: false, error_code: status, ...rest }));
  for (const sent of [
    await client.sendMessage(CHAT, 'a'),
    await client.sendFile(CHAT, FILE),
    await client.sendAlbum(CHAT, [FILE, FILE]),
  ])
    expect([sent, JSON.stringify(sent).includes(TOKEN)]).toMatchObject([{ ok: false, failure }, false]);
});

test('a text, a rich message, a file and an album for a topic that was deleted go to its chat', async () => {
  const { telegram, client } = await start();
  telegram.say(-5, 'a', { topicId: 3 });
  telegram.deleteTopic(-5, 3);
  const gone = { chatId: -5, topicId: 3 };
  await client.sendMessage(gone, 'b');
  await client.sendRichMessage(gone, [{ type: 'paragraph', text: 'c' }]);
  await client.sendFile(gone, { ...FILE, caption: 'd' });
  const photos = ['e', 'f'].map((caption) => ({ name: 'a.png', bytes: blankPng(80, 60), caption }));
  expect(await client.sendAlbum(gone, photos)).toEqual({ ok: true, value: { messageId: expect.any(Number) } });
  expect(telegram.shown(-5).map(({ text, topicId }) => [text, topicId])).toEqual(
    ['b', 'c', 'd', 'e', 'f'].map((text) => [text, undefined]),
  );
});

test('a poll fails as conflict when a webhook is set, then as webhook_set; afterwards it returns what waits', async () => {
  const { telegram, client } = await start();
  const polled = client.getUpdates(undefined, signal);
  await telegram.waitForCall(({ method }) => method === 'getUpdates');
  await client.setWebhook('https://example.org/hook', SECRET, signal);
  expect(await polled).toMatchObject({ failure: { kind: 'conflict' } });
  expect(await client.getUpdates(undefined, signal)).toMatchObject({ failure: { kind: 'webhook_set' } });
  expect(await client.setWebhook('https://example.org/hook', SECRET, signal)).toMatchObject({
    failure: { kind: 'throttled', retryAfterMs: 1_000 },
  });
  expect(await client.deleteWebhook(signal)).toEqual({ ok: true, value: undefined });
  telegram.say(1001, 'waits');
  expect(await client.getUpdates(undefined, signal)).toMatchObject({ value: [{ message: { text: 'waits' } }] });
});

test('getWebhookInfo fails as not_offered on 404 and as unauthorized on 401; an http webhook as rejected', async () => {
  const { telegram, client } = await start();
  telegram.fail('getWebhookInfo', { status: 404, description: 'Not Found' });
  telegram.fail('getWebhookInfo', { status: 401, description: 'Unauthorized' });
  expect(await client.getWebhookInfo(signal)).toMatchObject({ failure: { kind: 'not_offered' } });
  expect(await client.getWebhookInfo(signal)).toMatchObject({ failure: { kind: 'unauthorized' } });
  expect(await client.setWebhook('http://example.org/hook', SECRET, signal)).toMatchObject({
    failure: { kind: 'rejected', description: expect.stringMatching(/HTTPS URL must be provided/) },
  });
});

test('a webhook call fails as aborted when its signal fires', async () => {
  const { telegram, client } = await start();
  const leave = new AbortController();
  telegram.fail('*', { do: 'hang' }, 3);
  const left = [
    client.setWebhook('https://example.org/hook', SECRET, leave.signal),
    client.deleteWebhook(leave.signal),
    client.getWebhookInfo(leave.signal),
  ];
  await telegram.waitForCall(() => telegram.calls.length === 3);
  leave.abort();
  for (const result of await Promise.all(left)) expect(result).toMatchObject({ failure: { kind: 'aborted' } });
});

/** Guest mode, as the documents of Bot API 10.0 have it. None of this was tried on the real server. */
test('a summons is answered and edited without previews of links, the same text twice, until it is gone or too old', async () => {
  const { telegram, client, updates } = await start();
  telegram.summon(77, -100_900, 'Hello');
  telegram.summon(77, -100_900, 'And?');
  const queries = (await updates()).map(({ guest_message: message }) => String(message?.guest_query_id));
  const put = await client.answerSummons(queries[0] ?? '', 'One moment');
  const id = put.ok ? put.value.inlineId : '';
  for (const text of ['An *answer*', 'An *answer*'])
    expect(await client.editSummoned(id, text, [{ type: 'bold', offset: 0, length: 2 }])).toMatchObject({ ok: true });
  const sent = telegram.calls.filter(({ method }) => /^(?:editMessageText|answerGuestQuery)$/.test(method));
  expect(JSON.stringify(sent.map(({ params }) => params)).match(/is_disabled/g)).toHaveLength(3);
  telegram.clearAbroad(-100_900);
  expect(await client.editSummoned(id, 'b')).toMatchObject({ ok: false, failure: { kind: 'message_gone' } });
  telegram.expireSummonses();
  expect(await client.answerSummons(queries[1] ?? '', 'Late')).toMatchObject({ failure: { kind: 'rejected' } });
  const old = await start({ apiVersion: 9.5 });
  expect(await old.client.answerSummons('1', 'a')).toMatchObject({ failure: { kind: 'rejected' } });
});
