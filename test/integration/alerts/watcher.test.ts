import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import { createHeartbeat } from '../../../shared/state/process/receiver.ts';
import { openQueue } from '../../../worker/lane/queue.ts';
import { createStateReader, gaugesOf } from '../../../worker/watch/gauges.ts';
import { clockAheadMs } from '../../../worker/watch/watchdog.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { eachWithRedis, keys, redis, server } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';
import { bookField, given, HOUR_MS, listener, messages, queue, reported, watch } from '../../fixture/watchdog.ts';

const FAILED: Alert = { cause: 'failed', text: 'A message failed. Chat 5.' };

eachWithRedis();

test.each([
  ['agrees, as far as the reply says', 1_000, 1_500, 2_000, 0],
  ['is ahead', 5_000, 1_500, 6_000, 3_500],
  ['is behind', 1_000, 9_000, 2_000, -7_000],
])('the clock of a process %s', (_how, askedMs, redisMs, answeredMs, aheadMs) => {
  expect(clockAheadMs(askedMs, redisMs, answeredMs)).toBe(aheadMs);
});

/** What other versions have left in the book: names and JSON. */
const UNKNOWN: Record<string, string> = {
  'from-the-future': JSON.stringify({ cause: 'from-the-future', wings: 2 }),
  'from-the-future:7': JSON.stringify({
    ...{ cause: 'from-the-future', key: '7', isOpen: true, openedMs: 1, lastMs: 2, reopenings: 0 },
    ...{ first: 'a', latest: 'b', level: '', messages: 1, chats: 1, chatNames: ['5'], unnamed: [], unnamedMore: 0 },
  }),
  'from-the-future:ended': JSON.stringify({ cause: 'from-the-future', isOpen: false, endedMs: 1 }),
  // A name that every object has.
  toString: JSON.stringify({ cause: 'toString', isOpen: true, openedMs: 1 }),
  'no-poll': JSON.stringify({ v: 2, cause: 'no-poll', isOpen: true }),
  // A known cause without what we need.
  memory: JSON.stringify({ cause: 'memory', isOpen: true }),
  idle: '{"cause":"idle","key":"","isOpen":true,"openedMs":"now","lastMs":1e99}',
  paused: 'null',
  budget: '{"cause":',
};

test('the book holds what this version does not know: alerts go on, it is reported once, and it stays as it is', async () => {
  for (const [name, json] of Object.entries(UNKNOWN)) await redis.hset(keys.incidents, `incident:${name}`, json);
  await given('7', 1);
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  await reported(/^The oldest message has waited (?:59|60) minutes/m);
  const message = await reported(/^Redis has incidents that this version does not know/m);
  expect(message).toContain('budget, from-the-future, from-the-future:7, from-the-future:ended, idle, and 4 more.');
  for (const [name, json] of Object.entries(UNKNOWN)) expect(await bookField(`incident:${name}`)).toBe(json);
});

test('an incident that cannot be read makes way for ours and is kept beside it; what a later version adds to it is kept', async () => {
  await redis.hset(keys.incidents, { 'incident:failed': 'no JSON', 'cursor:0': 'nowhere', version: 'many' });
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  const written = async () => JSON.parse(String(await bookField('incident:failed')));
  expect(await written()).toMatchObject({ v: 1, messages: 1, isOpen: true });
  await redis.hset(keys.incidents, 'incident:failed', JSON.stringify({ ...(await written()), severity: 'page' }));
  await queue(FAILED);
  await until('both', async () => (await written()).messages === 2 || undefined);
  expect(await written()).toMatchObject({ severity: 'page' });
  expect(await bookField('aside:failed')).toBe('no JSON');
});

test('what of the state cannot be read is one incident; the rest is watched, and its end is not made up', async () => {
  const failing = { failingSinceMs: Date.now() - HOUR_MS, failures: 9, why: 'auth' };
  await redis.hset(keys.provider, { ...failing, lastFailureMs: Date.now() });
  const { log, lines } = keptLog();
  watch({ log });
  await reported(/^The model endpoint does not accept our API key/m);
  await redis.del(keys.provider);
  await redis.set(keys.provider, 'no hash');
  expect(await reported(/^The watchdog cannot check/m)).toMatch(/"provider" \(\w+\)\./);
  await given('7', 1);
  await reported(/waited too long/);
  await queue(FAILED);
  await reported(/^A message failed/m);
  expect((await messages()).filter((text) => /^Resolved/.test(text))).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'a part of the watch fails')).toHaveLength(1);
  await redis.del(keys.provider);
  await reported(/^Resolved: all checks of the watchdog work again/);
  await reported(/^Resolved: the model endpoint answers again/);
});

