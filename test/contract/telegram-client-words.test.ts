import { createServer, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createTelegram } from '../../shared/telegram/client.ts';
import { isWordless } from '../../shared/telegram/failure.ts';
import { blankPng } from '../fixture/files.ts';
import { closeServer, listen } from '../stand-in/loopback.ts';
import { startTelegram } from '../stand-in/telegram/server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

/** A client of something that answers every call like that. */
async function clientOf(answer: (response: ServerResponse) => void) {
  const http = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(response));
  });
  open.push({ close: () => closeServer(http) });
  return createTelegram({ token: '7000001:AAFake', apiRoot: await listen(http), callTimeoutMs: 300 });
}

const body = (status: number, type: string, text: string) => (response: ServerResponse) =>
  void response.writeHead(status, { 'content-type': type }).end(text);
const page = (status: number) => body(status, 'text/html', '<html><title>no</title></html>');
const json = (status: number, value: unknown) => body(status, 'application/json', JSON.stringify(value));

test.each<[string, (response: ServerResponse) => void]>([
  ...[200, 403, 404, 413, 429, 502, 504].map((status): [string, (response: ServerResponse) => void] => [
    `a page, ${status}`,
    page(status),
  ]),
  ['JSON of somebody else, 403', json(403, { error: 'forbidden' })],
  ['JSON of somebody else, 200', json(200, { status: 'up' })],
  ['null', json(200, null)],
  ['an answer to a send that names no message', json(200, { ok: true, result: true })],
  ['an answer without a result', json(200, { ok: true })],
  ["Telegram's own 500", json(500, { ok: false, error_code: 500, description: 'Internal Server Error' })],
  ['a connection that dies', (response) => void response.destroy()],
  ['silence', () => {}],
  ['one message of two', json(200, { ok: true, result: [{ message_id: 7 }] })],
])('a text, a file and an album whose send ends with %s got no word of Telegram', async (_name, answer) => {
  const client = await clientOf(answer);
  const file = { name: 'a.txt', bytes: Buffer.from('a'), caption: '' };
  const sent = [await client.sendMessage({ chatId: 1 }, 'a')];
  // A file may take minutes, so nobody waits for silence here.
  if (_name !== 'silence')
    sent.push(await client.sendFile({ chatId: 1 }, file), await client.sendAlbum({ chatId: 1 }, [file, file]));
  expect(sent.map((each) => each.ok || isWordless(each.failure))).toEqual(sent.map(() => true));
  expect(sent.some((each) => each.ok)).toBe(false);
});

test.each([
  [403, { description: 'Forbidden: bot was blocked by the user' }, 'gone'],
  [400, { description: 'Bad Request: message is too long' }, 'rejected'],
  [429, { description: 'Too Many Requests', parameters: { retry_after: 900 } }, 'throttled'],
])("Telegram's own %s is its word, for a text, a file and an album alike", async (status, rest, kind) => {
  const client = await clientOf(json(status, { ok: false, error_code: status, ...rest }));
  const file = { name: 'a.txt', bytes: Buffer.from('a'), caption: '' };
  const wait = kind === 'throttled' ? { retryAfterMs: 900_000 } : {};
  const to = { chatId: 1 };
  for (const sent of [
    await client.sendMessage(to, 'a'),
    await client.sendFile(to, file),
    await client.sendAlbum(to, [file, file]),
  ])
    expect(sent).toMatchObject({ ok: false, failure: { kind, ...wait } });
});

test('a text, a rich message, a file and an album for a topic that was deleted go to its chat', async () => {
  const standIn = await startTelegram();
  open.push(standIn);
  const client = createTelegram({ token: standIn.token, apiRoot: standIn.url });
  standIn.say(-5, 'a', { topicId: 3 });
  standIn.deleteTopic(-5, 3);
  const gone = { chatId: -5, topicId: 3 };
  await client.sendMessage(gone, 'b');
  await client.sendRichMessage(gone, [{ type: 'paragraph', text: 'c' }]);
  await client.sendFile(gone, { name: 'd.txt', bytes: Buffer.from('d'), caption: 'd' });
  const photos = ['e', 'f'].map((caption) => ({ name: 'a.png', bytes: blankPng(80, 60), caption }));
  expect(await client.sendAlbum(gone, photos)).toEqual({ ok: true, value: { messageId: expect.any(Number) } });
  expect(standIn.shown(-5).map(({ text, topicId }) => [text, topicId])).toEqual(
    ['b', 'c', 'd', 'e', 'f'].map((text) => [text, undefined]),
  );
});
