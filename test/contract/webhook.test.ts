import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { createAccept } from '../../producer/accept/accept.ts';
import { createWebhook } from '../../producer/receive/webhook.ts';
import { serveHealth } from '../../shared/app/health.ts';
import { createLogger, type Logger } from '../../shared/base/log.ts';
import { type Telemetry, traceIdsOnly } from '../../shared/base/telemetry.ts';
import { UnreadableMessageError } from '../../shared/flow/message.ts';
import { inboxOf } from '../fixture/inbox.ts';
import { keptLog } from '../fixture/log.ts';
import { producerEnv } from '../fixture/producer-env.ts';

const SECRET = 'a_secret-of-the-test-of-32-chars';
const ADDRESS = { url: 'https://example.org/hook', secret: SECRET };
const UPDATE = {
  update_id: 5,
  message: { message_id: 1, date: 1, text: 'hello', chat: { id: 1, type: 'private' }, from: { id: 1 } },
};
const MEGABYTE = 1024 * 1024;

const open: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const service of open.splice(0)) await service.stop();
});

type ServeOptions = { requestTimeoutMs?: number; acceptMsMax?: number; log?: Logger };

/** A webhook on a real port, over an inbox that a test scripts; what was counted and accepted is noted. */
async function serve(
  { requestTimeoutMs = 10_000, acceptMsMax, log = createLogger('silent') }: ServeOptions = {},
  accept: (updateId: number) => Promise<void> = async () => {},
) {
  const accepted: number[] = [];
  const counted: [string, Record<string, unknown>][] = [];
  const inbox = inboxOf(async (_botId, { updateId }) => {
    await accept(updateId);
    accepted.push(updateId);
    return { entry: `${updateId}-0` as never, duplicate: false };
  });
  const telemetry = {
    ...traceIdsOnly(),
    count: (metric: string, attributes: Record<string, unknown>) => void counted.push([metric, attributes]),
  };
  const env = producerEnv({ inbox, allowed: async () => new Set([1]), telemetry: telemetry as Telemetry, log });
  const route = createWebhook(env, createAccept(env), ADDRESS, acceptMsMax);
  const server = await serveHealth({ host: '127.0.0.1', port: 0, log, parts: [], routes: [route], requestTimeoutMs });
  open.push(server);
  return { ...server, url: `http://127.0.0.1:${server.port}/hook`, accepted, counted };
}

const HEADERS = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': SECRET };

function deliver(url: string, body: unknown = UPDATE, headers: Record<string, string> = HEADERS): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
}

test('answers 200 with an empty body to an accepted update', async () => {
  const { url, accepted, counted } = await serve();
  const answer = await deliver(url);
  expect([answer.status, await answer.text(), accepted]).toEqual([200, '', [5]]);
  expect(counted).toEqual([['spillway.messages.accepted', {}]]);
  const charset = await deliver(url, UPDATE, { ...HEADERS, 'content-type': 'Application/JSON; charset=utf-8' });
  expect(charset.status).toBe(200);
});

test.each<[string, Record<string, string>]>([
  ['no secret', { 'content-type': 'application/json' }],
  ['a prefix of the secret', { ...HEADERS, 'x-telegram-bot-api-secret-token': SECRET.slice(0, -1) }],
  ['the secret in upper case', { ...HEADERS, 'x-telegram-bot-api-secret-token': SECRET.toUpperCase() }],
])('answers 401 to a delivery with %s before it checks anything else', async (_, headers) => {
  const { url, accepted, counted } = await serve();
  const answer = await deliver(url, UPDATE, headers);
  expect([answer.status, await answer.text(), accepted]).toEqual([401, '', []]);
  expect((await deliver(url, '{', { ...headers, 'content-type': 'text/plain' })).status).toBe(401);
  expect(counted).toEqual(Array(2).fill(['spillway.webhook.refused', { status: 401 }]));
});

