import { createServer } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { createLogger, type Logger } from '../../../shared/base/log.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { createHeartbeat, readHeartbeat } from '../../../shared/state/process/receiver.ts';
import { setUpWorker } from '../../../worker/adapters.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { telegramChannel } from '../../../worker/alerts/channel.ts';
import { messageOf } from '../../../worker/alerts/message.ts';
import { openQueue } from '../../../worker/lane/queue.ts';
import { startWatchdog } from '../../../worker/watch/watchdog.ts';
import { eachInWorld, hold, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { keptLog } from '../../fixture/log.ts';
import { processEnv } from '../../fixture/process-env.ts';
import { rootOf, until } from '../../fixture/root.ts';
import { WATCH_SETTINGS, WATCH_WAITS } from '../../fixture/watchdog.ts';
import { closeServer, listen } from '../../stand-in/loopback.ts';

const CHAT = 1001;
const SHORT = {
  lockMs: 1_500,
  stalledCheckMs: 500,
  drainMs: 1_000,
  watchEveryMs: 100,
  alertEveryMs: 50,
  alertSettleMs: 0,
  deadManEveryMs: 50,
};

const OVERLOADED = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
const REFUSED_KEY = { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' } as const;

const started: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop();
});
eachInWorld({ env: { UNANSWERED_ALERT_MS: '500', TURN_TIMEOUT_MS: '30000' } });

function produce(): void {
  started.push(startProducer(rootOf(world), { leaseLastsMs: 2_000, leaseRetryMs: 50, heartbeatEveryMs: 50 }));
}

type WorkOptions = { env?: Record<string, string>; log?: Logger; pollAgeMs?: number; providerDownMs?: number };

async function work({ env = {}, log = createLogger('silent'), ...limits }: WorkOptions = {}): Promise<void> {
  started.push(await setUpWorker(rootOf(world, { env, log }), { ...SHORT, pollAgeMs: 60_000, ...limits }));
}

/** A watchdog alone, over a world without a worker. */
function watch(log = createLogger('silent'), everyMs = 100, deadMan?: { url: string; everyMs: number }) {
  const shorter = { alertEveryMs: 50, watchEveryMs: everyMs, redisTroubleMs: 60_000 };
  const limits = { ...WATCH_WAITS, ...shorter, ...(deadMan && { deadManEveryMs: deadMan.everyMs }) };
  const settings = { UNANSWERED_ALERT_MS: '60000', ...(deadMan && { DEADMAN_URL: deadMan.url }) };
  const env = processEnv(world.redis.url, { env: { ...WATCH_SETTINGS, ...settings }, limits, log });
  const channels = {
    chatId: undefined,
    telegram: (chatId: number) => telegramChannel(env.telegram, chatId),
    webhook: undefined,
    retryMs: 20,
  };
  const connection = connectRedis(world.redis.url, 'impatient');
  started.push({ stop: async () => connection.disconnect() });
  const watchdog = startWatchdog(env, connection, channels);
  started.push(watchdog);
  return watchdog;
}

/** Waits until five more looks were made, by whomever. */
async function moreChecks(): Promise<void> {
  const looks = async () =>
    Number(/^cmdstat_llen:calls=(\d+)/m.exec(String(await world.peek.call('INFO', 'commandstats')))?.[1] ?? 0);
  const from = await looks();
  await until('five looks', async () => (await looks()) >= from + 10 || undefined);
}

/** The incidents that are open, by name. */
async function openIncidents(): Promise<string[]> {
  const { book } = await createBookStore(world.peek).read();
  return [...book].filter(([, { isOpen }]) => isOpen).map(([id]) => id);
}

/** The messages about all incidents as they are now. */
async function messages(): Promise<string[]> {
  const { book } = await createBookStore(world.peek).read();
  return [...book.values()].map((incident) => messageOf(incident, {}, book).text);
}

const twoMessages = () =>
  until('two messages', async () => {
    const all = await messages();
    return all.length >= 2 ? all.join('\n') : undefined;
  });

const alerts = () => world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
const alerted = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text);
const polled = () =>
  until('heartbeat', async () => (await world.peek.hget(world.keys.poll, 'lastAnswerMs')) ?? undefined);

