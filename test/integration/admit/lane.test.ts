import { beforeEach, expect, test } from '@jest/globals';
import { chatKey, type EntryId, INBOUND_GROUP, type SessionId } from '../../../shared/redis/keys.ts';
import { FencedError } from '../../../shared/state/change.ts';
import type { OutcomeRecord } from '../../../shared/state/lane/record-streams.ts';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Env } from '../../../worker/env.ts';
import type { Lane } from '../../../worker/lane/lane.ts';
import { encodeRecord } from '../../../worker/session/record.ts';
import { createSessions } from '../../../worker/session/store.ts';
import { gather } from '../../../worker/turn/gather.ts';
import { eachWithQueue, lane } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';
import { userSays } from '../../fixture/records.ts';

const CHAT = chatKey(1001);
const SESSION = 's-1' as SessionId;

let inbox: Inbox;

eachWithQueue();
beforeEach(() => {
  inbox = createInbox(redis, 1);
});

async function accepted(updateId: number, chatId = 1001): Promise<EntryId> {
  return (await inbox.accept(7, inboundText(updateId, chatId), '00-a-b-01')).entry;
}

async function begun(entry: EntryId): Promise<Turn> {
  const result = await lane.begin(entry, CHAT, SESSION);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

function recordOf(entry: EntryId): OutcomeRecord {
  return { entry, chat: CHAT, outcome: 'answered', traceId: 't', settledAtMs: 1, attempts: 1, recoveries: 0 };
}

test('admit appends an entry to its lane once and returns only the head', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  const { heads, read } = await lane.admit(100);
  expect([read, heads.map(({ entry }) => entry)]).toEqual([2, [first]]);
  expect(heads[0]?.traceparent).toBe('00-a-b-01');
  expect(await lane.admit(100)).toMatchObject({ read: 0, heads: [] });
  expect(await redis.lrange(keys.lane(CHAT), 0, -1)).toEqual([first, second]);
});

test('a message that is not the head of its lane does not start', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  await lane.admit(100);
  expect(await lane.begin(second, CHAT, SESSION)).toMatchObject({ kind: 'waiting', head: { entry: first } });
});

test('a text that nothing waits behind is answered without another look at its lane, and one before forwards is not', async () => {
  const texts = [inboundText(1), { ...inboundText(2), forwardedFrom: 'Ada' }];
  const [comment] = [await accepted(1), await inbox.accept(7, texts[1] ?? inboundText(2), '')];
  await lane.admit(100);
  const gathered = (turn: Turn, looked: Pick<Lane, 'behind'>) =>
    gather(turn.withEnv({ lane: looked, selfEntered: new Map() } as unknown as Env), inboundText(1));
  expect(await gathered(await begun(comment), lane)).toMatchObject({ reason: 'gathering' });
  const alone = await accepted(3, 1002);
  await lane.admit(100);
  const other = await lane.begin(alone, chatKey(1002), SESSION);
  if (other.kind !== 'begun') throw new Error('not begun');
  const blind = { behind: () => Promise.reject(new Error('looked')) };
  expect(await gathered(other.turn, blind)).toEqual({ kind: 'gathered', pieces: [] });
});

test('after a newer attempt took over, the older one cannot write, settle or open a session', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  const frozen = await begun(entry);
  const heir = await begun(entry);
  await expect(frozen.write('step', [['SET', 'by', 'frozen']])).rejects.toThrow(FencedError);
  await expect(frozen.assertOwned()).rejects.toThrow(FencedError);
  expect(await lane.settle(frozen, recordOf(entry))).toEqual({ result: 'fenced' });
  const pending = { v: 1, t: 'user', id: 'u', at: 'now', content: 'x' } as const;
  await expect(createSessions(redis, keys).open(frozen, pending, 1_000)).rejects.toThrow(FencedError);
  expect(await redis.exists('by', keys.log(SESSION))).toBe(0);
  expect(await heir.write('step', [['SET', 'by', 'heir']])).toBe('written');
  expect(await redis.get('by')).toBe('heir');
  expect(await redis.xlen(keys.inbound)).toBe(1);
  expect(await lane.ledger.read()).toMatchObject({ accepted: 1, settled: 0, pending: 1, unaccounted: 0 });
});

