import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { type ChatKey, chatKey, type EntryId, type SessionId } from '../../../shared/redis/keys.ts';
import { readScript } from '../../../shared/redis/script.ts';
import { FencedError } from '../../../shared/state/change.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { createLane, type Lane } from '../../../worker/lane/lane.ts';
import { cancelChat } from '../../../worker/operator/chats.ts';
import { newStamp } from '../../../worker/session/record.ts';
import { createSessions } from '../../../worker/session/store.ts';
import { type RedisProxy, startProxy } from '../../chaos/proxy.ts';
import { eachWithRedis, keys, redis, server } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';

const CHAT = chatKey(1001);
const SESSION = 's-1' as SessionId;
const X = `${keys.counts}:x`;

let proxy: RedisProxy;
/** The line that is cut; `redis` is one past it. */
let cut: ReturnType<typeof connectRedis>;
let lane: Lane;
/** The message of the chat, which is the head of its lane. */
let entry: EntryId;

afterEach(async () => {
  cut.disconnect();
  await proxy.close();
});
eachWithRedis();
beforeEach(async () => {
  proxy = await startProxy(Number(new URL(server.url).port));
  cut = connectRedis(`redis://127.0.0.1:${proxy.port}`, 'patient');
  lane = createLane(cut, keys);
  await lane.prepare();
  entry = await accepted(1);
  await lane.admit(1);
});

async function accepted(updateId: number, chatId = 1001): Promise<EntryId> {
  return (await createInbox(redis, 1).accept(7, inboundText(updateId, chatId), '00-a-b-01')).entry;
}

