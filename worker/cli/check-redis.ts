import { lookForOwnServer, provideOwnRedis } from '../../shared/app/find-redis.ts';
import type { Config } from '../../shared/base/config.ts';
import { within } from '../../shared/base/lifecycle.ts';
import { type RedisAddress, redisAddressOf } from '../../shared/base/redis-address.ts';
import { REDIS_SETTINGS, type RedisSetting } from '../../shared/base/redis-settings.ts';
import { counted } from '../../shared/base/text.ts';
import { connectRedis, type RedisClient, serversOf, untilReady } from '../../shared/redis/connection.ts';
import { readKeeping, shardsProblem, wordsOf } from '../../shared/redis/keeping.ts';
import { readAllowed } from '../../shared/state/chat/allowed.ts';
import { findRefusedWrites, serverTimeMs } from '../../shared/state/process/process.ts';
import { countWorkers } from '../../shared/state/process/workers.ts';
import { alertsCheck, providerCheck, redisCheck, telegramCheck } from '../watch/readiness.ts';
import { createSnapshotReader } from '../watch/snapshot.ts';
import { advised, type Finding, failed, fine } from './terminal.ts';

const REDIS_DEADLINE_MS = 5_000;

/** The Redis of a check. */
export interface ReachedRedis {
  /** Absent where there is none yet. */
  address?: RedisAddress;
  ok: boolean;
  /** A description of the server before it is asked anything. */
  words: string;
  /** Ends a server that was started for the check. */
  stop(): Promise<void>;
}

/** Finds the Redis that a start would use. A private one that has data and does not run is started for the check. */
export async function reachRedis(config: Config): Promise<ReachedRedis> {
  const stop = async () => undefined;
  const address = redisAddressOf(config);
  if (address !== undefined) return { ok: true, address, words: '', stop };
  const found = await lookForOwnServer();
  if (!found.ok) return { ok: false, words: found.problem, stop };
  const { pid, command, hasData } = found;
  if (pid === undefined && !hasData) return { ok: true, words: `a private server will be started (${command})`, stop };
  const words =
    pid === undefined ? 'a private server, started for this check' : `a private server runs (process ${pid})`;
  const provided = await provideOwnRedis(config);
  if (!provided.ok) return { ok: false, words: provided.problem, stop };
  return { ok: true, address: provided.url, words: `${words}; `, stop: () => provided.stop() };
}

/** Checks Redis, and reports what a running gateway has recorded in it. */
export async function checkRedis(config: Config, reached: ReachedRedis): Promise<Finding[]> {
  const { ok, words } = reached;
  const findings = askRedis(reached, async (redis) => {
    const { refusal, risks } = await readKeeping(redis, config.REDIS_ACCEPT);
    const problem =
      refusal ?? (await shardsProblem(redis, config.SHARDS)) ?? (await writeProblem(redis, config.SHARDS));
    if (problem !== undefined) return [failed('redis', problem)];
    const [redisItself, ...others] = await noted(redis, config);
    const advice = risks.map((risk) => advised('redis', wordsOf(risk)));
    const told = redisItself ? [{ ...redisItself, detail: `${words}${redisItself.detail}` }] : [];
    return [...told, ...advice, await checkSettings(redis), ...others];
  });
  return (
    (await findings.catch((error: Error) => [failed('redis', error.message)])) ?? [{ part: 'redis', ok, detail: words }]
  );
}

/** Asks the Redis of a check, if there is one yet. Rejects when it cannot be reached. */
export async function askRedis<T>(
  { address }: { address?: RedisAddress | undefined },
  work: (redis: RedisClient) => Promise<T>,
): Promise<T | undefined> {
  if (address === undefined) return undefined;
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** A server can answer and still refuse writes: a replica, a full one, one without a disk. */
async function writeProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const answer = findRefusedWrites(redis, shards).then((refused) => refused?.message ?? 'none');
  const said = await within(answer, REDIS_DEADLINE_MS);
  return said === 'none' ? undefined : `answers, but takes no writes: ${said ?? 'a write got no answer'}`;
}

