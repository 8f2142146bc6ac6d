import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import { createStateReader, gaugesOf } from '../../../worker/watch/gauges.ts';
import { clockAheadMs } from '../../../worker/watch/watchdog.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { until } from '../../fixture/root.ts';
import {
  bookField,
  eachWithWatchdog,
  given,
  HOUR_MS,
  messages,
  queue,
  reported,
  watch,
} from '../../fixture/watchdog.ts';

const FAILED: Alert = { cause: 'failed', text: 'A message failed. Chat 5.' };

eachWithWatchdog();

test('a process whose clock is an hour ahead of that of Redis says so once', async () => {
  const right = Date.now;
  Date.now = () => right() + HOUR_MS;
  try {
    watch();
    expect(await reported(/Clocks differ/)).toMatch(/3600 seconds ahead of that of Redis/);
  } finally {
    Date.now = right;
  }
});

test.each([
  ['agrees, as far as the reply says', 1_000, 1_500, 2_000, 0],
  ['is ahead', 5_000, 1_500, 6_000, 3_500],
  ['is behind', 1_000, 9_000, 2_000, -7_000],
])('the clock of a process %s', (_how, askedMs, redisMs, answeredMs, aheadMs) => {
  expect(clockAheadMs(askedMs, redisMs, answeredMs)).toBe(aheadMs);
});

test.each<[string, string, string]>([
  ['a cause of a later version', 'from-the-future', JSON.stringify({ cause: 'from-the-future', wings: 2 })],
  [
    'a whole incident of a later version',
    'from-the-future:7',
    JSON.stringify({
      ...{ cause: 'from-the-future', key: '7', isOpen: true, openedMs: 1, lastMs: 2, reopenings: 0 },
      ...{ first: 'a', latest: 'b', level: '', messages: 1, chats: 1, chatNames: ['5'], unnamed: [], unnamedMore: 0 },
    }),
  ],
  ['an ended one', 'from-the-future', JSON.stringify({ cause: 'from-the-future', isOpen: false, endedMs: 1 })],
  ['a cause that every object has', 'toString', JSON.stringify({ cause: 'toString', isOpen: true, openedMs: 1 })],
  ['a known cause in a later version', 'no-poll', JSON.stringify({ v: 2, cause: 'no-poll', isOpen: true })],
  ['a known cause without what we need', 'memory', JSON.stringify({ cause: 'memory', isOpen: true })],
  ['times that are none', 'idle', '{"cause":"idle","key":"","isOpen":true,"openedMs":"now","lastMs":1e99}'],
  ['no object', 'paused', 'null'],
  ['no JSON', 'budget', '{"cause":'],
])('the book holds %s: alerts go on, it is reported once, and it stays as it is', async (_, name, json) => {
  await redis.hset(keys.incidents, `incident:${name}`, json);
  await given('7', 1);
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  await reported(/^The oldest message has waited 3[56]\d\d seconds/m);
  const message = await reported(/^The book of incidents holds what this version does not know/m);
  expect(message).toContain(name);
  expect(await bookField(`incident:${name}`)).toBe(json);
});

test('an incident that cannot be read makes way for ours of the same name, and is kept beside it', async () => {
  await redis.hset(keys.incidents, { 'incident:failed': 'no JSON', 'cursor:0': 'nowhere', version: 'many' });
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  expect(JSON.parse(String(await bookField('incident:failed')))).toMatchObject({ v: 1, messages: 1, isOpen: true });
  expect(await bookField('aside:failed')).toBe('no JSON');
  await queue(FAILED);
  await until('both', async () => JSON.parse(String(await bookField('incident:failed'))).messages === 2 || undefined);
  expect(await bookField('aside:failed')).toBe('no JSON');
});

test('what a later version adds to an incident that we know is kept when we count in it', async () => {
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  const written = JSON.parse(String(await bookField('incident:failed')));
  await redis.hset(keys.incidents, 'incident:failed', JSON.stringify({ ...written, severity: 'page' }));
  await queue(FAILED);
  const counted = await until('both', async () => {
    const incident = JSON.parse(String(await bookField('incident:failed')));
    return incident.messages === 2 ? incident : undefined;
  });
  expect(counted).toMatchObject({ severity: 'page' });
});

test('what of the state cannot be read is one incident; the rest is watched, and its end is not made up', async () => {
  const failing = { failingSinceMs: Date.now() - HOUR_MS, failures: 9, why: 'auth' };
  await redis.hset(keys.provider, { ...failing, lastFailureMs: Date.now() });
  const { log, lines } = keptLog();
  watch({ log });
  await reported(/^The model endpoint does not accept our key/m);
  await redis.del(keys.provider);
  await redis.set(keys.provider, 'no hash');
  expect(await reported(/^A part of the watch fails/m)).toMatch(/"provider" goes unnoticed \(\w+\)\./);
  await given('7', 1);
  await reported(/unanswered/);
  await queue(FAILED);
  await reported(/^A message failed/m);
  expect((await messages()).filter((text) => /^Resolved/.test(text))).toEqual([]);
  expect(lines.filter(({ msg }) => msg === 'a part of the watch fails')).toHaveLength(1);
  await redis.del(keys.provider);
  await reported(/^Resolved: the watch is whole again/);
  await reported(/^Resolved: the model endpoint answers again/);
});

test('dead letters that cannot be read keep no alert from being entered', async () => {
  await redis.set(keys.dead, 'no stream');
  watch();
  await queue(FAILED);
  await reported(/^A message failed/m);
  await reported(/^A part of the watch fails/m);
});

test.each([
  ['telegram', { awaySinceMs: 'yesterday' }],
  ['poll', { firstMs: 'x', lastAnswerMs: 'y' }],
] as const)('times of %s that are none blind nobody for the rest', async (part, fields) => {
  await redis.hset(keys[part], fields);
  await given('7', 1);
  watch();
  await reported(/^A part of the watch fails/m);
  await reported(/unanswered/);
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
  expect(taken).toEqual([text, expect.stringMatching(/^Resolved: the watchdog looks again, as process/)]);
});
