import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { serveHealth } from '../../../shared/app/health.ts';
import { stopAll } from '../../../shared/base/lifecycle.ts';
import { decodeMessage } from '../../../shared/flow/message.ts';
import { setUpWorker } from '../../../worker/adapters.ts';
import { CHAT, eachInWorld, shown, world } from '../../fixture/each-test.ts';
import { type Front, startFront } from '../../fixture/front.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { rootOf, until } from '../../fixture/root.ts';

const UPDATE_KINDS = ['message', 'edited_message', 'callback_query', 'stopped_message_generation', 'my_chat_member'];

const OTHER = 1002;
const SHORT = { leaseLastsMs: 2_000, leaseRetryMs: 50, heartbeatEveryMs: 50 };

let front: Front;
const started: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  front = await startFront();
});
afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop();
  await front.close();
});
eachInWorld();

/** A producer with its listener, behind nothing yet. It polls where `env` is empty. */
async function produce(env: Record<string, string> = front.env, lookEveryMs = 100) {
  const root = rootOf(world, { env });
  const producer = startProducer(root, { ...SHORT, lookEveryMs });
  const server = await serveHealth({
    host: '127.0.0.1',
    port: 0,
    log: root.log,
    parts: producer.readiness,
    routes: producer.routes,
  });
  const service = { port: server.port, stop: () => stopAll([producer, server], root.log) };
  started.push(service);
  return service;
}

/** The same, once Telegram delivers to it. */
async function receive(lookEveryMs?: number) {
  const producer = await produce(front.env, lookEveryMs);
  front.behind(producer.port);
  await until('webhook', async () => ((await hook()).url === front.url ? true : undefined));
  return producer;
}

const call = async (method: string) =>
  (await (await fetch(`${world.telegram.url}/bot${world.telegram.token}/${method}`)).json()) as { result: unknown };