async function noted(redis: RedisClient, config: Config): Promise<Finding[]> {
  const nowMs = await serverTimeMs(redis);
  const read = createSnapshotReader(redis, config.SHARDS, config.UNANSWERED_ALERT_MS);
  const now = await read({ nowMs, open: new Set() });
  const workers = await countWorkers(redis, nowMs);
  const added = (await readAllowed(redis)).map(({ chat }) => chat);
  const waiting = now.shards.reduce((sum, { unanswered }) => sum + unanswered, 0);
  const finding = (part: string, { ready, isDegraded, detail = '' }: ReturnType<typeof redisCheck>): Finding => ({
    part,
    ok: ready && isDegraded !== true,
    detail,
  });
  const masters = serversOf(redis).length;
  const { detail = '', ...state } = redisCheck(now, undefined);
  const whole = masters === 1 ? detail : `a cluster of ${masters} masters; ${detail}`;
  const worked =
    workers === 0
      ? 'none runs now'
      : `${counted(workers, 'process', 'processes')}; ${counted(waiting, 'message')} waiting`;
  return [
    finding('redis', { ...state, detail: whole }),
    fine('worker', worked),
    ...(added.length === 0 ? [] : [fine('allowed ids', `${added.join(', ')} besides TELEGRAM_ALLOWED_IDS`)]),
    ...(workers === 0
      ? []
      : [
          finding("gateway's calls of the model", providerCheck(now)),
          finding("gateway's polls", telegramCheck(now)),
          finding("gateway's alerts", alertsCheck(now)),
        ]),
  ];
}

type Server = ReturnType<typeof serversOf>[number];

/**
 * Compares the settings of every server with the recommended ones. What differs is advice: somebody may have reasons. A
 * server that does not tell its settings, as many managed ones, is advised as well.
 *
 * Contract: rejects when Redis cannot be reached.
 */
async function checkSettings(redis: RedisClient): Promise<Finding> {
  const servers = serversOf(redis);
  const isCluster = servers.length > 1 || /cluster_enabled:1/.test((await servers[0]?.info('cluster')) ?? '');
  const said = (await Promise.all(servers.map((server) => differences(server, isCluster)))).flat();
  const part = 'redis settings';
  if (said.length === 0) return { part, ok: true, detail: 'as recommended' };
  return { part, ok: true, isAdvice: true, detail: [...new Set(said)].join('; ') };
}

/** The settings of a server that differ, each with its risk and its cure. */
async function differences(server: Server, isCluster: boolean): Promise<string[]> {
  const hasReplicas = /connected_slaves:[1-9]/.test(await server.info('replication'));
  const wanted = REDIS_SETTINGS.filter(({ of }) => of === 'all' || (of === 'cluster' ? isCluster : hasReplicas));
  const found = await Promise.all(wanted.map(({ name }) => settingOf(server, name)));
  const told = wanted.filter((_, at) => found[at] === undefined).map(({ name, value }) => `${name} ${value}`);
  return [
    ...wanted.flatMap((setting, at) => differenceOf(setting, found[at])),
    ...(told.length === 0 ? [] : [`the server does not tell some settings; make sure that it has ${told.join(', ')}`]),
  ];
}

function differenceOf({ name, value, isMet, risk }: RedisSetting, found: string | undefined): string[] {
  if (found === undefined || isMet(found)) return [];
  return [`${name} is ${found}: ${risk}; CONFIG SET ${name} ${value}, and put it into redis.conf`];
}

/** `undefined` where the server does not know the setting, or keeps it to itself. */
async function settingOf(server: Server, name: string): Promise<string | undefined> {
  const reply = (await server.config('GET', name).catch(() => [])) as string[];
  return reply[1];
}
