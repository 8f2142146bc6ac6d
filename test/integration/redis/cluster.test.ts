import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pause } from '../../../shared/base/lifecycle.ts';
import { BLOCK_MS } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf, shardOf } from '../../../shared/redis/keys.ts';
import type { OutcomeRecord } from '../../../shared/state/lane/record-streams.ts';
import { EN } from '../../../shared/texts/en.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { runCli } from '../../fixture/cli.ts';
import { type RedisCluster, startCluster } from '../../fixture/cluster.ts';
import { ALERT_CHAT, createWorld, type World } from '../../fixture/gateway.ts';
import { conversation, isSeeded } from '../../fixture/history.ts';
import { type GatewayProcess, spawnGateway } from '../../fixture/process.ts';
import type { ListeningRedis } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { deepTest, variants } from '../../fixture/variants.ts';

const SHARDS = 6;
const CHATS = Array.from({ length: 9 }, (_, index) => 1001 + index);
const CHAT = 1001;
/** Longer than the cluster takes to see that a node is gone, and than a worker waits for a job at a time. */
const OUTAGE_MS = BLOCK_MS + 2_000;

let cluster: RedisCluster;
let world: World;
let gateway: GatewayProcess | undefined;

beforeEach(async () => {
  cluster = await startCluster();
  world = await createWorld({
    claude: { windowTokens: 20_000, statedWindowTokens: 200_000 },
    env: { REDIS_URL: '', REDIS_CLUSTER_NODES: cluster.nodes, SHARDS: String(SHARDS) },
  });
  world.claude.react((call) =>
    call.kind === 'main' ? { do: 'answer', text: call.pendingText, afterMs: 50 } : undefined,
  );
});

afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  await Promise.all([world.close(), cluster.stop()]);
});

function keysOfChat(chat: number) {
  return keysOf(shardOf(chat, SHARDS));
}

function said(round: number): string {
  return `message ${round}`;
}

/** In each round every chat says something, so that all shards are busy. */
function sayRounds(from: number, upTo: number): void {
  for (let round = from; round <= upTo; round++) for (const chat of CHATS) world.telegram.say(chat, said(round));
}

async function outcomesOf(chat: number): Promise<OutcomeRecord[]> {
  const entries = await cluster.peek.xrange(keysOfChat(chat).outcomes, '-', '+');
  const records = entries.map(
    ([, fields]) => JSON.parse(fields[fields.indexOf('record') + 1] ?? '{}') as OutcomeRecord,
  );
  return records.filter((record) => record.chat === String(chat));
}

async function untilSettled(chats: readonly number[], messages: number): Promise<void> {
  for (const chat of chats) {
    const look = async () => (await outcomesOf(chat)).length >= messages || undefined;
    await until(`outcome ${messages} of chat ${chat}`, look);
  }
}

/** One outcome a message, in order; and each user saw each answer once, in order. */
async function expectAnswered(rounds: number): Promise<void> {
  await untilSettled(CHATS, rounds);
  const wanted = Array.from({ length: rounds }, (_, index) => said(index + 1));
  for (const chat of CHATS) {
    const outcomes = await outcomesOf(chat);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(wanted.map(() => 'answered'));
    expect(new Set(outcomes.map(({ entry }) => entry)).size).toBe(rounds);
    const shown = world.telegram.shown(chat).map(({ text }) => text);
    // What was sent when a server was lost may stand there twice.
    const texts = new Set(shown.map((text) => text.replace(EN.repeat, '').trim()));
    expect([...texts].filter((text) => text.startsWith('message'))).toEqual(wanted);
  }
  expect(world.claude.violations()).toEqual([]);
  const audit = await cli('audit', '--json');
  expect(JSON.parse(audit.stdout)).toMatchObject({
    proof: { accepted: rounds * CHATS.length, settled: rounds * CHATS.length, pending: 0, unaccounted: 0 },
  });
}

function cli(...args: string[]) {
  return runCli(args, world.env);
}

test('chats of all shards are answered in order, from several nodes', async () => {
  gateway = await spawnGateway(world);
  sayRounds(1, 3);
  await expectAnswered(3);
  const holders = await Promise.all(CHATS.map((chat) => cluster.holderOf(keysOfChat(chat).inbound)));
  expect(new Set(holders).size).toBe(3);
  const keys = await Promise.all(cluster.servers.map((server) => cluster.keysOn(server)));
  for (const [at, held] of keys.entries()) expect([at, held.length > 0]).toEqual([at, true]);
  const [line = '{}'] = gateway.log.filter((text) => text.includes('"msg":"running"'));
  const { healthPort } = JSON.parse(line) as { healthPort: number };
  expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200);
});