const hook = async () => (await call('getWebhookInfo')).result as { url: string };
const readyOf = async ({ port }: { port: number }) =>
  (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as {
    status: string;
    parts: Record<string, { ready: boolean; detail: string }>;
  };
const callsOf = (name: string) => world.telegram.calls.filter(({ method }) => method === name);
const delivered = (updateId: number, status = 200) =>
  until(`delivery of ${updateId} with ${status}`, () =>
    world.telegram.deliveries.find((delivery) => delivery.updateId === updateId && delivery.status === status),
  );
const taken = () => until('end of all deliveries', () => (world.telegram.pending() === 0 ? true : undefined));

/** The ids of what was accepted of a chat, in the order of the stream. Nobody works here, so all of it is still there. */
async function acceptedOf(chatId: number): Promise<number[]> {
  const entries = await world.peek.xrange(world.keys.inbound, '-', '+');
  return entries.flatMap(([, fields]) => {
    const message = decodeMessage(fields[fields.indexOf('message') + 1]);
    return message.ok && message.value.chatId === chatId ? [message.value.updateId] : [];
  });
}

const say = (chatId: number, ...texts: string[]) => texts.map((text) => world.telegram.say(chatId, text));

test('what the webhook delivers is answered, also a call from a chat that the bot is not part of, and nobody polls', async () => {
  Object.assign(front.env, { TELEGRAM_GUESTS: String(CHAT) });
  const producer = await receive();
  started.push(await setUpWorker(rootOf(world), { drainMs: 1_000 }));
  const [update = 0] = say(CHAT, 'by webhook');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  await delivered(update);
  expect(shown()).toEqual([expect.stringContaining('by webhook')]);
  world.telegram.summon(CHAT, -100_555, 'from elsewhere');
  expect(await nextOutcome(world, `${CHAT}@-100555`)).toMatchObject({ outcome: 'answered' });
  expect(world.telegram.shownAbroad(-100_555)).toMatchObject([{ text: expect.stringContaining('from elsewhere') }]);
  const { status, parts } = await readyOf(producer);
  expect([status, Object.keys(parts)]).toEqual(['ready', ['redis', 'webhook']]);
  expect(callsOf('getUpdates')).toEqual([]);
  expect(callsOf('setWebhook')[0]?.params).toEqual({
    url: front.url,
    secret_token: front.env.TELEGRAM_WEBHOOK_SECRET,
    allowed_updates: [...UPDATE_KINDS, 'guest_message'],
  });
});

test('while Redis is down deliveries get a 503; afterwards all are accepted once, in order', async () => {
  const producer = await receive();
  world.redis.kill9();
  const updates = say(CHAT, 'a', 'b', 'c');
  const others = say(OTHER, 'x', 'y');
  await delivered(updates[0] ?? 0, 503);
  await delivered(others[0] ?? 0, 503);
  expect((await readyOf(producer)).status).toBe('not ready');
  expect(world.telegram.pending()).toBe(5);
  await world.redis.restart();
  await taken();
  await until('ready again', async () => (await readyOf(producer)).status === 'ready' || undefined);
  const before = world.telegram.deliveries.length;
  world.telegram.redeliver(updates[2] ?? 0);
  await until('second delivery', () => world.telegram.deliveries.length > before || undefined);
  expect(world.telegram.deliveries.at(-1)).toEqual({ updateId: updates[2], status: 200 });
  expect([await acceptedOf(CHAT), await acceptedOf(OTHER)]).toEqual([updates, others]);
});

test('a write that Redis executes after its timeout is neither doubled nor overtaken', async () => {
  await receive();
  // Who is allowed is known for a second from here on: it is the write that times out.
  const [first = 0] = say(CHAT, 'first');
  await delivered(first, 200);
  process.kill(world.redis.pid, 'SIGSTOP');
  const updates = say(CHAT, 'late', 'next', 'last');
  await delivered(updates[0] ?? 0, 503);
  process.kill(world.redis.pid, 'SIGCONT');
  expect(world.telegram.deliveries).toHaveLength(2);
  const [, late] = await until('late write', async () => {
    const accepted = await acceptedOf(CHAT);
    return accepted.length > 1 ? accepted : undefined;
  });
  // It is on the stream, and Telegram does not know it yet.
  expect([late, world.telegram.pending()]).toEqual([updates[0], 3]);
  await taken();
  expect(await acceptedOf(CHAT)).toEqual([first, ...updates]);
});

test('two producers receive in parallel, one looks after the webhook, and the other takes over when it stops', async () => {
  const first = await receive();
  const second = await produce();
  front.behind(first.port, second.port);
  await until(
    'second that waits',
    async () => /another process looks after/.test((await readyOf(second)).parts.webhook?.detail ?? '') || undefined,
  );
  const chats = Array.from({ length: 10 }, (_, at) => CHAT + at);
  const sayAll = () => chats.flatMap((chat) => say(chat, 'a', 'b'));
  const before = sayAll();
  await taken();
  await first.stop();
  const after = sayAll();
  await taken();
  const accepted = (await Promise.all(chats.map(acceptedOf))).map((ids) => ids.join());
  const sorted = chats.map((_, at) => [...before.slice(at * 2, at * 2 + 2), ...after.slice(at * 2, at * 2 + 2)].join());
  expect(accepted).toEqual(sorted);
  await until(
    'heir that looks',
    async () => /ms ago/.test((await readyOf(second)).parts.webhook?.detail ?? '') || undefined,
  );
  expect(await hook()).toMatchObject({ url: front.url });
});

test('from polls to a webhook and back: each waits for the other, and every update is accepted once, in order', async () => {
  const polling = await produce({});
  const updates = say(CHAT, 'polled');
  await taken();
  const delivering = await produce();
  front.behind(delivering.port);
  updates.push(...say(CHAT, 'polled still'));
  await taken();
  expect(await hook()).toMatchObject({ url: '' });
  await polling.stop();
  updates.push(...say(CHAT, 'into the gap', 'delivered'));
  await taken();
  expect(world.telegram.deliveries.map(({ updateId }) => updateId)).toEqual(updates.slice(2));
  const again = await produce({});
  front.behind();
  updates.push(...say(CHAT, 'nobody takes it'));
  await delivered(updates[4] ?? 0, 502);
  await delivering.stop();
  await taken();
  updates.push(...say(CHAT, 'polled again'));
  await taken();
  expect(await acceptedOf(CHAT)).toEqual(updates);
  expect((await readyOf(again)).parts.poller).toMatchObject({ ready: true });
  expect(callsOf('deleteWebhook').map(({ params }) => params)).toEqual([{}]);
  expect(await world.peek.hget(world.keys.poll, 'conflictMs')).toBeNull();
});

test('a webhook that is removed is set again, and the operator is notified', async () => {
  const producer = await receive();
  started.push(await setUpWorker(rootOf(world), { drainMs: 1_000, watchEveryMs: 100 }));
  await until('sign of life', async () => (await world.peek.hget(world.keys.poll, 'lastAnswerMs')) ?? undefined);
  expect(callsOf('setWebhook')[0]?.params.allowed_updates).toEqual(UPDATE_KINDS);
  await call('deleteWebhook');
  await world.telegram.waitForText(ALERT_CHAT, /program removed or replaced our webhook/);
  await until('webhook', async () => (await hook()).url === front.url || undefined);
  const [update = 0] = say(CHAT, 'after that');
  await delivered(update);
  expect((await readyOf(producer)).status).toBe('ready');
});

test('alerts when the webhook is unreachable and when it is back; the process stays ready meanwhile', async () => {
  // It is set again at each look, and Telegram takes that once a second.
  const producer = await receive(1_100);
  started.push(await setUpWorker(rootOf(world), { drainMs: 1_000, watchEveryMs: 100, pollAgeMs: 3_000 }));
  await until('sign of life', async () => (await world.peek.hget(world.keys.poll, 'lastAnswerMs')) ?? undefined);
  front.behind();
  say(CHAT, 'nobody home');
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /The webhook has received nothing/);
  expect(text).toMatch(/\d seconds\. Telegram keeps new messages for 24 hours\. The last failure was: undelivered\.\s/);
  const { status, parts } = await readyOf(producer);
  expect([status, parts.webhook?.detail]).toEqual(['ready', expect.stringMatching(/trouble with the webhook: .*502/)]);
  front.behind(producer.port);
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: messages are arriving again/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});
