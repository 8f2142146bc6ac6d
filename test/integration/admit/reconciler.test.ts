import { expect, test } from '@jest/globals';
import { Worker } from 'bullmq';
import { createLogger } from '../../../shared/base/log.ts';
import { type EntryId, jobIdOf, TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { reconcile, startReconciler } from '../../../worker/lane/dispatcher.ts';
import type { Lane } from '../../../worker/lane/lane.ts';
import { openWorker } from '../../../worker/lane/queue.ts';
import { createSlots } from '../../../worker/lane/slots.ts';
import { LIMITS } from '../../../worker/limits.ts';
import { eachWithQueue, lane, queue, seen } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
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

test('a job that is in no list of the queue is recreated, and the others are left alone', async () => {
  const entries = await heads(3);
  const lost = jobIdOf(entries[1] as EntryId);
  await redis.lrem(seen.toKey('wait'), 0, lost);
  await reconcile(flow());
  expect((await waiting()).sort()).toEqual(entries.map(jobIdOf).sort());
  expect(await (await seen.getJob(lost))?.getState()).toBe('waiting');
});

test.each(['completed', 'failed'])('a head whose job ended as %s becomes a job again', async (state) => {
  const [entry] = await heads(1);
  const id = jobIdOf(entry as EntryId);
  await redis.lrem(seen.toKey('wait'), 0, id);
  await redis.zadd(seen.toKey(state), 1, id);
  await reconcile(flow());
  expect(await waiting()).toEqual([id]);
  expect(await redis.zcard(seen.toKey(state))).toBe(0);
});

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

test('an id without its job and a job without its data end at once, and are recreated', async () => {
  const ids = (await heads(2)).map(jobIdOf) as [string, string];
  await redis.del(seen.toKey(ids[0]));
  await redis.hdel(seen.toKey(ids[1]), 'data');
  const ran: string[] = [];
  const options = { share: createSlots(2).share(), limits: LIMITS };
  const worker = openWorker(redis, keys, options, async ({ data }) => void ran.push(data.entry));
  void worker.run();
  await until('an empty queue', async () => (await seen.count()) + (await seen.getActiveCount()) === 0 || undefined);
  expect(ran).toEqual([]);
  await reconcile(flow());
  await until('two that ran', () => ran.length === 2 || undefined);
  expect(ran.map((entry) => jobIdOf(entry as EntryId)).sort()).toEqual(ids.sort());
  await worker.close();
});

test('a running job that lost its place in the active list is recreated once nobody holds its lock', async () => {
  const [entry] = await heads(1);
  const id = jobIdOf(entry as EntryId);
  const worker = new Worker(TURNS_QUEUE, undefined, { connection: redis, prefix: keys.queuePrefix });
  await worker.getNextJob('token', { block: false });
  await redis.lrem(seen.toKey('active'), 0, id);
  await reconcile(flow());
  expect(await waiting()).toEqual([]);
  await redis.del(`${seen.toKey(id)}:lock`);
  await reconcile(flow());
  expect(await waiting()).toEqual([id]);
  await worker.close();
});

test('waiting, active and delayed jobs are left where they are', async () => {
  const entries = await heads(3);
  const worker = new Worker(TURNS_QUEUE, undefined, { connection: redis, prefix: keys.queuePrefix });
  const [running, delayed] = [
    await worker.getNextJob('a', { block: false }),
    await worker.getNextJob('b', { block: false }),
  ];
  if (delayed) await queue.postpone(delayed, 'b', Date.now(), LONG_MS);
  const before = await Promise.all(entries.map((entry) => redis.hgetall(seen.toKey(jobIdOf(entry)))));
  await reconcile(flow());
  expect(await Promise.all(entries.map((entry) => redis.hgetall(seen.toKey(jobIdOf(entry)))))).toEqual(before);
  expect(await seen.getJobCounts('waiting', 'active', 'delayed')).toEqual({ waiting: 1, active: 1, delayed: 1 });
  expect(await running?.isActive()).toBe(true);
  await worker.close();
});

test('a pass does not add heads that are jobs already', async () => {
  await heads(5);
  for (let pass = 0; pass < 3; pass++) await reconcile(flow());
  expect(await eventsOf('duplicated')).toBe(0);
});

test('a head without a job becomes one', async () => {
  await createInbox(redis, 1).accept(7, inboundText(1), '');
  const { heads: admitted } = await lane.admit(1);
  await reconcile(flow());
  expect(await waiting()).toEqual(admitted.map(({ entry }) => jobIdOf(entry)));
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