async function begun(of: Lane = lane, head = entry, chat: ChatKey = CHAT): Promise<Turn> {
  const result = await of.begin(head, chat, SESSION);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

const settle = (turn: Turn) =>
  lane.settle(turn, {
    entry,
    chat: CHAT,
    outcome: 'answered',
    traceId: 't',
    settledAtMs: 1,
    attempts: 1,
    recoveries: 0,
  });

/** Cuts the reply to the next call of a script, which the server knows by its hash. */
function cutReplyTo(script: string): Promise<void> {
  const source = readScript(join(PROJECT_ROOT, 'shared', 'state', 'turn', `${script}.lua`));
  return proxy.cutReplyTo(createHash('sha1').update(source).digest('hex'));
}

/** The reply to a write whose first reply is lost. */
async function withLostReply(turn: Turn, ...write: Parameters<Turn['write']>): Promise<string> {
  await turn.write('before', []);
  const done = cutReplyTo('write');
  const reply = await turn.write(...write);
  await done;
  return reply;
}

/** Does what a Redis does that comes back without its last write: the turn is as it was before. */
async function losing(work: () => Promise<unknown>): Promise<void> {
  const before = await redis.hgetall(keys.turn(entry));
  await work();
  await redis.multi().del(keys.turn(entry)).hset(keys.turn(entry), before).exec();
}

/** What an attempt may do next. */
const AFTERWARDS: ((turn: Turn) => Promise<unknown>)[] = [
  (turn) => turn.write('next', [['SET', X, 1]]),
  (turn) => turn.write('', [['SET', X, 1]]),
  (turn) => turn.assertOwned(),
  (turn) => {
    const pending = { v: 1, t: 'user', ...newStamp(), content: 'hello', entry, channel: 'c' } as const;
    return createSessions(redis, keys).open(turn, pending, 1_000);
  },
];

async function expectFenced(turn: Turn): Promise<void> {
  for (const next of AFTERWARDS) await expect(next(turn)).rejects.toThrow(FencedError);
  expect(await settle(turn)).toEqual({ result: 'fenced' });
  expect(await redis.exists(X, keys.log(SESSION))).toBe(0);
}

test('after a newer attempt took over, the older one cannot write, settle or open a session', async () => {
  const frozen = await begun();
  const heir = await begun();
  await expectFenced(frozen);
  expect(await heir.write('step', [['SET', 'by', 'heir']])).toBe('written');
  expect(await lane.ledger.read()).toMatchObject({ accepted: 1, settled: 0, pending: 1, unaccounted: 0 });
});

test('an attempt whose last write was lost is fenced; the next one writes the conclusion and settles', async () => {
  const turn = await begun();
  await turn.write('first', [['HSET', keys.turn(entry), 'a', 1]]);
  await losing(() => turn.write('conclusion', [['HSET', keys.turn(entry), 'conclusion', '{}']]));
  await expectFenced(turn);
  const next = await begun();
  expect(next.conclusion).toBeUndefined();
  await next.write('conclusion', [['HSET', keys.turn(entry), 'conclusion', '{}']]);
  expect(await settle(next)).toEqual({ result: 'settled' });
});

test('an attempt that Redis has lost writes nothing into the turn of the next one', async () => {
  const forgotten = await begun();
  // What a replica that was behind makes of it when it takes over.
  await redis.del(keys.turn(entry));
  const heir = await begun();
  expect(await heir.write('conclusion', [['SET', 'answer', 'of the heir']])).toBe('written');
  await expect(forgotten.write('conclusion', [['SET', 'answer', 'another']])).rejects.toThrow(FencedError);
  expect(await redis.get('answer')).toBe('of the heir');
});

test('a write whose reply is lost is made once, and comes to the same when it is sent again', async () => {
  const turn = await begun();
  const key = keys.turn(entry);
  await Promise.all([1, 2, 3].map((at) => turn.write('', [['RPUSH', 'list', at]])));
  expect(await redis.lrange('list', 0, -1)).toEqual(['1', '2', '3']);
  expect(await withLostReply(turn, '', [['INCR', 'cost']])).toBe('written');
  const decide = [['HSET', key, 'decided', 'once']] as const;
  expect(await withLostReply(turn, '', decide, [[key, 'decided', '']])).toBe('written');
  expect(await withLostReply(turn, '', decide, [[key, 'decided', '']])).toBe('unmet');
  expect(await withLostReply(turn, 'calls:0', [['INCR', 'made']])).toBe('written');
  expect(await (await begun()).write('calls:0', [['INCR', 'made']])).toBe('repeated');
  expect(await redis.mget('cost', 'made')).toEqual(['1', '1']);
});

const permit = (...rules: string[]) => redis.acl('SETUSER', 'default', ...rules);

test.each<[string, RegExp, () => Promise<unknown>, () => Promise<unknown>]>([
  ['full', /OOM/, () => redis.config('SET', 'maxmemory', '1'), () => redis.config('SET', 'maxmemory', '0')],
  ['running no scripts', /NOPERM/, () => permit('-evalsha', '-eval'), () => permit('+@all')],
  ['refusing a command of the list', /can't run this command/, () => permit('-set'), () => permit('+@all')],
])('a write that a Redis rejects which is %s is made again, and all later ones', async (_, error, reject, mend) => {
  const turn = await begun();
  // What is rejected before it is sent fences nobody either.
  const many = Array.from({ length: 10_000 }, (_, at) => at);
  await expect(turn.write('many', [['RPUSH', 'list', ...many]])).rejects.toThrow(RangeError);
  const write = () => turn.write('first', [['SET', X, 1]]);
  try {
    await reject();
    await expect(write()).rejects.toThrow(error);
  } finally {
    await mend();
  }
  expect(await write()).toBe('written');
  for (const next of AFTERWARDS) await next(turn);
  expect(await redis.get(X)).toBe('1');
  expect(await settle(turn)).toEqual({ result: 'settled' });
});

test('a cancellation of a chat that is sent again does not cancel what came in between', async () => {
  const at = { redis: cut, shards: 1 };
  const done = proxy.cutReplyTo(keys.admitted(''));
  const late = cancelChat(at, CHAT, '');
  await done.then(() => proxy.refuse());
  const between = await accepted(2);
  proxy.forward();
  expect(await late).toMatchObject({ kind: 'cancelled' });
  const entries = await redis.xrange(keys.inbound, '-', '+');
  expect(entries.map(([, fields]) => fields.includes('cancels'))).toEqual([false, true, false]);
  expect(entries.at(-1)?.[0]).toBe(between);
});
