import { expect, test } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import {
  chatKey,
  type EntryId,
  INBOUND_GROUP,
  jobIdOf,
  type SessionId,
  TURNS_QUEUE,
} from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { createClock, createLaneStore } from '../../../shared/state/lane/lanes.ts';
import { withForeignAlerts } from '../../../worker/lane/lane.ts';
import { openQueue } from '../../../worker/lane/queue.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { HASTY_LIMITS } from '../../fixture/hasty.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';

/** More digits than a number can hold. */
const LONG_CHAT = '12345678901234567';

eachInWorld({ env: { MAX_ATTEMPTS: '2' } });

const LIMITS = { reconcileEveryMs: 200 };
const firstDead = async () => (await world.peek.xrange(world.keys.dead, '-', '+', 'COUNT', 1))[0]?.[1];

test('a message whose turn cannot start, and one whose session is unusable, fail after their attempts, and the chat goes on', async () => {
  const { peek, keys } = world;
  const fields = ['chat', String(CHAT), 'message', JSON.stringify(inboundText(1, CHAT)), 'traceparent', ''];
  const entry = String(await peek.xadd(keys.inbound, '*', ...fields)) as EntryId;
  await peek.hset(keys.turn(entry), 'trial', '{"torn');
  world.telegram.openChat(CHAT);
  await start({}, LIMITS);
  await world.telegram.waitForText(ALERT_CHAT, /kept as a dead letter/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ entry, outcome: 'failed' });
  expect(shown()).toEqual([expect.stringContaining("couldn't read this message")]);
  expect(await peek.ttl(keys.turn(entry))).toBeGreaterThan(0);
  const log = keys.log('s-broken' as SessionId);
  await peek.hset(keys.chat(chatKey(CHAT)), 'session', 's-broken');
  await peek.set(log, 'not a list');
  world.telegram.say(CHAT, 'Do not turn in circles');
  const failed = { outcome: 'failed', reason: 'internal_error', attempts: 2 };
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject(failed);
  expect(shown().at(-1)).toContain('The operator has been notified');
  await world.telegram.waitForText(ALERT_CHAT, /internal_error/);
  await peek.del(log);
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered' });
});