/** The service that waits for a sign of life. `secret` is in its URL. */
async function listener() {
  let pings = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') pings += 1;
    response.writeHead(200).end('OK');
  });
  const url = await listen(server);
  started.push({ stop: () => closeServer(server) });
  const more = () => {
    const from = pings;
    return until('ping', () => pings > from || undefined);
  };
  return { url: `${url}/secret-word`, pings: () => pings, more, close: () => closeServer(server) };
}

test('two workers send one alert for an unanswered message, and one when it is answered', async () => {
  const answer = hold();
  produce();
  await Promise.all([work(), work()]);
  world.telegram.say(CHAT, 'is anybody there?');
  const { text } = await alerted(/unanswered/);
  answer();
  const outcome = await nextOutcome(world, CHAT);
  await alerted(/^Resolved/);
  expect(text).toMatch(
    /\n1 message of 1 chat since .*\nThe oldest message has waited \d+ seconds?; waiting in all: 1 message/,
  );
  expect(text).toMatch(/\nOldest message: \d+-\d+ of chat 1001\n/);
  expect(text).toContain(outcome.traceId);
  await moreChecks();
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
  const over = /^Resolved: messages are answered again/;
  await until('the end below it', () => alerts().length === 2 || undefined);
  expect(alerts()).toEqual([expect.stringMatching(over), expect.stringMatching(over)]);
  expect(alerts()[0]).toMatch(/\nThe oldest message has waited \d+ seconds?/);
});

test('alerts on an outage of the endpoint and on its end, even while a chat is stuck already', async () => {
  let isDown = false;
  world.claude.react((call) => (isDown ? OVERLOADED : /stuck/.test(call.pendingText) ? { do: 'hang' } : undefined));
  produce();
  await work({ providerDownMs: 300 });
  world.telegram.say(CHAT, 'stuck');
  await alerted(/unanswered/);
  isDown = true;
  for (let chat = 1; chat <= 3; chat++) world.telegram.say(CHAT + chat, 'hello');
  const { text } = await alerted(/^🔴 Page: The model endpoint is overloaded/);
  expect(text).toMatch(/calls failed in \d+ seconds? and none went through \(status 529\)/);
  isDown = false;
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: the model endpoint answers again/);
});

test('a key that is not accepted causes one alert for 12 messages, and its end states their number', async () => {
  let isRefused = true;
  world.claude.react(() => (isRefused ? REFUSED_KEY : undefined));
  produce();
  // A busy machine answers some of them late, which is another alert.
  await work({ env: { UNANSWERED_ALERT_MS: '60000' } });
  const chats = Array.from({ length: 12 }, (_, n) => CHAT + n);
  for (const chat of chats) world.telegram.say(chat, 'hello');
  for (const chat of chats) await nextOutcome(world, chat);
  await alerted(/does not accept our key/);
  isRefused = false;
  world.telegram.say(CHAT, 'and now?');
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^Resolved: the model endpoint/);
  expect(text).toContain('12 messages failed and wait to be replayed.');
  expect(alerts().filter((alert) => /does not accept our key/.test(alert))).toHaveLength(1);
});

test('alerts when a poller falls silent and when it returns, and does not alert before any poller started', async () => {
  await work({ pollAgeMs: 700 });
  await moreChecks();
  expect(await openIncidents()).toEqual([]);
  world.telegram.fail('getUpdates', { status: 500, description: 'Internal Server Error' }, 3);
  produce();
  const { text } = await alerted(/No poll has succeeded for \d+ seconds?.*unknown/);
  world.telegram.say(CHAT, 'hello');
  await alerted(/^Resolved: Telegram is polled again/);
  expect(text).toContain('24 hours');
});

test('alerts on a conflict of a real poll', async () => {
  world.telegram.fail(
    'getUpdates',
    { status: 409, description: 'Conflict: terminated by other getUpdates request' },
    1,
  );
  produce();
  await work();
  await alerted(/another process polls with the same token/);
});

test('a heartbeat names its receiver, and a webhook that blocks polls counts as a conflict', async () => {
  const log = createLogger('silent');
  const beatOf = (receiver: 'poller' | 'webhook') => createHeartbeat(world.peek, world.keys, log, 0, receiver);
  const written = (wanted: object) =>
    until(`record with ${JSON.stringify(wanted)}`, async () => {
      const record = (await readHeartbeat(world.peek, world.keys)) ?? {};
      return Object.entries(wanted).every(([field, value]) => value.test(Reflect.get(record, field))) || undefined;
    });
  beatOf('webhook').failed('undelivered');
  await written({ receiver: /^webhook$/, otherKind: /^undelivered$/, conflictMs: /^undefined$/ });
  beatOf('poller').failed('webhook_set');
  await written({ receiver: /^poller$/, conflictMs: /^\d+$/ });
});

