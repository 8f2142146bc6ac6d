import { lookForOwnServer, provideOwnRedis } from '../../shared/app/find-redis.ts';
import type { Config } from '../../shared/base/config.ts';
import { within } from '../../shared/base/lifecycle.ts';
import { type RedisAddress, redisAddressOf } from '../../shared/base/redis-address.ts';
import { REDIS_SETTINGS } from '../../shared/base/redis-settings.ts';
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
  /** Absent where there is none yet, or it cannot be used. */
  redis?: RedisClient;
  problem?: string;
  /** A description of the server before it is asked anything. */
  words: string;
  /** Ends the connection, and a server that was started for the check. */
  stop(): Promise<void>;
}

/** Finds the Redis that a start would use. A private one that has data and does not run is started for the check. */
export async function reachRedis(config: Config): Promise<ReachedRedis> {
  const stop = async () => undefined;
  const address = redisAddressOf(config);
  if (address !== undefined) return connected(address, '', stop);
  const found = await lookForOwnServer();
  if (!found.ok) return { problem: found.problem, words: '', stop };
  const { pid, command, hasData } = found;
  if (pid === undefined && !hasData) return { words: `a private server will be started (${command})`, stop };
  const words =
    pid === undefined ? 'a private server, started for this check' : `a private server runs (process ${pid})`;
  const provided = await provideOwnRedis(config);
  if (!provided.ok) return { problem: provided.problem, words, stop };
  return connected(provided.url, `${words}; `, () => provided.stop());
}

async function connected(address: RedisAddress, words: string, stopServer: () => Promise<void>): Promise<ReachedRedis> {
  const redis = connectRedis(address, 'patient');
  const stop = async () => {
    redis.disconnect();
    await stopServer();
  };
  return untilReady(redis, REDIS_DEADLINE_MS).then(
    () => ({ redis, words, stop }),
    (error: Error) => ({ problem: error.message, words, stop }),
  );
}

/** Asks a Redis, if there is an address of one. Rejects when it cannot be reached. */
export async function askRedis<T>(
  { address }: { address?: RedisAddress | undefined },
  work: (redis: RedisClient) => Promise<T>,
): Promise<T | undefined> {
  if (address === undefined) return undefined;
  const { redis, problem, stop } = await connected(address, '', async () => undefined);
  try {
    if (redis === undefined) throw new Error(problem);
    return await work(redis);
  } finally {
    await stop();
  }
}

/** Checks Redis, and reports what a running gateway has recorded in it. */
export async function checkRedis(config: Config, { redis, problem, words }: ReachedRedis): Promise<Finding[]> {
  if (problem !== undefined) return [failed('redis', problem)];
  if (redis === undefined) return [fine('redis', words)];
  try {
    const { refusal, risks } = await readKeeping(redis, config.REDIS_ACCEPT);
    const wrong = refusal ?? (await shardsProblem(redis, config.SHARDS)) ?? (await writeProblem(redis, config.SHARDS));
    if (wrong !== undefined) return [failed('redis', wrong)];
    const [server, ...others] = await recordedIn(redis, config, words);
    const advice = risks.map((risk) => advised('redis', wordsOf(risk)));
    return [...(server ? [server] : []), ...advice, await checkSettings(redis), ...others];
  } catch (error) {
    return [failed('redis', (error as Error).message)];
  }
}

/** A server can answer and still refuse writes: a replica, a full one, one without a disk. */
async function writeProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const answer = findRefusedWrites(redis, shards).then((refused) => refused?.message ?? 'none');
  const refusal = await within(answer, REDIS_DEADLINE_MS);
  return refusal === 'none' ? undefined : `answers, but takes no writes: ${refusal ?? 'a write got no answer'}`;
}

async function recordedIn(redis: RedisClient, config: Config, words: string): Promise<Finding[]> {
  const nowMs = await serverTimeMs(redis);
  const now = await createSnapshotReader(redis, config.SHARDS, config.UNANSWERED_ALERT_MS)({ nowMs, open: new Set() });
  const workers = await countWorkers(redis, nowMs);
  const allowed = (await readAllowed(redis)).map(({ chat }) => chat);
  const waiting = now.shards.reduce((sum, { unanswered }) => sum + unanswered, 0);
  const masters = serversOf(redis).length;
  const finding = (part: string, { ready, isDegraded, detail = '' }: ReturnType<typeof redisCheck>, before = '') => ({
    part,
    ok: ready && isDegraded !== true,
    detail: `${before}${detail}`,
  });
  const running = `${counted(workers, 'process', 'processes')}; ${counted(waiting, 'message')} waiting`;
  return [
    finding('redis', redisCheck(now, undefined), `${words}${masters === 1 ? '' : `a cluster of ${masters} masters; `}`),
    fine('worker', workers === 0 ? 'none runs now' : running),
    ...(allowed.length === 0 ? [] : [fine('allowed ids', `${allowed.join(', ')} besides TELEGRAM_ALLOWED_IDS`)]),
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

/** Compares the settings of every server with the recommended ones. What differs is advice: somebody may have reasons. */
async function checkSettings(redis: RedisClient): Promise<Finding> {
  const servers = serversOf(redis);
  const isCluster = servers.length > 1 || /cluster_enabled:1/.test((await servers[0]?.info('cluster')) ?? '');
  const advice = (await Promise.all(servers.map((server) => differences(server, isCluster)))).flat();
  if (advice.length === 0) return fine('redis settings', 'as recommended');
  return advised('redis settings', [...new Set(advice)].join('; '));
}

/** The settings of a server that differ, each with its risk and its cure, and those that it keeps to itself. */
async function differences(server: Server, isCluster: boolean): Promise<string[]> {
  const hasReplicas = /connected_slaves:[1-9]/.test(await server.info('replication'));
  const different: string[] = [];
  const hidden: string[] = [];
  for (const { name, value, of, isMet, risk } of REDIS_SETTINGS) {
    if (!(of === 'all' || (of === 'cluster' ? isCluster : hasReplicas))) continue;
    const [, found] = (await server.config('GET', name).catch(() => [])) as string[];
    if (found === undefined) hidden.push(`${name} ${value}`);
    else if (!isMet(found))
      different.push(`${name} is ${found}: ${risk}; CONFIG SET ${name} ${value}, and put it into redis.conf`);
  }
  if (hidden.length === 0) return different;
  return [...different, `the server does not tell some settings; make sure that it has ${hidden.join(', ')}`];
}