test('a step is written once, also when it is repeated or a newer attempt repeats it', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  const turn = await begun(entry);
  expect(await turn.write('add', [['INCR', 'count']])).toBe('written');
  expect(await turn.write('add', [['INCR', 'count']])).toBe('repeated');
  expect(await (await begun(entry)).write('add', [['INCR', 'count']])).toBe('repeated');
  expect(await redis.get('count')).toBe('1');
});

test('a write whose condition does not hold changes nothing', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  const turn = await begun(entry);
  await redis.hset(keys.chat(CHAT), 'session', 's-other');
  expect(await turn.write('move', [['INCR', 'count']], [[keys.chat(CHAT), 'session', SESSION]])).toBe('unmet');
  expect(await redis.exists('count')).toBe(0);
});

test('open logs a message once per session and loads the window from the tail', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  for (let n = 0; n < 500; n++)
    await redis.rpush(
      keys.log(SESSION),
      JSON.stringify({ v: 1, t: 'user', id: `${n}`, at: '', content: 'x'.repeat(100) }),
    );
  const sessions = createSessions(redis, keys);
  const pending = { v: 1, t: 'user', id: 'pending', at: '', content: 'now', entry } as const;
  const turn = await begun(entry);
  await sessions.open(turn, pending, 2_000);
  const opened = await sessions.open(turn, pending, 2_000);
  expect(opened.logRecords).toBe(501);
  expect(opened.bytes).toBeLessThanOrEqual(2_000);
  expect(opened.window.records.at(-1)).toMatchObject({ id: 'pending' });
  expect(opened.window.omitted + opened.window.records.length).toBe(501);
});

test('the pending message and all after it are loaded over the byte limit, and nothing before it', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  const turn = await begun(entry);
  const sessions = createSessions(redis, keys);
  await redis.rpush(keys.log(SESSION), encodeRecord(userSays('x'.repeat(900), { id: 'before' })));
  const pending = userSays('y'.repeat(9_000), { id: 'pending', entry });
  await sessions.open(turn, pending, 2_000);
  for (const id of ['results', 'scrub'])
    await redis.rpush(keys.log(SESSION), encodeRecord(userSays('z'.repeat(5_000), { id })));
  const { window } = await sessions.open(turn, pending, 2_000);
  expect(window.records.map(({ id }) => id)).toEqual(['pending', 'results', 'scrub']);
  expect(window.omitted).toBe(1);
});

test('settle writes one outcome and returns the next head; repeated, it only returns the next head', async () => {
  const [first, second] = [await accepted(1), await accepted(2)];
  await lane.admit(100);
  const turn = await begun(first);
  expect(await lane.settle(turn, recordOf(first))).toMatchObject({ result: 'settled', next: { entry: second } });
  expect(await lane.settle(turn, recordOf(first))).toMatchObject({ result: 'repeated', next: { entry: second } });
  expect(await redis.xlen(keys.outcomes)).toBe(1);
  expect(await lane.begin(first, CHAT, SESSION)).toMatchObject({ kind: 'settled', head: { entry: second } });
});

test('readmit puts pending entries that are in no lane back in their place', async () => {
  const entries = [await accepted(1), await accepted(2), await accepted(3)];
  await lane.admit(100);
  await redis.lrem(keys.lane(CHAT), 0, entries[1] ?? '');
  await redis.srem(keys.lanes, CHAT);
  expect(await lane.readmit()).toMatchObject({ restored: 1, heads: [{ entry: entries[0] }] });
  expect(await redis.lrange(keys.lane(CHAT), 0, -1)).toEqual(entries);
  await redis.del(keys.lane(CHAT));
  expect(await lane.readmit()).toMatchObject({ restored: 3, heads: [{ entry: entries[0] }] });
  expect(await redis.lrange(keys.lane(CHAT), 0, -1)).toEqual(entries);
});

