import { beforeEach, expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import { chatKey, type EntryId, type SessionId } from '../../../shared/redis/keys.ts';
import type { OutcomeRecord } from '../../../shared/state/lane/record-streams.ts';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { eachWithQueue, lane } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { ALERT_CHAT, createWorld, startGateway } from '../../fixture/gateway.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHAT = chatKey(1001);
const SESSION = 's-1' as SessionId;
const NOW = 1_800_000_000_000;
const REMEMBERED_S = 48 * 3600;

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

async function alerts(): Promise<Alert[]> {
  return (await redis.xrange(keys.alerts, '-', '+')).map(([, fields]) => JSON.parse(fields[1] ?? ''));
}

const numbers = async () => {
  const { accepted: came, settled: ended, pending, unaccounted } = await lane.ledger.read();
  return [came, ended, pending, unaccounted];
};

test('an update accepted twice, a message settled twice and an entry discarded twice count once', async () => {
  const entry = await accepted(1);
  await accepted(1);
  expect(await numbers()).toEqual([1, 0, 1, 0]);
  const broken = (await redis.xadd(keys.inbound, '*', 'nonsense', 'x')) as EntryId;
  await redis.hincrby(keys.counts, 'accepted', 1);
  await lane.admit(100);
  const turn = await begun(entry);
  expect(await lane.settle(turn, recordOf(entry, 'failed'))).toMatchObject({ result: 'settled' });
  expect(await lane.settle(turn, recordOf(entry, 'failed'))).toMatchObject({ result: 'repeated' });
  for (const isFirst of [true, false])
    expect(await lane.discard(broken, recordOf(broken, 'failed'), '{}')).toBe(isFirst);
  expect(await numbers()).toEqual([2, 2, 0, 0]);
});

test('alerts once on a gap, again when it grows, and once on its end, also when two processes check at once', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  await redis.xdel(keys.inbound, first);
  const reading = { accepted: 2, settled: 0, pending: 1, unaccounted: 1 };
  expect(await lane.ledger.check(NOW)).toMatchObject(reading);
  await lane.ledger.check(NOW + 1);
  const text = expect.stringMatching(
    /^The counts of messages do not add up: 2 .* 0 settled, 1 waiting, 1 unaccounted for/m,
  );
  expect(await alerts()).toEqual([{ cause: 'ledger', key: keys.counts, level: '1', text }]);
  await redis.xdel(keys.inbound, second);
  const checkTwice = (nowMs: number) =>
    Promise.all([lane, createLane(redis, keys)].map(({ ledger }) => ledger.check(nowMs)));
  await checkTwice(NOW + 2);
  expect((await alerts()).map(({ level }) => level)).toEqual(['1', '2']);
  await redis.hincrby(keys.counts, 'settled', 2);
  await checkTwice(NOW + 3);
  await lane.ledger.check(NOW + 4);
  const over = expect.stringMatching(/^Resolved: the counts of messages add up again/);
  expect((await alerts()).slice(2)).toEqual([{ cause: 'ledger', key: keys.counts, isOver: true, text: over }]);
  // An entry that was never accepted.
  await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
  expect(await lane.ledger.check(NOW + 5)).toMatchObject({ unaccounted: -1, alert: { level: '-1' } });
});

test('data of a version without counts starts with the entries that wait, without an alert', async () => {
  for (let n = 0; n < 3; n++) await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
  expect(await lane.ledger.read()).toMatchObject({ isCounted: false, unaccounted: 0 });
  expect(await redis.exists(keys.counts)).toBe(0);
  for (const isCounted of [false, true])
    expect(await lane.ledger.check(NOW)).toMatchObject({ accepted: 3, settled: 0, pending: 3, isCounted });
  expect(await alerts()).toEqual([]);
});

test.each<[string, (old: EntryId) => Promise<unknown>]>([
  ['accepted', () => accepted(9)],
  ['settled', async (old) => lane.settle(await begun(old), recordOf(old))],
  ['discarded', (old) => lane.discard(old, recordOf(old, 'failed'), '{}')],
])(
  'an entry is %s before the first check of data without counts: those that waited are counted too',
  async (_, first) => {
    const old = (await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}')) as EntryId;
    await redis.xadd(keys.inbound, '*', 'chat', '1001', 'message', '{}');
    await lane.admit(100);
    await first(old);
    expect(await lane.ledger.check(NOW)).toMatchObject({ isCounted: true, unaccounted: 0 });
  },
);

