import { expect, test } from '@jest/globals';
import { Worker } from 'bullmq';
import { createLogger } from '../../../shared/base/log.ts';
import { chatKey, type EntryId, jobIdOf, TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { reconcile } from '../../../worker/lane/dispatcher.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { eachWithQueue, queue, seen } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

eachWithQueue();

/**
 * A head that was put off for `delayMs`, `agoMs` ago, by a process whose clock is ahead by `aheadMs`. Answers the id of its
 * job.
 */
async function delayed(number: number, delayMs: number, { agoMs = 0, aheadMs = 0 } = {}): Promise<string> {
  const entry = `${number}-0` as EntryId;
  const jobId = jobIdOf(entry);
  const data = { entry, chat: chatKey(1001), untilMs: Date.now() - agoMs + delayMs, delayMs };
  await seen.add('turn', data, { jobId, delay: delayMs, timestamp: Date.now() - agoMs + aheadMs });
  return jobId;
}

async function dueInMs(jobId: string): Promise<number> {
  const score = await redis.zscore(seen.toKey('delayed'), jobId);
  return Number(score) / 0x1000 - Date.now();
}

/** Does something while the clock of this process is off, as that of another machine may be. */
async function withClockOff<T>(byMs: number, act: () => Promise<T>): Promise<T> {
  const right = Date.now;
  Date.now = () => right() + byMs;
  try {
    return await act();
  } finally {
    Date.now = right;
  }
}

const scoreOf = (jobId: string) => redis.zscore(seen.toKey('delayed'), jobId);
const pass = () =>
  reconcile({ lane: createLane(redis, keys), queue, discard: async () => {}, log: createLogger('silent') });

const stateOf = async (jobId: string) => (await seen.getJob(jobId))?.getState();

test('endDelays ends a delay that a clock an hour ahead set when it is over, and no other', async () => {
  const wrong = await delayed(1, 5_000, { aheadMs: HOUR_MS });
  const [long, short] = [await delayed(2, 5 * MINUTE_MS), await delayed(3, 1_000)];
  expect(await dueInMs(wrong)).toBeGreaterThan(HOUR_MS);
  const before = await Promise.all([long, short].map(scoreOf));
  expect(await queue.endDelays(Date.now())).toBe(0);
  expect(await Promise.all([long, short].map(scoreOf))).toEqual(before);
  expect(await queue.endDelays(Date.now() + 10_000)).toBe(2);
  expect(await Promise.all([wrong, long, short].map(stateOf))).toEqual(['waiting', 'delayed', 'waiting']);
});

test('after a step back of the clock of Redis a delay that it set is over', async () => {
  const wrong = await delayed(1, 5_000, { agoMs: -HOUR_MS });
  expect(await queue.endDelays(Date.now())).toBe(1);
  expect(await stateOf(wrong)).toBe('waiting');
});

test('endDelays ends a delay of BullMQ, which lasts a second, whenever that seems to end', async () => {
  const data = { entry: '1-0', chat: chatKey(1001) };
  await seen.add('turn', data, { jobId: 'm-1-0', delay: 1_000, timestamp: Date.now() + HOUR_MS });
  expect(await queue.endDelays(Date.now())).toBe(1);
});

test.each([-HOUR_MS, HOUR_MS])(
  'a pass of a process whose clock is %i ms off leaves the delays of others alone',
  async (offMs) => {
    await createLane(redis, keys).prepare();
    const ids = [await delayed(1, 1_000), await delayed(2, 5 * MINUTE_MS)];
    const before = await Promise.all(ids.map(scoreOf));
    await withClockOff(offMs, pass);
    expect(await Promise.all(ids.map(scoreOf))).toEqual(before);
  },
);

test('endDelays leaves alone a job that was deleted or promoted meanwhile', async () => {
  const [gone, running] = [
    await delayed(1, 1_000, { agoMs: MINUTE_MS }),
    await delayed(2, 1_000, { agoMs: MINUTE_MS }),
  ];
  await redis.del(`${seen.toKey('')}${gone}`);
  const correcting = queue.endDelays(Date.now());
  const job = await seen.getJob(running);
  await Promise.all([correcting, job?.promote()]);
  expect(await job?.isDelayed()).toBe(false);
});

test.each([-HOUR_MS, 0, HOUR_MS])(
  'a process whose clock is %i ms off postpones a job by the right time',
  async (offMs) => {
    const lane = createLane(redis, keys);
    await lane.prepare();
    await lane.admit(1);
    const jobId = await delayed(1, 0);
    const worker = new Worker(TURNS_QUEUE, undefined, { connection: redis, prefix: keys.queuePrefix });
    const job = await worker.getNextJob('token', { block: false });
    await withClockOff(offMs, async () => job && queue.postpone(job, 'token', lane.nowMs(), MINUTE_MS));
    expect(await dueInMs(jobId)).toBeGreaterThan(MINUTE_MS - 5_000);
    expect(await queue.endDelays(Date.now() + MINUTE_MS - 5_000)).toBe(0);
    expect(await queue.endDelays(Date.now() + MINUTE_MS + 5_000)).toBe(1);
    await worker.close();
  },
);

test('nowMs is the time of Redis, learnt from admit, although the local clock is an hour off', async () => {
  const lane = createLane(redis, keys);
  await lane.prepare();
  await withClockOff(-HOUR_MS, async () => {
    await lane.admit(1);
    const [seconds] = await redis.time();
    expect(Math.abs(lane.nowMs() - Number(seconds) * 1_000)).toBeLessThan(5_000);
  });
});
