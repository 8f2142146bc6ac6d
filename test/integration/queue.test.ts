import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import { chatKey, type EntryId, jobIdOf, type Keys, keysOf, TURNS_QUEUE } from '../../shared/keys.ts';
import type { PrivateRedis } from '../../shared/private-redis.ts';
import { connectRedis } from '../../shared/redis.ts';
import { startTelemetry } from '../../shared/telemetry.ts';
import { openQueue, type TurnQueue } from '../../worker/queue.ts';
import { freshRedis } from '../fixture/redis.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let server: PrivateRedis;
let redis: ReturnType<typeof connectRedis>;
let keys: Keys;
let queue: TurnQueue;
/** The same queue as BullMQ shows it to anybody. */
let seen: Queue;

beforeEach(async () => {
  server = await freshRedis();
  redis = connectRedis(server.url, 'patient');
  keys = keysOf(0);
  queue = openQueue(redis, keys, startTelemetry({ serviceName: 'test', exporting: false }));
  seen = new Queue(TURNS_QUEUE, { connection: redis, prefix: keys.queuePrefix });
});

afterEach(async () => {
  await queue.close();
  await seen.close();
  redis.disconnect();
  await server.stop();
});

/** A head that waits `delayMs`, set by a process whose clock is ahead by `aheadMs`. Answers the id of its job. */
async function delayed(number: number, delayMs: number, aheadMs = 0): Promise<string> {
  const entry = `${number}-0` as EntryId;
  const jobId = jobIdOf(entry);
  await seen.add('turn', { entry, chat: chatKey(1001) }, { jobId, delay: delayMs, timestamp: Date.now() + aheadMs });
  return jobId;
}

async function dueInMs(jobId: string): Promise<number> {
  const score = await redis.zscore(seen.toKey('delayed'), jobId);
  return Number(score) / 0x1000 - Date.now();
}

test('a delay that a clock set which was an hour ahead is set again, and no other', async () => {
  const wrong = await delayed(1, 5_000, HOUR_MS);
  const [long, short] = [await delayed(2, 5 * MINUTE_MS), await delayed(3, 1_000)];
  expect(await dueInMs(wrong)).toBeGreaterThan(HOUR_MS);
  const before = await Promise.all([long, short].map((id) => redis.zscore(seen.toKey('delayed'), id)));
  expect(await queue.correctDelays(Date.now())).toBe(1);
  expect(await dueInMs(wrong)).toBeLessThanOrEqual(5_000);
  expect(await Promise.all([long, short].map((id) => redis.zscore(seen.toKey('delayed'), id)))).toEqual(before);
});

test('a delay that was set again is left alone from then on, also by a clock that is behind only a little', async () => {
  const wrong = await delayed(1, 5_000, HOUR_MS);
  await queue.correctDelays(Date.now());
  const score = await redis.zscore(seen.toKey('delayed'), wrong);
  expect(await queue.correctDelays(Date.now())).toBe(0);
  expect(await queue.correctDelays(Date.now() - 1_000)).toBe(0);
  expect(await redis.zscore(seen.toKey('delayed'), wrong)).toBe(score);
});

test('of many, those that are furthest away are seen first', async () => {
  const wrong = await delayed(1, 1_000, 24 * HOUR_MS);
  const rightOnes = Array.from({ length: 1_100 }, (_, at) => ({
    name: 'turn',
    data: { entry: `${at + 10}-0`, chat: '1001' },
    opts: { jobId: jobIdOf(`${at + 10}-0` as EntryId), delay: 4 * MINUTE_MS },
  }));
  await seen.addBulk(rightOnes);
  expect(await queue.correctDelays(Date.now())).toBe(1);
  expect(await dueInMs(wrong)).toBeLessThanOrEqual(1_000);
});

test('a job that is gone, or runs already, is nothing to correct', async () => {
  const [gone, running] = [await delayed(1, 1_000, HOUR_MS), await delayed(2, 1_000, HOUR_MS)];
  await redis.del(`${seen.toKey('')}${gone}`);
  const correcting = queue.correctDelays(Date.now());
  const job = await seen.getJob(running);
  await Promise.all([correcting, job?.promote()]);
  expect(await job?.isDelayed()).toBe(false);
});
