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
import type { Env } from '../../../worker/env.ts';
import { createLane, type Lane } from '../../../worker/lane/lane.ts';
import { cancelChat } from '../../../worker/operator/chats.ts';
import type { TurnTime } from '../../../worker/turn/deadline.ts';
import { runTurn } from '../../../worker/turn/turn.ts';
import { type RedisProxy, startProxy } from '../../chaos/proxy.ts';
import { ALWAYS_THERE } from '../../fixture/breaker.ts';
import { eachWithRedis, keys, redis, server } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';

const CHAT = chatKey(1001);
const SESSION = 's-1' as SessionId;

let proxy: RedisProxy;
/** The line that is cut; `redis` is one past it. */
let cut: ReturnType<typeof connectRedis>;
let lane: Lane;

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
});

async function accepted(updateId: number, chatId = 1001): Promise<EntryId> {
  return (await createInbox(redis, 1).accept(7, inboundText(updateId, chatId), '00-a-b-01')).entry;
}

async function begun(entry: EntryId, of: Lane = lane, chat: ChatKey = CHAT): Promise<Turn> {
  const result = await of.begin(entry, chat, SESSION);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

/** Calls a script once, so that it is known by its hash; then calls it while its reply is lost. Answers the second reply. */
async function withLostReply<T>(script: string, first: () => Promise<unknown>, call: () => Promise<T>): Promise<T> {
  await first();
  const source = readScript(
    join(
      PROJECT_ROOT,
      script === 'begin' || script === 'write' ? 'shared/state/turn' : 'shared/state/lane',
      `${script}.lua`,
    ),
  );
  const done = proxy.cutReplyTo(createHash('sha1').update(source).digest('hex'));
  const reply = await call();
  await done;
  return reply;
}

test('an admission whose response is lost returns its heads when it is resent', async () => {
  const entries = [await accepted(1, 1001), await accepted(2, 1002)];
  const reply = await withLostReply(
    'admit',
    () => lane.admit(1),
    () => lane.admit(1),
  );
  expect(reply).toMatchObject({
    read: 1,
    newest: entries[1],
    heads: [{ entry: entries[1], chat: '1002' }],
    broken: [],
  });
  expect(await lane.admit(1)).toMatchObject({ read: 0, heads: [], newest: entries[1] });
  expect(await redis.ttl((await redis.keys(keys.admitted('*')))[0] ?? '')).toBeGreaterThan(0);
});

test('an attempt whose start is resent counts as one attempt and no crash', async () => {
  const [other, entry] = [await accepted(1, 1002), await accepted(2)];
  await lane.admit(2);
  const turn = await withLostReply(
    'begin',
    () => begun(other, lane, chatKey(1002)),
    () => begun(entry),
  );
  expect(turn.attempts).toBe(1);
  expect(await redis.hget(keys.turn(entry), 'crashesInRow')).toBeNull();
  expect(await turn.write('step', [['SET', 'by', 'it']])).toBe('written');
});

test.each([1, 3])('an attempt whose start is resent after %i others took over is fenced', async (others) => {
  const [other, entry] = [await accepted(1, 1002), await accepted(2)];
  await lane.admit(2);
  await begun(other, lane, chatKey(1002));
  const source = readScript(join(PROJECT_ROOT, 'shared', 'state', 'turn', 'begin.lua'));
  const done = proxy.cutReplyTo(createHash('sha1').update(source).digest('hex'));
  const late = lane.begin(entry, CHAT, SESSION);
  await done.then(() => proxy.refuse());
  for (let before = 1; before < others; before++) await begun(entry, createLane(redis, keys));
  const heir = await begun(entry, createLane(redis, keys));
  proxy.forward();
  expect(await late).toEqual({ kind: 'fenced' });
  expect(await heir.write('step', [['SET', 'by', 'heir']])).toBe('written');
  expect(heir.attempts).toBe(others + 1);
  expect(await redis.hmget(keys.turn(entry), 'crashesInRow', 'attempts')).toEqual([String(others), String(others + 1)]);
});

/** The reply to a write whose first reply is lost. */
const withLostWrite = (turn: Turn, ...write: Parameters<Turn['write']>) =>
  withLostReply(
    'write',
    () => turn.write('before', []),
    () => turn.write(...write),
  );

test('a step whose reply is lost is written, and was not written before: what follows it is done', async () => {
  const entry = await accepted(1);
  await lane.admit(1);
  const turn = await begun(entry);
  expect(await withLostWrite(turn, 'calls:0', [['INCR', 'made']])).toBe('written');
  expect(await turn.write('calls:0', [['INCR', 'made']])).toBe('repeated');
  expect(await (await begun(entry)).write('calls:0', [['INCR', 'made']])).toBe('repeated');
  expect(await redis.get('made')).toBe('1');
});

test('a write whose reply is lost is made once, and comes to the same when it is sent again', async () => {
  const entry = await accepted(1);
  await lane.admit(1);
  const turn = await begun(entry);
  const key = keys.turn(entry);
  expect(await withLostWrite(turn, '', [['INCR', 'cost']])).toBe('written');
  expect(await redis.get('cost')).toBe('1');
  const decide = [['HSET', key, 'decided', 'once']] as const;
  expect(await withLostWrite(turn, '', decide, [[key, 'decided', '']])).toBe('written');
  expect(await withLostWrite(turn, '', decide, [[key, 'decided', '']])).toBe('unmet');
  expect(await withLostWrite(turn, 'before', [['INCR', 'cost']])).toBe('repeated');
  expect(await redis.get('cost')).toBe('1');
});

test('an attempt that Redis has lost writes nothing into the turn of the next one', async () => {
  const entry = await accepted(1);
  await lane.admit(1);
  const forgotten = await begun(entry);
  // What a replica that was behind makes of it when it takes over.
  await redis.del(keys.turn(entry));
  const heir = await begun(entry);
  expect(await heir.write('conclusion', [['SET', 'answer', 'of the heir']])).toBe('written');
  await expect(forgotten.write('conclusion', [['SET', 'answer', 'another']])).rejects.toThrow(FencedError);
  expect(await redis.get('answer')).toBe('of the heir');
});

test('an attempt that meets a stored conclusion sends nothing, and the next one delivers that conclusion', async () => {
  const entry = String(await redis.xadd(keys.inbound, '*', 'chat', CHAT, 'message', '{"v":1}')) as EntryId;
  await lane.admit(1);
  const sent: string[] = [];
  const telegram = {
    sendMessage: async (_to: unknown, text: string) => {
      sent.push(text);
      return { ok: true, value: { messageId: 1 } };
    },
    sendTyping: async () => ({ ok: true }),
  };
  const telemetry = { span: (_name: string, _attributes: unknown, work: () => unknown) => work(), count: () => {} };
  const env = {
    ...{ telegram, breaker: ALWAYS_THERE, lane, telemetry, reach: () => {} },
    settings: { MODEL: 'm', MODELS: [], serverTools: [] },
    features: [],
    selfEntered: new Map(),
    progress: { isLeft: () => false },
  } as unknown as Env;
  const turn = await begun(entry);
  const stored = { outcome: 'answered', parts: ['the stored answer'] };
  await redis.hset(keys.turn(entry), 'did:conclusion', 1, 'conclusion', JSON.stringify(stored));
  const { signal } = new AbortController();
  const slot = { release: () => {}, tryReacquire: async () => true, end: () => {} };
  const time = { signal, leaving: signal, slot } as Partial<TurnTime> as TurnTime;
  expect(await runTurn(turn.withEnv(env), time)).toEqual({ kind: 'again' });
  expect(sent).toEqual([]);
  expect(await runTurn((await begun(entry)).withEnv(env), time)).toMatchObject({ kind: 'settle', conclusion: stored });
  expect(sent).toEqual(['the stored answer']);
});

test('a cancellation of a chat that is sent again does not cancel what came in between', async () => {
  await accepted(1);
  await lane.admit(1);
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
