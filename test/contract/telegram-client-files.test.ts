import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createTelegram, type Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { closeServer, listen, sendJson } from '../stand-in/loopback.ts';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';

const open: { close(): unknown }[] = [];

afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

const MB = 1024 * 1024;
const TOKEN = '7000001:AAFakeFakeFakeFakeFakeFakeFakeFake-_';
const PATH = 'documents/file_1.pdf';
const LIVE = new AbortController().signal;

async function standIn(): Promise<{ telegram: TelegramStandIn; client: Telegram }> {
  const telegram = await startTelegram({ token: TOKEN });
  open.push(telegram);
  return { telegram, client: createTelegram({ token: TOKEN, apiRoot: telegram.url }) };
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A Bot API server that describes a file as it is told to, and answers its download as it is told to. */
async function server(
  described: object | null,
  download: Answer = (response) => response.end('bytes'),
  timeoutMs?: number,
) {
  const asked: string[] = [];
  const http = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url?.startsWith('/file/')) download(response, request);
    else sendJson(response, 200, { ok: true, result: described });
  });
  open.push({ close: () => closeServer(http) });
  const apiRoot = await listen(http);
  const limit = timeoutMs === undefined ? {} : { downloadTimeoutMs: timeoutMs };
  return { asked, client: createTelegram({ token: TOKEN, apiRoot, ...limit }) };
}

async function failure(client: Telegram, bytesMax = MB, signal = LIVE, fileId = 'id'): Promise<TelegramFailure> {
  const loaded = await client.downloadFile(fileId, bytesMax, signal);
  if (loaded.ok) throw new Error(`loaded ${loaded.value.length} bytes`);
  expect(loaded.failure.description).not.toBe('');
  expect(JSON.stringify(loaded)).not.toContain('AAFake');
  return loaded.failure;
}

test('an unknown file is rejected in the words of Telegram, and one over its 20 MB is too_large', async () => {
  const { telegram, client } = await standIn();
  expect(await failure(client)).toEqual({
    kind: 'rejected',
    description: expect.stringContaining('wrong file_id or the file is temporarily unavailable'),
  });
  const id = telegram.addFile(Buffer.from('x'), PATH, 21 * MB);
  expect(await failure(client, 50 * MB, LIVE, id)).toMatchObject({ kind: 'too_large' });
});

test('does not download a file whose stated size is too large', async () => {
  const { asked, client } = await server({ file_path: PATH, file_size: 2_000 });
  expect(await failure(client, 1_999)).toMatchObject({
    kind: 'too_large',
    description: expect.stringContaining('1999'),
  });
  expect(asked).toHaveLength(1);
});

const endless: Answer = (response) => {
  const more = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
  };
  response.on('drain', more).on('error', () => {});
  more();
};

test.each<[string, object, Answer]>([
  ['no size', {}, endless],
  ['a size that is too small', { file_size: 9 }, endless],
  ['a size that is none', { file_size: 'x' }, endless],
  ['a content-length', {}, (response) => response.writeHead(200, { 'content-length': 100_001 }).flushHeaders()],
])('cuts off a download over the limit that has %s', async (_, stated, download) => {
  const gone = Promise.withResolvers<void>();
  const { client } = await server({ file_path: PATH, ...stated }, (response, request) => {
    response.on('close', gone.resolve);
    download(response, request);
  });
  expect(await failure(client, 100_000)).toMatchObject({ kind: 'too_large' });
  await gone.promise;
});

test.each([
  '/var/lib/telegram-bot-api/7000001:AAFake/documents/file_1.pdf',
  'C:\\bot\\7000001\\file',
  '\\\\host\\file',
])('rejects a local path from a Bot API server in --local mode: %s', async (path) => {
  const { asked, client } = await server({ file_path: path, file_size: 5 });
  expect(await failure(client)).toEqual({
    kind: 'rejected',
    description: expect.stringContaining('run the Bot API server without --local'),
  });
  expect(asked).toHaveLength(1);
});