test('a paused chat has no head to run and begins no attempt, paused by itself or with every other', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  for (const pause of [CHAT, '*']) {
    await redis.hset(keys.paused, pause, '{}');
    expect((await lane.readmit()).heads).toEqual([]);
    expect(await lane.begin(entry, CHAT, SESSION)).toEqual({ kind: 'paused' });
    await redis.del(keys.paused);
  }
  expect((await lane.readmit()).heads).toMatchObject([{ entry }]);
  expect(await lane.begin(entry, CHAT, SESSION)).toMatchObject({ kind: 'begun', turn: { attempts: 1 } });
});

test('a message is in the pending list from its admission to its outcome', async () => {
  const pending = async () => ((await redis.xpending(keys.inbound, INBOUND_GROUP)) as [number])[0];
  const entry = await accepted(1);
  expect(await pending()).toBe(0);
  await lane.admit(100);
  expect(await pending()).toBe(1);
  const turn = await begun(entry);
  await turn.write('conclusion', [['SET', 'answer', 'stored']]);
  expect(await pending()).toBe(1);
  await lane.settle(turn, recordOf(entry));
  expect(await pending()).toBe(0);
});

test('only the oldest of two poison candidates runs; the other uses up no attempt meanwhile', async () => {
  const chats = [chatKey(1), chatKey(2)];
  const entries: EntryId[] = [];
  for (const [at, chat] of chats.entries())
    entries.push(String(await redis.xadd(keys.inbound, '*', 'chat', chat, 'message', `${at}`)) as EntryId);
  const [first, second] = entries as [EntryId, EntryId];
  await lane.admit(100);
  const begin = (at: number) => lane.begin(entries[at] as EntryId, chats[at] ?? CHAT, SESSION);
  for (let death = 0; death < 2; death++)
    for (const at of [0, 1]) expect(await begin(at)).toMatchObject({ kind: 'begun' });
  const third = await begin(0);
  expect(third).toMatchObject({ kind: 'begun', turn: { attempts: 3 } });
  for (let asked = 0; asked < 3; asked++) expect(await begin(1)).toEqual({ kind: 'poison candidate' });
  if (third.kind !== 'begun') throw new Error(third.kind);
  await lane.settle(third.turn, recordOf(first));
  expect(await begin(1)).toMatchObject({ kind: 'begun', turn: { attempts: 3 } });
  expect(await redis.zrange(keys.poisonCandidates, '0', '-1')).toEqual([second]);
});

test('a poison candidate whose chat is paused gives its place to the next, and takes it again when it is resumed', async () => {
  const chats = [chatKey(1), chatKey(2)];
  const entries: EntryId[] = [];
  for (const [at, chat] of chats.entries())
    entries.push(String(await redis.xadd(keys.inbound, '*', 'chat', chat, 'message', `${at}`)) as EntryId);
  await lane.admit(100);
  const begin = (at: number) => lane.begin(entries[at] as EntryId, chats[at] ?? CHAT, SESSION);
  for (let death = 0; death < 2; death++) for (const at of [0, 1]) await begin(at);
  await begin(0);
  expect(await begin(1)).toEqual({ kind: 'poison candidate' });
  // The process has died with it once more; meanwhile its chat was paused.
  await redis.hset(keys.paused, '1', '{}');
  for (let asked = 0; asked < 2; asked++) expect(await begin(0)).toEqual({ kind: 'paused' });
  expect(await redis.hmget(keys.turn(entries[0] as EntryId), 'crashesInRow', 'attempts')).toEqual(['3', '3']);
  expect(await begin(1)).toMatchObject({ kind: 'begun', turn: { attempts: 3 } });
  await redis.hdel(keys.paused, '1');
  expect(await begin(0)).toMatchObject({ kind: 'begun', turn: { attempts: 4 } });
});

test('a poison candidate that no longer exists blocks no other message', async () => {
  const entry = await accepted(1);
  await lane.admit(100);
  await redis.zadd(keys.poisonCandidates, 1, '1-0');
  for (let death = 0; death < 3; death++)
    expect(await lane.begin(entry, CHAT, SESSION)).toMatchObject({ kind: 'begun' });
  expect(await redis.zrange(keys.poisonCandidates, '0', '-1')).toEqual([entry]);
});
