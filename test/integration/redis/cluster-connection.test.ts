import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { connectRedis, isReadyFor, type RedisClient, untilReady } from '../../../shared/redis/connection.ts';
import { type ChatKey, chatKey, type EntryId, keysOf, type SessionId } from '../../../shared/redis/keys.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { createBudget } from '../../../shared/state/spending/budget.ts';
import type { Limit } from '../../../shared/state/spending/limit.ts';
import { groupPlaces } from '../../../shared/state/telegram/group-places.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { createLane, type Lane } from '../../../worker/lane/lane.ts';
import { createSnapshotReader } from '../../../worker/watch/snapshot.ts';
import { type RedisCluster, startCluster } from '../../fixture/cluster.ts';
import type { ListeningRedis } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';

const CHAT = chatKey(1001);
const OTHER = 1002;
const NEW = 1003;
const KEYS = keysOf(0);
const keyOfStep = `${KEYS.lanePrefix}step`;
const READY_MS = 10_000;
const CHAT_TOKENS: Limit = { setting: 'CHAT_DAILY_TOKENS', whose: 'chat', period: 'day', unit: 'tokens', max: 100 };
const tokens = { usd: 0, tokens: 60 };
const SIXTY = { least: tokens, most: tokens, certain: tokens };

let cluster: RedisCluster;
let holder: ListeningRedis;
let opened: RedisClient[];

beforeEach(async () => {
  opened = [];
  cluster = await startCluster();
  holder = await cluster.holderOf(KEYS.inbound);
});

afterEach(async () => {
  for (const redis of opened) redis.disconnect();
  await cluster.stop();
});

async function accepted(updateId: number, chatId = 1001): Promise<EntryId> {
  const message = { v: 1, updateId, chatId, chatType: 'private', messageId: updateId, sentAtMs: 1 } as const;
  const content = { kind: 'text', text: `message ${updateId}` } as const;
  const { entry } = await createInbox(cluster.peek, 1).accept(
    7,
    { ...message, from: { id: chatId }, content },
    '00-a-b-01',
  );
  return entry;
}

async function begunOf(lane: Lane, entry: EntryId, chat: ChatKey): Promise<Turn> {
  const begun = await lane.begin(entry, chat, `s-${chat}` as SessionId);
  if (begun.kind !== 'begun') throw new Error(`not begun but ${begun.kind}`);
  return begun.turn;
}

function connect(use: 'patient' | 'impatient', urls = cluster.servers.map(({ url }) => url)): RedisClient {
  const redis = connectRedis(urls, use);
  opened.push(redis);
  return redis;
}

test('while a master is unreachable a patient command waits for it, and an impatient one fails at once', async () => {
  const [patient, impatient] = [connect('patient'), connect('impatient')];
  await Promise.all([patient, impatient].map((redis) => untilReady(redis, READY_MS)));
  await patient.set(KEYS.incidents, 'kept');
  expect(await impatient.get(KEYS.incidents)).toBe('kept');
  expect(isReadyFor(patient, KEYS.incidents)).toBe(true);
  holder.kill9();
  const waiting = patient.get(KEYS.incidents);
  await expect(impatient.get(KEYS.incidents)).rejects.toThrow(/Connection is closed|CLUSTERDOWN/);
  await until('connection that knows of the loss', () => !isReadyFor(patient, KEYS.incidents) || undefined);
  await holder.restart();
  expect(await waiting).toBe('kept');
  expect(isReadyFor(patient, KEYS.incidents)).toBe(true);
  await until('impatient answer', () => impatient.get(KEYS.incidents).catch(() => undefined));
});

test('a cluster with a master down is not ready, and the error names REDIS_CLUSTER_NODES', async () => {
  holder.kill9();
  await until('loss that the others know of', async () => (await cluster.isDown()) || undefined);
  await expect(untilReady(connect('patient'), 500)).rejects.toThrow(/REDIS_CLUSTER_NODES/);
});

test('one reachable node is enough to find the others, and the password is used for each of them', async () => {
  for (const server of cluster.servers) await cluster.configure(server, 'requirepass', 'p,ss w@rd');
  const [first] = cluster.servers;
  const at = (port: number) => `redis://:${encodeURIComponent('p,ss w@rd')}@127.0.0.1:${port}`;
  const redis = connect('patient', [at(1), at(first?.port ?? 0)]);
  await untilReady(redis, READY_MS);
  for (let shard = 0; shard < 6; shard++) await redis.set(keysOf(shard).incidents, shard);
  expect(await redis.get(keysOf(5).incidents)).toBe('5');
});

test('places in groups are counted on every master, and the loss of one stops no group', async () => {
  const redis = connect('impatient');
  await untilReady(redis, READY_MS);
  const ask = groupPlaces(redis, 6, { limit: 1, interval: 60_000 }, createLogger('silent'));
  const groups = Array.from({ length: 12 }, (_, at) => -1001 - at);
  const letThrough = async () => (await Promise.all(groups.map(ask))).filter((waitMs) => waitMs === 0).length;
  // Until it is connected to each of them.
  await until('count on every master', async () => (await letThrough()) === 0 || undefined);
  holder.kill9();
  await until('group that is let through', async () => (await letThrough()) > 0 || undefined);
  expect(await letThrough()).toBeLessThan(groups.length);
});

test('the snapshot reports the memory of the fullest master', async () => {
  const limits = [400_000_000, 20_000_000, 800_000_000];
  for (const [at, server] of cluster.servers.entries())
    await cluster.configure(server, 'maxmemory', String(limits[at]));
  const readSnapshot = createSnapshotReader(cluster.peek, 3, 60_000);
  const { redis } = await readSnapshot({ nowMs: Date.now(), open: new Set() });
  expect(redis.maxBytes).toBe(20_000_000);
  expect(redis.usedBytes).toBeGreaterThan(0);
});

test('a script that uses undeclared keys waits as a whole while its shard moves, and then runs once', async () => {
  const lane = createLane(cluster.peek, KEYS);
  await lane.prepare();
  const [writer, starter] = [await accepted(1), await accepted(2, OTHER)];
  await lane.admit(100);
  const turn = await begunOf(lane, writer, CHAT);
  await begunOf(lane, starter, chatKey(OTHER));
  await cluster.peek.zadd(KEYS.poisonCandidates, 1, starter);
  const newcomer = await accepted(3, NEW);
  const to = cluster.servers.find((server) => server !== holder) ?? holder;
  const move = await cluster.beginMove(KEYS.inbound, to);
  const budget = createBudget(cluster.peek, () => [CHAT_TOKENS]);
  const putOff = Promise.all([
    lane.admit(100),
    turn.write('step', [['INCR', keyOfStep]]),
    begunOf(lane, starter, chatKey(OTHER)),
    budget.reserve({ chat: CHAT }, SIXTY),
  ]);
  await until('command that was put off', async () => (await cluster.putOff(holder)) || undefined);
  await move();
  const [admitted, written, begun] = await putOff;
  expect(admitted).toMatchObject({ read: 1, heads: [{ entry: newcomer }] });
  expect([written, await cluster.peek.get(keyOfStep)]).toEqual(['written', '1']);
  expect(begun.attempts).toBe(2);
  expect(await budget.reserve({ chat: CHAT }, SIXTY)).toBe('held by others');
});
