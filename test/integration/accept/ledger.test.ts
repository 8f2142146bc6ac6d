import { beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import type { Alert } from '../../../shared/flow/alert.ts';
import { chatKey, type EntryId, type SessionId } from '../../../shared/redis/keys.ts';
import type { OutcomeRecord } from '../../../shared/state/lane/record-streams.ts';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { reconcile } from '../../../worker/lane/dispatcher.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { eachWithQueue, lane } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { ALERT_CHAT, createWorld, startGateway } from '../../fixture/gateway.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHAT = chatKey(1001);
const SESSION = 's-1' as SessionId;
const NOW = 1_800_000_000_000;

let inbox: Inbox;

eachWithQueue();
beforeEach(() => {
  inbox = createInbox(redis, 1);
});

async function accepted(updateId: number): Promise<EntryId> {
  return (await inbox.accept(7, inboundText(updateId), '00-a-b-01')).entry;
}

async function begun(entry: EntryId): Promise<Turn> {
  const result = await lane.begin(entry, CHAT, SESSION);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

function recordOf(entry: EntryId, outcome: OutcomeRecord['outcome'] = 'answered'): OutcomeRecord {
  return { entry, chat: CHAT, outcome, traceId: 't', settledAtMs: 1, attempts: 1, recoveries: 0 };
}

async function settled(entry: EntryId): Promise<void> {
  await lane.settle(await begun(entry), recordOf(entry));
}

async function alerts(): Promise<Alert[]> {
  return (await redis.xrange(keys.alerts, '-', '+')).map(([, fields]) => JSON.parse(fields[1] ?? ''));
}

const numbers = async () => {
  const { accepted: came, settled: ended, pending, unaccounted } = await lane.ledger.read();
  return [came, ended, pending, unaccounted];
};

test('an update accepted twice and a message settled twice count once', async () => {
  const entry = await accepted(1);
  await accepted(1);
  expect(await numbers()).toEqual([1, 0, 1, 0]);
  await lane.admit(100);
  const turn = await begun(entry);
  expect(await lane.settle(turn, recordOf(entry, 'failed'))).toMatchObject({ result: 'settled' });
  expect(await lane.settle(turn, recordOf(entry, 'failed'))).toMatchObject({ result: 'repeated' });
  expect(await numbers()).toEqual([1, 1, 0, 0]);
});

test('an entry that is discarded twice counts once', async () => {
  await accepted(1);
  const broken = (await redis.xadd(keys.inbound, '*', 'nonsense', 'x')) as EntryId;
  await redis.hincrby(keys.counts, 'accepted', 1);
  await lane.admit(100);
  expect(await lane.discard(broken, recordOf(broken, 'failed'), '{}')).toBe(true);
  expect(await lane.discard(broken, recordOf(broken, 'failed'), '{}')).toBe(false);
  expect(await numbers()).toEqual([2, 1, 1, 0]);
});

test('the next check finds an entry deleted from the stream and queues an alert with the numbers', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  await lane.admit(100);
  await settled(first);
  await redis.xdel(keys.inbound, second);
  const reading = await lane.ledger.check(NOW);
  expect(reading).toMatchObject({ accepted: 2, settled: 1, pending: 0, unaccounted: 1 });
  expect(await alerts()).toEqual([
    {
      cause: 'ledger',
      key: keys.counts,
      level: '1',
      text: expect.stringMatching(/^The ledger does not add up: 2 .* 1 settled, 0 waiting, 1 unaccounted for/m),
    },
  ]);
});

test('the check finds a stream that was deleted, and an entry that was never accepted', async () => {
  for (const id of [1, 2, 3]) await accepted(id);
  await redis.del(keys.inbound);
  expect(await lane.ledger.check(NOW)).toMatchObject({ unaccounted: 3 });
  await redis.hincrby(keys.counts, 'settled', 3);
  await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
  expect(await lane.ledger.check(NOW)).toMatchObject({ unaccounted: -1, alert: { cause: 'ledger', level: '-1' } });
});

test('alerts once on a gap, again when it grows, and once on its end, also when two processes check at once', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  await redis.xdel(keys.inbound, first);
  await lane.ledger.check(NOW);
  await lane.ledger.check(NOW + 1);
  expect(await alerts()).toHaveLength(1);
  await redis.xdel(keys.inbound, second);
  await Promise.all([lane.ledger.check(NOW + 2), createLane(redis, keys).ledger.check(NOW + 2)]);
  expect((await alerts()).map(({ level }) => level)).toEqual(['1', '2']);
  await redis.hincrby(keys.counts, 'settled', 2);
  await Promise.all([lane.ledger.check(NOW + 3), createLane(redis, keys).ledger.check(NOW + 3)]);
  await lane.ledger.check(NOW + 4);
  expect((await alerts()).slice(2)).toEqual([
    {
      cause: 'ledger',
      key: keys.counts,
      isOver: true,
      text: expect.stringMatching(/^Resolved: the ledger adds up again/),
    },
  ]);
});