test('a bot token that is not accepted and a failing alert channel queue one alert each', async () => {
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('unauthorized');
  await world.peek.hset(world.keys.alerting, 'failingSinceMs', Date.now() - 200_000, 'why', 'gone: chat not found');
  watch();
  const texts = await twoMessages();
  expect(texts).toMatch(/The bot token is not accepted/);
  expect(texts).toMatch(/Alerts cannot be sent: the operator's chat has taken none for 20\d seconds/);
});

test('alerts on jobs that nobody runs and on a Redis that is nearly full', async () => {
  const redis = connectRedis(world.redis.url, 'patient');
  const queue = openQueue(redis, world.keys);
  started.push({ stop: async () => redis.disconnect() }, { stop: () => queue.close() });
  await queue.add([{ entry: '1-1' as never, chat: '1001' as never, traceparent: '' }]);
  // What is written, and what is still given back of the test before, is little beside it.
  await world.peek.setrange('ballast', 20_000_000, 'x');
  const used = Number(/used_memory:(\d+)/.exec(await world.peek.info('memory'))?.[1]);
  await world.peek.config('SET', 'maxmemory', Math.round(used * 1.1));
  watch();
  const texts = await twoMessages();
  expect(texts).toMatch(/Jobs wait and none is active: 1 job of/);
  expect(texts).toMatch(/Redis is nearly full\n.*\n\d+ of \d+ MB are used/);
});

test('a budget is reported at 50, 80 and 100 %, and the end of that with a new day', async () => {
  const book = world.keys.spent(new Date().toISOString().slice(0, 10));
  const spend = (tokens: number) => world.peek.hset(book, 'all:tokens', tokens);
  const reported = (words: RegExp) =>
    until(`a message ${words}`, async () => (await messages()).find((text) => words.test(text)));
  await spend(510);
  watch();
  await reported(/half used up: 51 %, 510 of 1000 tokens/);
  await spend(700);
  await moreChecks();
  await spend(900);
  await reported(/nearly used up: 90 %/);
  await spend(1_000);
  await reported(/is used up: messages are refused until \d{4}-\d\d-\d\d, 00:00 UTC\. 100 %/);
  await moreChecks();
  expect(await messages()).toHaveLength(2);
  await spend(0);
  await reported(/Resolved: a new day or month of the budget began/);
});

test('in an outage of Redis the watchdog forgets what it saw, and checks again after it', async () => {
  const { log, lines } = keptLog();
  const { snapshot } = watch(log);
  await until('a look', snapshot);
  world.redis.kill9();
  await until('warning', () => lines.find((line) => line.level === 40 && /could not look/.test(line.msg)));
  expect(snapshot()).toBeUndefined();
  await world.redis.restart();
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('conflict');
  await until('a message', async () => (await messages())[0]);
});

test('the dead-man is pinged while messages are answered, not while an incident is open; no log has its URL', async () => {
  const outside = await listener();
  const { log, lines } = keptLog();
  await work({ env: { DEADMAN_URL: outside.url }, log });
  expect(await world.peek.hget(world.keys.poll, 'lastAnswerMs')).toBeNull();
  produce();
  world.telegram.say(CHAT, 'hello');
  await polled();
  await outside.more();
  const answer = hold();
  world.telegram.say(CHAT, 'hello again');
  await alerted(/unanswered/);
  const silentFrom = outside.pings();
  await moreChecks();
  // One may have been on its way when the incident was opened.
  expect(outside.pings() - silentFrom).toBeLessThanOrEqual(1);
  answer();
  await alerted(/^Resolved/);
  await outside.more();
  await outside.close();
  await until('failure', () => lines.find(({ msg, level }) => level === 20 && /ping failed/.test(msg)));
  expect(JSON.stringify(lines)).not.toContain('secret-word');
});

test('the dead-man is not pinged while nobody polls, and at most once per interval', async () => {
  const outside = await listener();
  watch(createLogger('silent'), 50, { url: outside.url, everyMs: 60_000 });
  await moreChecks();
  expect(outside.pings()).toBe(0);
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).answered();
  await until('ping', () => outside.pings() > 0 || undefined);
  await moreChecks();
  expect(outside.pings()).toBe(1);
});
