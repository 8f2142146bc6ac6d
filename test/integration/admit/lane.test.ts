import { beforeEach, expect, test } from '@jest/globals';
import { chatKey, type EntryId, type SessionId } from '../../../shared/redis/keys.ts';
import { createInbox, type Inbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Env } from '../../../worker/env.ts';
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
  await lane.admit(100);
  const result = await lane.begin(entry, CHAT, SESSION);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

test('a text that nothing waits behind is answered without another look at its lane', async () => {
  const turn = await begun(await accepted(1));
  const blind = { behind: () => Promise.reject(new Error('looked')) };
  const env = { lane: blind, selfEntered: new Map() } as unknown as Env;
  expect(await gather(turn.withEnv(env), inboundText(1))).toEqual({ kind: 'gathered', pieces: [] });
});

test('the pending message and all after it are loaded over the byte limit, and nothing before it', async () => {
  const entry = await accepted(1);
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

test('of two poison candidates the oldest runs alone; one whose chat is paused gives its place to the next, and takes it again', async () => {
  // A candidate that no longer exists blocks no other message.
  await redis.zadd(keys.poisonCandidates, 1, '1-0');
  const chats = [chatKey(1), chatKey(2)];
  const entries: EntryId[] = [];
  for (const [at, chat] of chats.entries())
    entries.push(String(await redis.xadd(keys.inbound, '*', 'chat', chat, 'message', `${at}`)) as EntryId);
  await lane.admit(100);
  const begin = (at: number) => lane.begin(entries[at] as EntryId, chats[at] ?? CHAT, SESSION);
  for (let death = 0; death < 2; death++)
    for (const at of [0, 1]) expect(await begin(at)).toMatchObject({ kind: 'begun' });
  expect(await begin(0)).toMatchObject({ kind: 'begun', turn: { attempts: 3 } });
  // The other one uses up no attempt meanwhile.
  for (let asked = 0; asked < 3; asked++) expect(await begin(1)).toEqual({ kind: 'poison candidate' });
  // The process has died with it once more; meanwhile its chat was paused.
  await redis.hset(keys.paused, '1', '{}');
  for (let asked = 0; asked < 2; asked++) expect(await begin(0)).toEqual({ kind: 'paused' });
  expect(await redis.hmget(keys.turn(entries[0] as EntryId), 'crashesInRow', 'attempts')).toEqual(['3', '3']);
  const next = await begin(1);
  expect(next).toMatchObject({ kind: 'begun', turn: { attempts: 3 } });
  await redis.hdel(keys.paused, '1');
  expect(await begin(0)).toMatchObject({ kind: 'begun', turn: { attempts: 4 } });
});
