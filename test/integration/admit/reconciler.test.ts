import { expect, test } from '@jest/globals';
import { Worker } from 'bullmq';
import { createLogger } from '../../../shared/base/log.ts';
import { traceIdsOnly } from '../../../shared/base/telemetry.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, type EntryId, jobIdOf, TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { reconcile, startDispatcher, startReconciler } from '../../../worker/lane/dispatcher.ts';
import type { Lane } from '../../../worker/lane/lane.ts';
import { openWorker } from '../../../worker/lane/queue.ts';
import { createSlots } from '../../../worker/lane/slots.ts';
import { LIMITS } from '../../../worker/limits.ts';
import { eachWithQueue, lane, queue, seen } from '../../fixture/each-queue.ts';
import { keys, redis, server } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { until } from '../../fixture/root.ts';

const LONG_MS = 60_000;

eachWithQueue();

const flow = () => ({ lane, queue, discard: async () => {}, log: createLogger('silent') });

/** The heads of so many chats, each of which is a job that waits. */
async function heads(count: number): Promise<EntryId[]> {
  const inbox = createInbox(redis, 1);
  for (let chat = 1; chat <= count; chat++) await inbox.accept(7, inboundText(chat, 1000 + chat), '');
  const admitted = await lane.admit(count);
  await queue.add(admitted.heads);
  return admitted.heads.map(({ entry }) => entry);
}

const waiting = () => redis.lrange(seen.toKey('wait'), 0, -1);
const eventsOf = async (event: string) =>
  (await redis.xrange(seen.toKey('events'), '-', '+')).filter(([, fields]) => fields.includes(event)).length;

test('a head that somebody is about to make a job is announced once', async () => {
  await createInbox(redis, 1).accept(7, inboundText(1, 1001), '');
  const admitted = await lane.admit(1);
  let isLookedAt = false;
  const addedMeanwhile: typeof queue = {
    ...queue,
    async missing(heads) {
      const missing = await queue.missing(heads);
      if (!isLookedAt) await queue.add(admitted.heads);
      isLookedAt = true;
      return missing;
    },
  };
  await reconcile({ ...flow(), queue: addedMeanwhile });
  expect(await waiting()).toEqual(admitted.heads.map(({ entry }) => jobIdOf(entry)));
  expect(await eventsOf('duplicated')).toBe(0);
});

test('a job that ended, lost its place or its data, or runs nowhere, is recreated, and runs', async () => {
  const ids = (await heads(5)).map(jobIdOf) as [string, string, string, string, string];
  const [completed, failed, bare, empty, running] = ids;
  for (const [id, state] of [[completed, 'completed'] as const, [failed, 'failed'] as const]) {
    await redis.lrem(seen.toKey('wait'), 0, id);
    await redis.zadd(seen.toKey(state), 1, id);
  }
  await redis.del(seen.toKey(bare));
  await redis.hdel(seen.toKey(empty), 'data');
  // The one that runs, and whose lock nobody holds any more, is in no list.
  await redis.lrem(seen.toKey('wait'), 0, running);
  await redis.set(`${seen.toKey(running)}:lock`, 'token');
  const ran: string[] = [];
  const options = { share: createSlots(2).share(), limits: LIMITS };
  const worker = openWorker(redis, keys, options, async ({ data }) => void ran.push(jobIdOf(data.entry)));
  void worker.run();
  const untilEmpty = () =>
    until('an empty queue', async () => (await seen.count()) + (await seen.getActiveCount()) === 0 || undefined);
  await untilEmpty();
  // An id without its job and a job without its data end at once.
  expect(ran).toEqual([]);
  await reconcile(flow());
  await until('four that ran', () => ran.length === 4 || undefined);
  expect(ran.toSorted()).toEqual([completed, failed, bare, empty].sort());
  await redis.del(`${seen.toKey(running)}:lock`);
  await reconcile(flow());
  await until('the last one', () => ran.includes(running) || undefined);
  await worker.close();
});