test('damaged counts fail accept, settle and discard before they write anything', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  const turn = await begun(entry);
  await redis.hset(keys.counts, 'accepted', 'x', 'settled', 'x');
  await expect(accepted(2)).rejects.toThrow('not an integer');
  await expect(lane.settle(turn, recordOf(entry))).rejects.toThrow('not an integer');
  await expect(lane.discard(entry, recordOf(entry), '{}')).rejects.toThrow('not an integer');
  expect(await redis.xlen(keys.inbound)).toBe(1);
  expect(await redis.exists(keys.outcomes, keys.dead, keys.alerts)).toBe(0);
});

test('counts that went back queue one lost-data alert, retried where it cannot be queued, and counting goes on from there', async () => {
  for (const id of [1, 2, 3]) await accepted(id);
  expect(await lane.ledger.check(NOW)).not.toHaveProperty('lostData');
  await redis.flushall();
  await lane.prepare();
  // Another process takes messages in, and has seen nothing of this.
  inbox = createInbox(redis, 1);
  await accepted(4);
  await redis.set(keys.alerts, 'not a stream');
  await expect(lane.ledger.check(NOW)).rejects.toThrow('WRONGTYPE');
  await redis.del(keys.alerts);
  const { lostData } = await lane.ledger.check(NOW);
  expect(lostData?.text).toMatch(/^Redis lost data: 3 messages had been accepted, and now it knows of 1 /m);
  expect(await alerts()).toEqual([lostData]);
  expect(await lane.ledger.check(NOW)).not.toHaveProperty('lostData');
});

test.each([
  ['a repeated update', 1, 2, 2],
  ['the next update', 3, 4, 1],
])('%s shows that messages were lost: one alert, with how many', async (_, lost, updateId, known) => {
  for (const id of [1, 2, 3]) await accepted(id);
  await redis.hincrby(keys.counts, 'accepted', -lost);
  for (const id of [updateId, 5]) await accepted(id);
  const text = `Redis lost data: 3 messages had been accepted, and now it knows of ${known} `;
  expect(await alerts()).toMatchObject([{ text: expect.stringContaining(text) }]);
});

test('a message is accepted even when the alert of a loss cannot be queued; the next message queues it', async () => {
  for (const id of [1, 2, 3]) await accepted(id);
  await redis.hincrby(keys.counts, 'accepted', -3);
  await redis.set(keys.alerts, 'not a stream');
  await accepted(4);
  await redis.del(keys.alerts);
  await accepted(5);
  expect(await alerts()).toMatchObject([{ text: expect.stringMatching(/^Redis lost data: 3 .* now it knows of 2 /m) }]);
});

test('a gateway whose ledger does not add up alerts the operator and goes on answering', async () => {
  const world = await createWorld();
  await world.peek.hset(world.keys.counts, 'accepted', 5, 'settled', 3);
  const gateway = await startGateway(world);
  try {
    await world.telegram.waitForText(
      ALERT_CHAT,
      /The counts of messages do not add up: 5 .* 3 settled, 0 waiting, 2 un/,
    );
    world.telegram.say(1001, 'and now?');
    expect(await nextOutcome(world, 1001)).toMatchObject({ outcome: 'answered' });
    expect(await world.peek.hgetall(world.keys.counts)).toMatchObject({ accepted: '6', settled: '4' });
  } finally {
    await gateway.stop();
    await world.close();
  }
});

test('updates are remembered for 48 hours after the last one of their bucket', async () => {
  await accepted(512);
  await redis.expire(keys.updates(7, 512), 60);
  await accepted(513);
  expect(keys.updates(7, 513)).toBe(keys.updates(7, 512));
  expect(await redis.ttl(keys.updates(7, 512))).toBeGreaterThan(REMEMBERED_S - 10);
  // Two bots with the same update ids do not take away from each other.
  expect((await inbox.accept(8, inboundText(512), '')).duplicate).toBe(false);
});

test('an update is remembered in a quarter of what a key of its own takes', async () => {
  const updates = 1_024;
  for (let each = 0; each < updates; each++) await accepted(4_096 + each);
  const bytesOf = async (key: string) => Number(await redis.memory('USAGE', key));
  const buckets = new Set(Array.from({ length: updates }, (_, each) => keys.updates(7, 4_096 + each)));
  await redis.set('a-key-of-its-own:4096', '1700000000000-0', 'EX', REMEMBERED_S);
  let bytes = 0;
  for (const bucket of buckets) {
    expect(await redis.object('ENCODING', bucket)).toMatch(/listpack|ziplist/);
    bytes += await bytesOf(bucket);
  }
  expect((bytes / updates) * 4).toBeLessThan(await bytesOf('a-key-of-its-own:4096'));
});
