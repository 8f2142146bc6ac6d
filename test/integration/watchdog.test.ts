import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProducer } from '../../producer/producer.ts';
import { createHeartbeat, readHeartbeat } from '../../shared/heartbeat.ts';
import { createLogger, type Logger } from '../../shared/log.ts';
import { connectRedis } from '../../shared/redis.ts';
import { startTelemetry } from '../../shared/telemetry.ts';
import { openQueue } from '../../worker/queue.ts';
import { setUpWorker } from '../../worker/setup.ts';
import { startWatchdog } from '../../worker/watchdog.ts';
import { ALERT_CHAT, createWorld, type World } from '../fixture/gateway.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { keptLog } from '../fixture/log.ts';
import { rootOf, until } from '../fixture/root.ts';
import { closeServer, listen } from '../stand-in/loopback.ts';

const CHAT = 1001;
const SHORT = { lockMs: 1_500, stalledCheckMs: 500, drainMs: 1_000, watchEveryMs: 100, deadManEveryMs: 50 };

let world: World;
const started: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  world = await createWorld({ env: { UNANSWERED_ALERT_MS: '500', TURN_TIMEOUT_MS: '2000' } });
});

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop();
  await world.close();
});

function produce(): void {
  started.push(startProducer(rootOf(world), { leaseLastsMs: 2_000, leaseRetryMs: 50, heartbeatEveryMs: 50 }));
}

async function work(options: { env?: Record<string, string>; pollAgeMs?: number; log?: Logger } = {}): Promise<void> {
  const { pollAgeMs = 60_000, ...root } = options;
  started.push(await setUpWorker(rootOf(world, root), { ...SHORT, pollAgeMs }));
}

/** A watchdog alone, over a world without a worker. */
function watch(log = createLogger('silent')): void {
  const redis = connectRedis(world.redis.url, 'impatient');
  const limits = { unansweredMs: 60_000, pollAgeMs: 60_000 };
  started.push(startWatchdog({ redis, shards: 1, log, everyMs: 100, limits }));
}

/** Waits until five more checks were made, by whomever. */
async function moreChecks(): Promise<void> {
  const checks = async () =>
    Number(/^cmdstat_time:calls=(\d+)/m.exec(String(await world.peek.call('INFO', 'commandstats')))?.[1] ?? 0);
  const from = await checks();
  await until('five checks', async () => (await checks()) >= from + 5 || undefined);
}

const alerts = () => world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
const alerted = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text, 15_000);
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

test('a message that nobody answers is told once by two workers, and once more when it is answered', async () => {
  world.claude.react((call) => (call.index === 0 ? { do: 'hang' } : undefined));
  produce();
  await Promise.all([work(), work()]);
  world.telegram.say(CHAT, 'is anybody there?');
  const { text } = await alerted(/unanswered/);
  const outcome = await nextOutcome(world, CHAT);
  await alerted(/^Resolved/);
  expect(text).toMatch(/unanswered for \d+ seconds\. Chat 1001, entry \d+-\d+\. In all 1 messages/);
  expect(text).toContain(outcome.traceId);
  await moreChecks();
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
  expect(alerts()).toEqual([text, expect.stringMatching(/^Resolved: messages are answered again/)]);
});

test('what comes back within the hour is told of only when it lasts, and then its end is told too', async () => {
  await world.peek.hset(world.keys.watch, 'told:conflict', Date.now() - 1_000_000);
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('conflict');
  await work();
  const opened = await until(
    'open incident',
    async () => (await world.peek.hget(world.keys.watch, 'conflict')) ?? undefined,
  );
  await moreChecks();
  expect(alerts()).toEqual([]);
  await world.peek.hset(world.keys.watch, 'conflict', Number(opened) - 300_000);
  await alerted(/another process polls with the same token/);
  await world.peek.hset(world.keys.poll, 'conflictMs', Date.now() - 130_000);
  await alerted(/^Resolved: no other process/);
  expect(alerts()).toHaveLength(2);
});

test('an incident that is still open after an hour is told again', async () => {
  const longAgo = Date.now() - 3_700_000;
  await world.peek.hset(world.keys.watch, { conflict: longAgo, 'told:conflict': longAgo });
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('conflict');
  await work();
  await alerted(/another process polls/);
  expect(await world.peek.hget(world.keys.watch, 'conflict')).toBe(String(longAgo));
});

test('a poller that falls silent is told, and its return too; without any poller nothing is said', async () => {
  await work({ pollAgeMs: 700 });
  await moreChecks();
  expect(await world.peek.hgetall(world.keys.watch)).toEqual({});
  world.telegram.fail('getUpdates', { status: 500, description: 'Internal Server Error' }, 3);
  produce();
  const { text } = await alerted(/No poll has succeeded for \d+ seconds.*unknown/);
  world.telegram.say(CHAT, 'hello');
  await alerted(/^Resolved: Telegram is polled again/);
  expect(text).toContain('24 hours');
});

test('a conflict reaches the operator from a real poll', async () => {
  world.telegram.fail(
    'getUpdates',
    { status: 409, description: 'Conflict: terminated by other getUpdates request' },
    1,
  );
  produce();
  await work();
  await alerted(/another process polls with the same token/);
});