test('times that are none and dead letters that cannot be read blind nobody for the rest', async () => {
  await redis.hset(keys.telegram, { awaySinceMs: 'yesterday' });
  await redis.hset(keys.poll, { firstMs: 'x', lastAnswerMs: 'y' });
  await redis.set(keys.dead, 'no stream');
  await given('7', 1);
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  await reported(/^The watchdog cannot check .*unanswered/m);
});

test('a refused token, a webhook that blocks polls, a failing alert channel, jobs that nobody runs and a full Redis are reported', async () => {
  const beat = createHeartbeat(redis, keys, keptLog().log, 0);
  beat.failed('unauthorized');
  beat.failed('webhook_set');
  await redis.hset(keys.alerting, 'failingSinceMs', Date.now() - 200_000, 'why', 'gone: chat not found');
  const jobs = openQueue(redis, keys);
  cleanUps.push(() => jobs.close());
  await jobs.add([{ entry: '1-1' as never, chat: '1001' as never, traceparent: '' }]);
  // What is written, and what is still given back of the test before, is little beside it.
  await redis.setrange('ballast', 20_000_000, 'x');
  const used = Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  await redis.config('SET', 'maxmemory', Math.round(used * 1.1));
  watch();
  await reported(/Redis is nearly full\n.*\nRedis uses \d+ of \d+ MB/);
  await reported(/Nothing can be received or sent: Telegram rejects the bot token/);
  await reported(/^Telegram refused our poll/m);
  await reported(/The operators' chat has accepted no alert for 3 minutes/);
  await reported(/Waiting: 1 job of/);
  await redis.config('SET', 'maxmemory', '0');
});

test('the dead-man is pinged at most once per interval', async () => {
  const outside = await listener();
  createHeartbeat(redis, keys, keptLog().log, 0).answered();
  const { snapshot } = watch({ deadManUrl: outside.url, deadManEveryMs: 60_000 });
  await until('a ping', () => outside.pings() > 0 || undefined);
  const looks = new Set<unknown>();
  await until('five looks', () => looks.add(snapshot()).size > 5 || undefined);
  expect(outside.pings()).toBe(1);
});

test('in an outage of Redis the watchdog forgets what it saw, and checks again after it', async () => {
  const { log, lines } = keptLog();
  const { snapshot } = watch({ log });
  await until('a look', snapshot);
  server.kill9();
  await until('warning', () => lines.find((line) => line.level === 40 && /could not look/.test(line.msg)));
  await until('nothing seen', () => snapshot() === undefined || undefined);
  await server.restart();
  await until('a look', snapshot);
});

test('gauges that cannot be read are left out, and the others are shown', async () => {
  await redis.set(keys.provider, 'no hash');
  await given('7', 2);
  const { readings, failures } = gaugesOf(await createStateReader(redis, 1)());
  expect(failures.map(({ what }) => what)).toEqual(['spillway.provider.failing.age']);
  const shown = new Map(readings.map(({ metric, value }) => [metric as string, value]));
  expect(shown.get('spillway.messages.pending')).toBe(2);
  expect(shown.get('spillway.messages.unanswered.age')).toBeGreaterThan(3_000);
});

test('a watchdog that fails says so itself, and does not say that Redis takes no writes', async () => {
  const taken: string[] = [];
  await redis.set(keys.incidents, 'no hash');
  watch({ taken });
  const text = await until('word', () => taken[0]);
  expect(text).toMatch(/^The watchdog fails \(\w+\), since .* UTC, as process \d+ on /m);
  await redis.del(keys.incidents);
  await until('end', () => taken[1]);
  expect(taken).toEqual([text, expect.stringMatching(/^Resolved: the watchdog works again, as process/)]);
});