test('of 1,000 wrong secrets few are judged at once, each after a second, and a genuine delivery waits for none', async () => {
  const { log, lines } = keptLog();
  const { url, accepted } = await serve({ log, requestTimeoutMs: 60_000 });
  const wrong = { ...HEADERS, 'x-telegram-bot-api-secret-token': 'x'.repeat(32) };
  const startedMs = performance.now();
  const answers = Array.from({ length: 1_000 }, async () => {
    const { status, headers } = await deliver(url, '', wrong);
    return { status, ms: performance.now() - startedMs, retryAfter: headers.get('retry-after') };
  });
  expect((await deliver(url)).status).toBe(200);
  const genuineMs = performance.now() - startedMs;
  const told = await Promise.all(answers);
  const judged = told.filter(({ status }) => status === 401);
  expect(judged.every(({ ms }) => ms >= 1_000)).toBe(true);
  const lastMs = Math.max(...told.map(({ ms }) => ms));
  expect(genuineMs).toBeLessThan(lastMs + 1_000);
  expect(told.filter(({ status }) => status !== 401)).toEqual(
    Array(1_000 - judged.length).fill(expect.objectContaining({ status: 429, retryAfter: '60' })),
  );
  // Those that are held back are 50 at a time, each for a second.
  expect(judged.length).toBeLessThanOrEqual(50 * (1 + lastMs / 1_000));
  expect(accepted).toEqual([5]);
  expect(lines.length).toBeLessThan(20);
  expect(JSON.stringify(lines)).not.toMatch(/x{32}|a_secret/);
});

test('2,000 requests that are no deliveries leave a few lines in the log', async () => {
  const { log, lines } = keptLog();
  const { url } = await serve({ log });
  for (let round = 0; round < 20; round += 1)
    await Promise.all(Array.from({ length: 100 }, async () => (await fetch(url)).arrayBuffer()));
  expect(lines.map(({ msg }) => msg)).toEqual(['a delivery of the webhook was not taken']);
});

test('answers 405 to other methods, 415 to other content types and 404 to other paths', async () => {
  const { url, accepted } = await serve();
  const got = await fetch(url);
  expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  expect((await fetch(url, { method: 'PUT', headers: HEADERS, body: '{}' })).status).toBe(405);
  for (const type of ['text/plain', 'application/jsonx', 'multipart/form-data', ''])
    expect([type, (await deliver(url, UPDATE, { ...HEADERS, 'content-type': type })).status]).toEqual([type, 415]);
  for (const path of ['/hook/', '/hooks', '/Hook', '/']) {
    const elsewhere = await deliver(url.replace('/hook', path));
    expect([path, elsewhere.status]).toEqual([path, 404]);
  }
  expect((await deliver(`${url}?from=telegram`)).status).toBe(200);
  expect(accepted).toEqual([5]);
});

test('answers 400 to a body that is not JSON', async () => {
  const { url, accepted, counted } = await serve();
  for (const body of ['', '{', '{"update_id":5,', 'update']) expect((await deliver(url, body)).status).toBe(400);
  expect([accepted, counted.length]).toEqual([[], 4]);
});

test.each<[string, unknown, string]>([
  ['null', null, 'malformed'],
  ['an update that is not a message', { update_id: 6, poll: {} }, 'not_a_message'],
  [
    'a message from a user who is not allowed',
    { ...UPDATE, message: { ...UPDATE.message, chat: { id: 2 }, from: { id: 2 } } },
    'not_allowed',
  ],
])('answers 200 to %s, accepts nothing and counts it as ignored', async (_, body, reason) => {
  const { url, accepted, counted } = await serve();
  expect((await deliver(url, body)).status).toBe(200);
  expect([accepted, counted]).toEqual([[], [['spillway.updates.ignored', { reason }]]]);
});