test('a message on which everything throws, also what ends it, fails after its attempts, and the chat goes on', async () => {
  const { peek, keys } = world;
  await peek.hset(keys.chat(chatKey(CHAT)), 'session', 's-broken');
  const damaged = [keys.log('s-broken' as SessionId), keys.memoryChanges(chatKey(CHAT))];
  for (const key of damaged) await peek.set(key, 'not what it should be');
  await start({}, LIMITS);
  expect(await ask('Do not turn in circles')).toMatchObject({ outcome: 'failed', reason: 'internal_error' });
  await world.telegram.waitForText(ALERT_CHAT, /kept as a dead letter/);
  await until('a notice', () => shown().length > 0 || undefined);
  expect(shown()).toEqual([expect.stringContaining('The operator has been notified')]);
  expect(await firstDead()).toContain('message');
  await peek.del(...damaged);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

/** How often Redis refused a command since it was started. */
const refusals = async () =>
  [...(await world.peek.info('errorstats')).matchAll(/errorstat_(?:OOM|NOREPLICAS):count=(\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );

variants(['maxmemory', 'min-replicas-to-write'])(
  'a Redis that takes no writes in the middle of each attempt (%s) uses none of them, and nobody is said to have died',
  async (setting) => {
    await start({}, HASTY_LIMITS);
    await ask('First');
    let refused = 0;
    const untilRefused = async () => {
      const before = await refusals();
      await until('the attempt to be refused', async () => (await refusals()) > before + 30 || undefined);
      await world.peek.config('SET', setting, '0');
    };
    world.claude.react(({ pendingText }) => {
      if (pendingText !== 'Second' || refused === 3) return undefined;
      refused += 1;
      const after = world.peek.config('SET', setting, '1').then(() => void untilRefused());
      return { do: 'answer', text: 'not stored', after };
    });
    const outcome = await ask('Second', 2);
    expect([refused, outcome]).toEqual([3, expect.objectContaining({ outcome: 'answered', attempts: 1 })]);
    expect(await world.peek.hget(world.keys.turn(outcome.entry), 'crashes')).toBeNull();
  },
  60_000,
);

async function entryOf(chat: string): Promise<EntryId> {
  const fields = ['chat', chat, 'message', JSON.stringify(inboundText(1)), 'traceparent', ''];
  return String(await world.peek.xadd(world.keys.inbound, '*', ...fields)) as EntryId;
}

test('a lane that this version does not know is left alone, and so are its job and its entries', async () => {
  const { keys, peek, redis } = world;
  await peek.xgroup('CREATE', keys.inbound, INBOUND_GROUP, '0', 'MKSTREAM');
  const [head = '0-0' as EntryId, second] = [await entryOf(LONG_CHAT), await entryOf(LONG_CHAT)];
  await peek.xreadgroup('GROUP', INBOUND_GROUP, 'dispatcher', 'COUNT', 2, 'STREAMS', keys.inbound, '>');
  const lane = `${keys.lanePrefix}${LONG_CHAT}`;
  await peek.rpush(lane, head, String(second));
  await peek.sadd(keys.lanes, LONG_CHAT);
  const queue = new Queue(TURNS_QUEUE, { connection: { url: redis.url }, prefix: keys.queuePrefix });
  const data = { entry: head, chat: LONG_CHAT };
  const job = await queue.add('turn', data, { jobId: jobIdOf(head), attempts: 1_000_000 });
  const unread: EntryId[] = [];
  for (const chat of [LONG_CHAT, '9007199254740993', `-100.${LONG_CHAT}`, `${CHAT}#1`, 'anything'])
    unread.push(await entryOf(chat));
  await start({}, LIMITS);
  await ask('hello');
  await until('a job that is put off', async () => (await job.isDelayed()) || undefined);
  await queue.close();
  expect((await peek.xrange(keys.inbound, '-', '+')).map(([id]) => id)).toEqual([head, second, ...unread]);
  expect((await settledOutcomes(world)).map(({ chat }) => chat)).toEqual([String(CHAT)]);
  expect(await peek.xlen(keys.dead)).toBe(0);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect((await peek.lrange(lane, 0, -1)).slice(0, 2)).toEqual([head, second]);
  expect(await peek.exists(keys.turn(head))).toBe(0);
});

test('entries that no later version takes are told to the operator, once', async () => {
  const { keys, peek } = world;
  await peek.xgroup('CREATE', keys.inbound, INBOUND_GROUP, '0', 'MKSTREAM');
  const entries = [await entryOf(LONG_CHAT), await entryOf(`${CHAT}#1`)];
  await peek.xreadgroup('GROUP', INBOUND_GROUP, 'dispatcher', 'COUNT', 2, 'STREAMS', keys.inbound, '>');
  const store = createLaneStore(peek, keys, createClock(), 50);
  const readmit = withForeignAlerts(store.readmit, (alert) => queueAlert(peek, keys, alert), 50);
  expect((await readmit()).foreign).toEqual(entries);
  expect(await peek.xlen(keys.alerts)).toBe(0);
  await until('an alert', async () => (await readmit()) && ((await peek.xlen(keys.alerts)) > 0 || undefined));
  await readmit();
  const [alert, ...more] = await peek.xrange(keys.alerts, '-', '+');
  expect(JSON.stringify(alert)).toMatch(/other-version.*cannot be read by this version: 2 messages/);
  expect(more).toEqual([]);
});

test('a job that keeps failing keeps one stack trace', async () => {
  const { keys, peek } = world;
  const queue = openQueue(peek, keys);
  const entry = '1-0' as EntryId;
  await queue.add([{ entry, chat: chatKey(CHAT), traceparent: '' }]);
  const worker = new Worker(TURNS_QUEUE, undefined, { connection: peek, prefix: keys.queuePrefix });
  for (let failure = 0; failure < 4; failure++) {
    const job = await worker.getNextJob('token', { block: false });
    await job?.moveToFailed(new Error('again'), 'token', false);
    await queue.promote([entry]);
  }
  const stored = await peek.hget(`${keys.queuePrefix}:${TURNS_QUEUE}:${jobIdOf(entry)}`, 'stacktrace');
  expect(JSON.parse(stored ?? '[]')).toHaveLength(1);
  await worker.close();
  await queue.close();
});