test('waiting, active and delayed jobs are left where they are, however many passes there are', async () => {
  const entries = await heads(3);
  const worker = new Worker(TURNS_QUEUE, undefined, { connection: redis, prefix: keys.queuePrefix });
  const [running, delayed] = [
    await worker.getNextJob('a', { block: false }),
    await worker.getNextJob('b', { block: false }),
  ];
  if (delayed) await queue.postpone(delayed, 'b', Date.now(), LONG_MS);
  const before = await Promise.all(entries.map((entry) => redis.hgetall(seen.toKey(jobIdOf(entry)))));
  for (let pass = 0; pass < 3; pass++) await reconcile(flow());
  expect(await eventsOf('duplicated')).toBe(0);
  expect(await Promise.all(entries.map((entry) => redis.hgetall(seen.toKey(jobIdOf(entry)))))).toEqual(before);
  expect(await seen.getJobCounts('waiting', 'active', 'delayed')).toEqual({ waiting: 1, active: 1, delayed: 1 });
  expect(await running?.isActive()).toBe(true);
  await worker.close();
});

/** Counts the passes of the reconcilers whose lane it is. */
function counted(of: Lane): Lane & { passes: number } {
  const counting = {
    ...of,
    passes: 0,
    readmit() {
      counting.passes += 1;
      return of.readmit();
    },
  };
  return counting;
}

test('each process makes a pass at its start; then two share the passes, and one goes on when the other stops', async () => {
  const [one, other] = [counted(lane), counted(lane)];
  const first = startReconciler({ ...flow(), lane: one }, LONG_MS);
  await until('a pass', () => (one.passes > 0 ? true : undefined));
  const second = startReconciler({ ...flow(), lane: other }, LONG_MS);
  await until('its first pass', () => (other.passes > 0 ? true : undefined));
  expect([one.passes, other.passes]).toEqual([1, 1]);
  expect(await lane.takePass(LONG_MS)).toBeGreaterThan(LONG_MS / 2);
  await first.stop();
  await second.stop();
  const [third, fourth] = [counted(lane), counted(lane)];
  await redis.del(keys.pass);
  const regular = [third, fourth].map((each) => startReconciler({ ...flow(), lane: each }, 200));
  await until('the first passes', () => (third.passes > 0 && fourth.passes > 0 ? true : undefined));
  const before = Number(await redis.xlen(keys.inbound)) + third.passes + fourth.passes;
  const sinceMs = performance.now();
  await until('ten more', () => (third.passes + fourth.passes >= before + 10 ? true : undefined));
  // Each alone would make ten in the time that two need for five.
  expect(performance.now() - sinceMs).toBeGreaterThan(9 * 200);
  await regular[0]?.stop();
  const left = fourth.passes;
  await until('a pass of the other', () => (fourth.passes > left ? true : undefined));
  await regular[1]?.stop();
});

test('a dispatcher that waits for news ends when it is asked to, although Redis is away', async () => {
  const blocking = connectRedis(server.url, 'patient');
  const silent = { telemetry: traceIdsOnly(), reach: () => {} };
  const dispatcher = startDispatcher({ ...flow(), ...silent }, keys, blocking);
  await until('blocking read', async () => /blocked_clients:1/.test(await redis.info('clients')) || undefined);
  server.kill9();
  await until('connection that is to be tried again', async () => blocking.status === 'reconnecting' || undefined);
  await dispatcher.stop();
});

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

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

const scoreOf = (jobId: string) => redis.zscore(seen.toKey('delayed'), jobId);

const stateOf = async (jobId: string) => (await seen.getJob(jobId))?.getState();

test('endDelays ends the delays that are over, whatever clock set them, and no other', async () => {
  const ahead = await delayed(1, 5_000, { aheadMs: HOUR_MS });
  const [long, short] = [await delayed(2, 5 * MINUTE_MS), await delayed(3, 1_000)];
  expect(await dueInMs(ahead)).toBeGreaterThan(HOUR_MS);
  const before = await Promise.all([long, short].map(scoreOf));
  expect(await queue.endDelays(Date.now())).toBe(0);
  expect(await Promise.all([long, short].map(scoreOf))).toEqual(before);
  // The clock of Redis has stepped back since it set this delay.
  const setLater = await delayed(4, 5_000, { agoMs: -HOUR_MS });
  // A delay of BullMQ lasts a second, whenever that seems to end.
  const data = { entry: '5-0', chat: chatKey(1001) };
  await seen.add('turn', data, { jobId: 'm-5-0', delay: 1_000, timestamp: Date.now() + HOUR_MS });
  expect(await queue.endDelays(Date.now())).toBe(2);
  expect(await Promise.all([setLater, 'm-5-0'].map(stateOf))).toEqual(['waiting', 'waiting']);
  expect(await queue.endDelays(Date.now() + 10_000)).toBe(2);
  expect(await Promise.all([ahead, long, short].map(stateOf))).toEqual(['waiting', 'delayed', 'waiting']);
});

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