test('a master that takes no writes stops its own shards alone, and the operator is told which', async () => {
  gateway = await spawnGateway(world);
  sayRounds(1, 1);
  await expectAnswered(1);
  // Not that of shard 0, which holds what belongs to the whole installation.
  const first = await cluster.holderOf(keysOf(0).inbound);
  const holders = await Promise.all(CHATS.map((chat) => cluster.holderOf(keysOfChat(chat).inbound)));
  const refusing = holders.find((server) => server !== first) ?? first;
  const others = CHATS.filter((_, at) => holders[at] !== refusing);
  const shards = new Set(CHATS.filter((_, at) => holders[at] === refusing).map((chat) => shardOf(chat, SHARDS)));
  await cluster.configure(refusing, 'min-replicas-to-write', '1');
  sayRounds(2, 3);
  await untilSettled(others, 3);
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /takes no writes on \d of 6 shards/);
  for (const shard of shards) expect(text).toMatch(new RegExp(`\\(.*\\b${shard}\\b.*\\): it has too few replicas`));
  await cluster.configure(refusing, 'min-replicas-to-write', '0');
  await expectAnswered(3);
});

test('on a cluster both recovery stages run once, and the verbs check, session, dead and audit work', async () => {
  const keys = keysOfChat(CHAT);
  const old = await importSession(cluster.peek, keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));
  world.claude.react((call) =>
    call.pendingText === 'Go on, please' && !isSeeded(call) ? { do: 'overflow' } : undefined,
  );
  gateway = await spawnGateway(world);
  world.telegram.say(CHAT, 'Go on, please');
  await untilSettled([CHAT], 1);
  const [outcome] = await outcomesOf(CHAT);
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect((await world.telegram.waitForText(ALERT_CHAT, /rejects a conversation/)).text).toContain(old);
  const [check, show, exported, dead] = await Promise.all([
    cli('check'),
    cli('session', 'show', String(CHAT)),
    cli('session', 'export', String(CHAT)),
    cli('dead', 'list'),
  ]);
  expect(check).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/ok {5}redis: a cluster of 3 masters; master, takes writes/),
  });
  expect(show).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`Continues +${old}`)) });
  expect(exported).toMatchObject({ code: 0, stdout: expect.stringContaining('Go on, please') });
  expect(dead).toMatchObject({ code: 0, stdout: expect.stringMatching(/no dead letters|0 dead letters/i) });
});

/** A gateway in the middle of its work: some messages are answered, some are not. */
async function givenBusyGateway(): Promise<void> {
  gateway = await spawnGateway(world);
  sayRounds(1, 2);
  await world.claude.waitForCall((call) => call.index === 6);
}

async function killed(servers: readonly ListeningRedis[]): Promise<void> {
  for (const server of servers) server.kill9();
  await pause(OUTAGE_MS);
  await Promise.all(servers.map((server) => server.restart()));
}

/** What happens to the shard of a chat under load. */
variants<[string, (inbound: string) => Promise<unknown>]>([
  ['a master is killed and comes back', async (inbound) => killed([await cluster.holderOf(inbound)])],
  ['all servers are killed at once and come back', () => killed(cluster.servers)],
  [
    'a shard moves to another master while it works',
    async (inbound) => {
      const from = await cluster.holderOf(inbound);
      const to = cluster.servers.find((server) => server !== from) ?? from;
      const move = await cluster.beginMove(inbound, to);
      sayRounds(5, 5);
      await until('command that was put off', async () => (await cluster.putOff(from)) || undefined);
      await move();
      expect(await cluster.holderOf(inbound)).toBe(to);
    },
  ],
  [
    'a replica takes over by command',
    async (inbound) => {
      const replica = await cluster.addReplica(await cluster.holderOf(inbound));
      sayRounds(5, 5);
      await cluster.failOver(replica);
      await until('cluster that knows it', async () => (await cluster.holderOf(inbound)) === replica || undefined);
    },
  ],
])('%s: every message has one outcome, in order', async (what, happen) => {
  await givenBusyGateway();
  sayRounds(3, 4);
  await happen(keysOfChat(CHAT).inbound);
  await expectAnswered(/shard|replica/.test(what) ? 5 : 4);
});

deepTest(
  'a gateway that is asked to end while one master is away ends in seconds; another one answers what is left',
  async () => {
    await givenBusyGateway();
    const victim = await cluster.holderOf(keysOfChat(CHAT).inbound);
    victim.kill9();
    gateway?.kill('SIGTERM');
    expect(await gateway?.ended).toBe('0');
    await victim.restart();
    gateway = await spawnGateway(world);
    await expectAnswered(2);
  },
);