test('data of a version without counts starts with the entries that wait, without an alert', async () => {
  for (let n = 0; n < 3; n++) await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
  expect(await lane.ledger.read()).toMatchObject({ isCounted: false, unaccounted: 0 });
  expect(await redis.exists(keys.counts)).toBe(0);
  expect(await lane.ledger.check(NOW)).toMatchObject({ accepted: 3, settled: 0, pending: 3, isCounted: false });
  expect(await lane.ledger.check(NOW)).toMatchObject({ accepted: 3, settled: 0, pending: 3, isCounted: true });
  expect(await alerts()).toEqual([]);
});

test.each<[string, (old: EntryId) => Promise<unknown>]>([
  ['an update is accepted', () => accepted(9)],
  ['a message is settled', settled],
  ['an entry is discarded', (old) => lane.discard(old, recordOf(old, 'failed'), '{}')],
])(
  '%s before the first check of data without counts: the entries that waited are counted too',
  async (_what, first) => {
    const old = (await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}')) as EntryId;
    await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
    await lane.admit(100);
    await first(old);
    expect(await lane.ledger.check(NOW)).toMatchObject({ isCounted: true, unaccounted: 0 });
  },
);

test.each(['set', 'text'])(
  'damaged counts (a %s) fail accept, settle and discard before they write anything',
  async (damage) => {
    const entry = await accepted(1);
    await lane.admit(100);
    const turn = await begun(entry);
    if (damage === 'set') await redis.del(keys.counts);
    await (damage === 'set' ? redis.sadd(keys.counts, 'x') : redis.hset(keys.counts, 'accepted', 'x', 'settled', 'x'));
    await expect(accepted(2)).rejects.toThrow(/WRONGTYPE|not an integer/);
    await expect(lane.settle(turn, recordOf(entry))).rejects.toThrow(/WRONGTYPE|not an integer/);
    await expect(lane.discard(entry, recordOf(entry), '{}')).rejects.toThrow(/WRONGTYPE|not an integer/);
    expect(await redis.xlen(keys.inbound)).toBe(1);
    expect(await redis.exists(keys.outcomes, keys.dead, keys.alerts)).toBe(0);
  },
);

test('counts that went back queue one lost-data alert, and counting goes on from there', async () => {
  for (const id of [1, 2, 3]) await accepted(id);
  expect(await lane.ledger.check(NOW)).not.toHaveProperty('lostData');
  await redis.flushall();
  await lane.prepare();
  // Another process takes messages in, and has seen nothing of this.
  inbox = createInbox(redis, 1);
  await accepted(4);
  const { lostData } = await lane.ledger.check(NOW);
  expect(lostData?.text).toMatch(/^Redis lost data: 3 messages had been accepted, and now it knows of 1 /m);
  expect(await alerts()).toEqual([lostData]);
  expect(await lane.ledger.check(NOW)).not.toHaveProperty('lostData');
});

test('a lost-data alert that cannot be queued is retried by the next check', async () => {
  for (const id of [1, 2]) await accepted(id);
  await lane.ledger.check(NOW);
  await redis.flushall();
  await redis.set(keys.alerts, 'not a stream');
  await expect(lane.ledger.check(NOW)).rejects.toThrow('WRONGTYPE');
  await redis.del(keys.alerts);
  expect(await lane.ledger.check(NOW)).toMatchObject({ lostData: { cause: 'lost-data' } });
});

test('a pass of the reconciler adds missing jobs and checks the ledger', async () => {
  await accepted(1);
  const gone = await accepted(2);
  await lane.admit(100);
  await redis.xdel(keys.inbound, gone);
  const added: EntryId[] = [];
  const queue = {
    missing: async (heads: unknown) => ({ heads, broken: 0 }),
    add: async (heads: readonly { entry: EntryId }[]) => void added.push(...heads.map((h) => h.entry)),
    endDelays: async () => 0,
  };
  const parts = { lane, queue: queue as never, discard: async () => {}, log: createLogger('silent') };
  await reconcile(parts);
  expect(added).toHaveLength(1);
  expect(await alerts()).toEqual([expect.objectContaining({ cause: 'ledger' })]);
});

test('a gateway whose ledger does not add up alerts the operator and goes on answering', async () => {
  const world = await createWorld();
  try {
    await world.peek.hset(world.keys.counts, 'accepted', 5, 'settled', 3);
    const gateway = await startGateway(world);
    await world.telegram.waitForText(ALERT_CHAT, /The ledger does not add up: 5 .* 3 settled, 0 waiting, 2 un/);
    world.telegram.say(1001, 'and now?');
    expect(await nextOutcome(world, 1001)).toMatchObject({ outcome: 'answered' });
    await gateway.stop();
    expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '6', settled: '4' });
  } finally {
    await world.close();
  }
});
