import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTelegram, type Telegram } from '../../shared/telegram/client.ts';
import { until } from '../fixture/root.ts';
import { closeServer, listen, readBody } from '../stand-in/loopback.ts';
import { startTelegram, type TelegramStandIn } from '../stand-in/telegram/server.ts';

const UPDATE_KINDS = ['message', 'edited_message', 'callback_query', 'stopped_message_generation', 'my_chat_member'];

const CHAT = 1001;
const OTHER = 1002;
const SECRET = 'a_secret';
const { signal } = new AbortController();

let standIn: TelegramStandIn;
let telegram: Telegram;
const open: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  standIn = await startTelegram();
  telegram = createTelegram({ token: standIn.token, apiRoot: standIn.url });
  open.push(standIn);
});

afterEach(() => Promise.all(open.splice(0).map((each) => each.close())));

/** A bot's own server: notes what comes in, and answers with what a test says. */
async function receiver(statusOf: (text: string, nth: number) => number | Promise<number> = () => 200) {
  const seen: { text: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(async (request, response) => {
    const { message } = JSON.parse(String(await readBody(request, 1e6)));
    seen.push({ text: message.text, headers: request.headers });
    response.writeHead(await statusOf(message.text, seen.length), { 'retry-after': '0' }).end();
  });
  open.push({ close: () => closeServer(server) });
  return { url: `${await listen(server)}/hook`, seen, texts: () => seen.map(({ text }) => text) };
}

const delivered = (match: (delivery: { updateId: number; status: number }) => boolean) =>
  until('delivery', () => standIn.deliveries.find(match));

const callsOf = (name: string) => standIn.calls.filter(({ method }) => method === name);

test('setWebhook sends the secret and the allowed_updates of polls, and drops no pending update', async () => {
  const waiting = standIn.say(CHAT, 'before');
  const { url, seen, texts } = await receiver();
  expect(await telegram.setWebhook(url, SECRET, signal)).toEqual({ ok: true, value: undefined });
  await standIn.waitForConfirmed(waiting);
  await standIn.waitForConfirmed(standIn.say(CHAT, 'after'));
  expect(texts()).toEqual(['before', 'after']);
  expect(seen[0]?.headers).toMatchObject({
    'x-telegram-bot-api-secret-token': SECRET,
    'content-type': 'application/json',
  });
  expect(callsOf('setWebhook').map(({ params }) => params)).toEqual([
    { url, secret_token: SECRET, allowed_updates: UPDATE_KINDS },
  ]);
  await telegram.deleteWebhook(signal);
  await telegram.getUpdates(1, signal, 'at once');
  expect(callsOf('getUpdates')[0]?.params.allowed_updates).toEqual(UPDATE_KINDS);
  const hasGuests = createTelegram({ token: standIn.token, apiRoot: standIn.url, hasGuests: true });
  await hasGuests.setWebhook(url, SECRET, signal);
  expect(callsOf('setWebhook').at(-1)?.params.allowed_updates).toEqual([...UPDATE_KINDS, 'guest_message']);
});

test('polls fail as webhook_set while a webhook is set; after deleteWebhook they return what waits', async () => {
  const { url } = await receiver(() => 503);
  await telegram.setWebhook(url, SECRET, signal);
  standIn.say(CHAT, 'waits');
  expect(await telegram.getUpdates(undefined, signal)).toMatchObject({ failure: { kind: 'webhook_set' } });
  expect(await telegram.deleteWebhook(signal)).toEqual({ ok: true, value: undefined });
  expect(callsOf('deleteWebhook').map(({ params }) => params)).toEqual([{}]);
  expect(await telegram.getUpdates(undefined, signal)).toMatchObject({ value: [{ message: { text: 'waits' } }] });
});

test('an open poll fails as conflict when a webhook is set', async () => {
  const polled = telegram.getUpdates(undefined, signal);
  await standIn.waitForCall(({ method }) => method === 'getUpdates');
  await telegram.setWebhook('https://example.org/hook', SECRET, signal);
  expect(await polled).toMatchObject({ failure: { kind: 'conflict' } });
});

test('getWebhookInfo reports no webhook, one that delivers, and one that fails with its last error', async () => {
  expect(await telegram.getWebhookInfo(signal)).toEqual({ ok: true, value: { url: '', pending: 0 } });
  let status = 503;
  const { url } = await receiver(() => status);
  await telegram.setWebhook(url, SECRET, signal);
  expect(await telegram.getWebhookInfo(signal)).toEqual({ ok: true, value: { url, pending: 0 } });
  const update = standIn.say(CHAT, 'a');
  await delivered(({ status }) => status === 503);
  expect(await telegram.getWebhookInfo(signal)).toEqual({
    ok: true,
    value: {
      url,
      pending: 1,
      lastError: { atS: expect.any(Number), description: 'Wrong response from the webhook: 503 Service Unavailable' },
    },
  });
  status = 200;
  await standIn.waitForConfirmed(update);
  expect(await telegram.getWebhookInfo(signal)).toEqual({ ok: true, value: { url, pending: 0 } });
});

test('getWebhookInfo fails as not_offered on 404 and as unauthorized on 401', async () => {
  standIn.fail('getWebhookInfo', { status: 404, description: 'Not Found' });
  standIn.fail('getWebhookInfo', { status: 401, description: 'Unauthorized' });
  expect(await telegram.getWebhookInfo(signal)).toMatchObject({ failure: { kind: 'not_offered' } });
  expect(await telegram.getWebhookInfo(signal)).toMatchObject({ failure: { kind: 'unauthorized' } });
});

test('setWebhook fails as rejected for an http URL; a webhook call fails as aborted when its signal fires', async () => {
  expect(await telegram.setWebhook('http://example.org/hook', SECRET, signal)).toMatchObject({
    failure: { kind: 'rejected', description: expect.stringMatching(/HTTPS URL must be provided/) },
  });
  const leave = new AbortController();
  standIn.fail('*', { do: 'hang' }, 3);
  const left = [
    telegram.setWebhook('https://example.org/hook', SECRET, leave.signal),
    telegram.deleteWebhook(leave.signal),
    telegram.getWebhookInfo(leave.signal),
  ];
  await standIn.waitForCall(() => standIn.calls.length === 4);
  leave.abort();
  for (const result of await Promise.all(left)) expect(result).toMatchObject({ failure: { kind: 'aborted' } });
});

test('the stand-in delivers a chat in order, retries an update until a 200, and does not block other chats', async () => {
  const stuck = Promise.withResolvers<number>();
  const { url, texts } = await receiver((text, nth) => (text === 'a' && nth === 1 ? stuck.promise : 200));
  await telegram.setWebhook(url, SECRET, signal);
  standIn.say(CHAT, 'a');
  standIn.say(CHAT, 'b');
  const beside = standIn.say(OTHER, 'beside');
  await delivered(({ updateId }) => updateId === beside);
  expect(texts()).toEqual(['a', 'beside']);
  stuck.resolve(500);
  await delivered(({ updateId, status }) => updateId === beside - 1 && status === 200);
  expect(texts()).toEqual(['a', 'beside', 'a', 'b']);
});

test('the stand-in accepts the same webhook again without a second delivery, but not twice within a second', async () => {
  const held = Promise.withResolvers<number>();
  const { url, texts } = await receiver(() => held.promise);
  await telegram.setWebhook(url, SECRET, signal);
  const update = standIn.say(CHAT, 'in hand');
  await standIn.waitForCall(({ method }) => method === 'setWebhook');
  expect(await telegram.setWebhook(url, SECRET, signal)).toMatchObject({
    failure: { kind: 'throttled', retryAfterMs: 1000 },
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await telegram.setWebhook(url, SECRET, signal)).toMatchObject({ ok: true });
  held.resolve(200);
  await standIn.waitForConfirmed(update);
  expect(texts()).toEqual(['in hand']);
});