test('answers 200 to a message that could not be read back, ignores it, and accepts the next one', async () => {
  const { url, accepted, counted } = await serve({}, async (id) => {
    if (id === 5) throw new UnreadableMessageError('date: too large');
  });
  expect((await deliver(url)).status).toBe(200);
  expect((await deliver(url, { ...UPDATE, update_id: 6 })).status).toBe(200);
  expect(accepted).toEqual([6]);
  expect(counted[0]).toEqual(['spillway.updates.ignored', { reason: 'malformed' }]);
});

test('accepts a body of 1 MB, and answers 413 to one byte more', async () => {
  const { url, accepted } = await serve();
  const rest = MEGABYTE - JSON.stringify({ ...UPDATE, more: '' }).length;
  expect((await deliver(url, { ...UPDATE, more: 'x'.repeat(rest) })).status).toBe(200);
  expect((await deliver(url, { ...UPDATE, more: 'x'.repeat(rest + 1) })).status).toBe(413);
  expect((await deliver(url, 'x'.repeat(20 * MEGABYTE))).status).toBe(413);
  expect(accepted).toEqual([5]);
});

test('answers 503 with retry-after 5 to a write that takes too long, and survives its late failure', async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const { url, accepted } = await serve({ acceptMsMax: 50 }, () => promise);
  const refused = await deliver(url);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  reject(new Error('the connection was closed'));
  expect((await deliver(url)).status).toBe(503);
  expect(accepted).toEqual([]);
});

/** Sends raw bytes, and answers all that comes back until the connection is closed. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let got = '';
  socket.on('data', (chunk) => {
    got += String(chunk);
  });
  socket.write(bytes);
  await once(socket, 'close');
  return got;
}

const HEAD = `POST /hook HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-telegram-bot-api-secret-token: ${SECRET}\r\n`;

test.each([
  ['headers', HEAD],
  ['body', `${HEAD}content-length: 1000\r\n\r\n{"update_id":`],
])('disconnects a sender that is slow with its %s, and accepts nothing', async (_, bytes) => {
  const { port, accepted, url } = await serve({ requestTimeoutMs: 200 });
  expect(await exchange(port, bytes)).toMatch(/^(?:HTTP\/1\.1 408 |$)/);
  expect(accepted).toEqual([]);
  expect((await deliver(url)).status).toBe(200);
});

test('accepts nothing from a sender that disconnects in the middle of its body', async () => {
  const { port, accepted, url, counted } = await serve();
  const socket = connect(port, '127.0.0.1').resume();
  socket.end(`${HEAD}content-length: 1000\r\n\r\n${JSON.stringify(UPDATE)}`);
  await once(socket, 'close');
  expect([accepted, counted]).toEqual([[], [['spillway.webhook.refused', { status: 400 }]]]);
  expect((await deliver(url)).status).toBe(200);
});

test('a stop answers the delivery in progress, accepts no new one and closes kept connections', async () => {
  const begun = Promise.withResolvers<void>();
  const going = Promise.withResolvers<void>();
  const { url, stop, accepted } = await serve({}, (id) => {
    if (id !== 5) return Promise.resolve();
    begun.resolve();
    return going.promise;
  });
  // A connection that is kept, without a request on it.
  await (await deliver(url, { ...UPDATE, update_id: 4 })).arrayBuffer();
  const inHand = deliver(url);
  await begun.promise;
  const stopped = stop();
  await expect(deliver(url, { ...UPDATE, update_id: 6 })).rejects.toThrow('fetch failed');
  going.resolve();
  const answer = await inHand;
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  await stopped;
  expect(accepted).toEqual([4, 5]);
});

test('a hanging delivery does not delay a stop: its connection is cut without an answer', async () => {
  const begun = Promise.withResolvers<void>();
  const going = Promise.withResolvers<void>();
  const { url, stop } = await serve({}, () => {
    begun.resolve();
    return going.promise;
  });
  const hanging = deliver(url).then(
    () => 'answered',
    () => 'cut',
  );
  await begun.promise;
  await stop();
  expect(await hanging).toBe('cut');
  going.resolve();
});