test('a heartbeat says who receives, and a webhook that stands in the way of polls is a conflict', async () => {
  const log = createLogger('silent');
  const beatOf = (receiver: 'poller' | 'webhook') => createHeartbeat(world.peek, world.keys, log, 0, receiver);
  const written = (wanted: object) =>
    until(`record with ${JSON.stringify(wanted)}`, async () => {
      const record = await readHeartbeat(world.peek, world.keys);
      return (
        Object.entries(wanted).every(([field, value]) => value.test(Reflect.get(record ?? {}, field))) || undefined
      );
    });
  beatOf('webhook').failed('undelivered');
  await written({ receiver: /^webhook$/, otherKind: /^undelivered$/, conflictMs: /^undefined$/ });
  beatOf('poller').failed('webhook_set');
  await written({ receiver: /^poller$/, conflictMs: /^\d+$/ });
});

test('a token that is not accepted and alerts that cannot be sent are logged as errors, and sent nowhere', async () => {
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('unauthorized');
  await world.peek.xadd(world.keys.alerts, `${Date.now() - 200_000}-0`, 'alert', '{}');
  const { log, lines } = keptLog();
  watch(log);
  const errorOf = (incident: string) =>
    until(`error about ${incident}`, () => lines.find((line) => line.level === 50 && line.incident === incident));
  expect((await errorOf('token')).msg).toMatch(/^The bot token is not accepted/);
  expect((await errorOf('alerts-0')).msg).toMatch(/^Alerts cannot be sent.* 200 seconds/);
  expect(await world.peek.xlen(world.keys.alerts)).toBe(1);
  await world.peek.del(world.keys.alerts);
  await until('resolution', () => lines.find((line) => /^Resolved: alerts are sent again/.test(line.msg)));
});

test('jobs that nobody runs and a Redis that fills up are told', async () => {
  const redis = connectRedis(world.redis.url, 'patient');
  const queue = openQueue(redis, world.keys, startTelemetry({ serviceName: 'test', exporting: false }));
  started.push({ stop: async () => redis.disconnect() }, { stop: () => queue.close() });
  await queue.add([{ entry: '1-1' as never, chat: '1001' as never, traceparent: '' }]);
  const used = Number(/used_memory:(\d+)/.exec(await world.peek.info('memory'))?.[1]);
  await world.peek.config('SET', 'maxmemory', Math.round(used * 1.15));
  watch();
  const queued = () =>
    until('two alerts', async () => {
      const entries = await world.peek.xrange(world.keys.alerts, '-', '+');
      return entries.length >= 2 ? entries.map(([, fields]) => fields[1] ?? '') : undefined;
    });
  const texts = (await queued()).join('\n');
  expect(texts).toMatch(/Jobs wait and none is active: 1 jobs/);
  expect(texts).toMatch(/Redis is nearly full: \d+ of \d+ MB/);
});

test('a check that fails is made again: an outage of Redis ends no watchdog', async () => {
  const { log, lines } = keptLog();
  watch(log);
  world.redis.kill9();
  await until('warning', () => lines.find((line) => line.level === 40 && /could not check/.test(line.msg)));
  await world.redis.restart();
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).failed('conflict');
  await until('alert', async () => (await world.peek.xlen(world.keys.alerts)) || undefined);
});

test('the dead-man is pinged while messages are taken and answered, and not while an incident is open', async () => {
  const outside = await listener();
  const { log, lines } = keptLog();
  await work({ env: { DEADMAN_URL: outside.url }, log });
  expect(await world.peek.hget(world.keys.poll, 'lastAnswerMs')).toBeNull();
  produce();
  world.telegram.say(CHAT, 'hello');
  await polled();
  await outside.more();
  world.claude.react((call) => (/hang/.test(call.pendingText) && call.index === 1 ? { do: 'hang' } : undefined));
  world.telegram.say(CHAT, 'hang');
  await alerted(/unanswered/);
  const silentFrom = outside.pings();
  await alerted(/^Resolved/);
  // One may have been on its way when the incident was opened, and the first good check may have pinged by now.
  expect(outside.pings() - silentFrom).toBeLessThanOrEqual(2);
  await outside.more();
  await outside.close();
  await until('failure', () => lines.find(({ msg, level }) => level === 20 && /ping failed/.test(msg)));
  expect(JSON.stringify(lines)).not.toContain('secret-word');
});

test('the dead-man is not pinged while nobody polls, and at most once in its time', async () => {
  const outside = await listener();
  const redis = connectRedis(world.redis.url, 'impatient');
  const limits = { unansweredMs: 60_000, pollAgeMs: 60_000 };
  const deadMan = { url: outside.url, everyMs: 60_000 };
  started.push(startWatchdog({ redis, shards: 1, log: createLogger('silent'), everyMs: 50, limits, deadMan }));
  await moreChecks();
  expect(outside.pings()).toBe(0);
  createHeartbeat(world.peek, world.keys, createLogger('silent'), 0).answered();
  await until('ping', () => outside.pings() > 0 || undefined);
  await moreChecks();
  expect(outside.pings()).toBe(1);
});