const WITHOUT_PATH = [null, {}, { file_path: '' }, { file_path: 5 }];

test.each(WITHOUT_PATH)('rejects a file without a path: %j', async (described) => {
  expect(await failure((await server(described)).client)).toMatchObject({ kind: 'rejected' });
});

test.each<[number, TelegramFailure['kind']]>([
  [400, 'rejected'],
  [401, 'unauthorized'],
  [403, 'gone'],
  [404, 'rejected'],
  [429, 'throttled'],
  [500, 'unknown'],
  [502, 'unknown'],
])('a download answered with %d fails as %s', async (status, kind) => {
  const { client } = await server({ file_path: PATH }, (response) => {
    response.writeHead(status, { 'retry-after': '7' }).end(`token ${TOKEN}`);
  });
  const found = await failure(client);
  expect(found).toMatchObject({ kind, description: expect.stringContaining(String(status)) });
  expect(found.retryAfterMs).toBe(status === 429 ? 7_000 : undefined);
});

const half: Answer = (response) => void response.writeHead(200).write('half');

test.each<[string, Answer]>([
  ['is closed', (response) => response.destroy()],
  ['breaks off', (response) => void response.write(Buffer.alloc(4_000), () => response.destroy())],
  [
    'breaks off before its content-length',
    (response) => {
      response.writeHead(200, { 'content-length': '5000' }).write(Buffer.alloc(4_000), () => response.destroy());
    },
  ],
  ['stalls', () => {}],
  ['stalls in the middle', half],
])('a download that %s fails as unknown', async (_, download) => {
  expect(await failure((await server({ file_path: PATH }, download, 150)).client)).toMatchObject({ kind: 'unknown' });
});

test('an unreachable server fails as unreached', async () => {
  expect(await failure(createTelegram({ token: TOKEN, apiRoot: 'http://127.0.0.1:1' }))).toMatchObject({
    kind: 'unreached',
  });
});

test('our abort signal ends a download at every step', async () => {
  expect(await failure((await server({ file_path: PATH })).client, MB, AbortSignal.abort())).toMatchObject({
    kind: 'aborted',
  });
  for (const stall of [() => {}, half]) {
    const leaving = new AbortController();
    const { client } = await server({ file_path: PATH }, (response, request) => {
      stall(response, request);
      leaving.abort();
    });
    expect(await failure(client, MB, leaving.signal)).toMatchObject({ kind: 'aborted' });
  }
  const { telegram, client } = await standIn();
  telegram.fail('getFile', { do: 'hang' });
  const leaving = new AbortController();
  const left = failure(client, MB, leaving.signal);
  await telegram.waitForCall(({ method }) => method === 'getFile');
  leaving.abort();
  expect(await left).toMatchObject({ kind: 'aborted' });
});

test.each([0, 1, 5_000, 3 * MB])('downloads a file of %d bytes whole when that is the limit', async (size) => {
  const { telegram, client } = await standIn();
  const bytes = Buffer.from(Array.from({ length: 251 }, (_, at) => at));
  const file = Buffer.alloc(size, bytes);
  const loaded = await client.downloadFile(telegram.addFile(file, 'photos/file_7.jpg'), size, LIVE);
  expect(loaded.ok && loaded.value.equals(file)).toBe(true);
});

test('percent-encodes the path of a file in the download URL', async () => {
  const { telegram, client } = await standIn();
  const id = telegram.addFile(Buffer.from('found'), 'documents/Größe 100% 世界.txt');
  expect(await client.downloadFile(id, MB, LIVE)).toEqual({ ok: true, value: Buffer.from('found') });
  const { asked, client: other } = await server({ file_path: 'a/b?c#d e\ud83d.txt' });
  await other.downloadFile('id', MB, LIVE);
  expect(asked[1]).toBe(`/file/bot${TOKEN}/a/b%3Fc%23d%20e%EF%BF%BD.txt`);
});
