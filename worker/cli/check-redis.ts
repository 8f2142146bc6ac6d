import { lookForOwnServer, provideOwnRedis } from '../../shared/app/find-redis.ts';
import { within } from '../../shared/base/lifecycle.ts';
import { type RedisAddress, redisAddressOf } from '../../shared/base/redis-address.ts';
import { REDIS_SETTINGS } from '../../shared/base/redis-settings.ts';
import type { Settings } from '../../shared/base/settings.ts';
import { counted } from '../../shared/base/text.ts';
import { connectRedis, type RedisClient, serversOf, untilReady } from '../../shared/redis/connection.ts';
import { readKeeping, shardsProblem, wordsOf } from '../../shared/redis/keeping.ts';
import { readAllowed } from '../../shared/state/chat/allowed-people.ts';
import { findRefusedWrites, serverTimeMs } from '../../shared/state/process/process.ts';
import { countWorkers } from '../../shared/state/process/workers.ts';
import { stateOf } from '../report/words.ts';
import { alertsCheck, providerCheck, redisCheck, telegramCheck } from '../watch/readiness.ts';
import { createSnapshotReader, sum } from '../watch/snapshot.ts';
import { advised, type Finding, failed, fine, type Ground, type ReachedRedis } from './finding.ts';

const REDIS_DEADLINE_MS = 5_000;

/**
 * Finds the Redis that a start would use. A private one that has data and does not run is started for the check. `stop` ends
 * the connection, and a server that was started.
 */
export async function reachRedis(settings: Settings): Promise<{ reached: ReachedRedis; stop: () => Promise<void> }> {
  const address = redisAddressOf(settings);
  if (address !== undefined) return connect(address, '', async () => undefined);
  const without = (finding: Finding) => ({ reached: { finding }, stop: async () => undefined });
  const found = await lookForOwnServer();
  if (!found.ok) return without(failed('redis', found.problem));
  const { pid, command, hasData } = found;
  if (pid === undefined && !hasData) return without(fine('redis', `a private server will be started (${command})`));
  const provided = await provideOwnRedis(settings);
  if (!provided.ok) return without(failed('redis', provided.problem));
  const words =
    pid === undefined ? 'a private server, started for this check' : `a private server runs (process ${pid})`;
  return connect(provided.url, `${words}; `, () => provided.stop());
}

async function connect(address: RedisAddress, words: string, stopServer: () => Promise<void>) {
  const client = connectRedis(address, 'patient');
  const stop = async () => {
    client.disconnect();
    await stopServer();
  };
  const problem = await untilReady(client, REDIS_DEADLINE_MS).catch((error: Error) => error.message);
  const reached = problem === undefined ? { client, words } : { finding: failed('redis', problem) };
  return { reached, stop };
}

/** Works on the Redis at an address. Rejects when it cannot be reached. */
export async function askRedis<T>(address: RedisAddress, work: (redis: RedisClient) => Promise<T>): Promise<T> {
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Checks Redis, and reports what a running gateway has recorded in it. */
export async function checkRedis({ settings, redis: reached }: Ground): Promise<Finding[]> {
  if (reached.client === undefined) return [reached.finding];
  const { client: redis, words } = reached;
  try {
    const { SHARDS, REDIS_ACCEPT } = settings;
    const { refusal, risks } = await readKeeping(redis, REDIS_ACCEPT);
    const wrong = refusal ?? (await shardsProblem(redis, SHARDS)) ?? (await writeProblem(redis, SHARDS));
    if (wrong !== undefined) return [failed('redis', wrong)];
    const [server, ...others] = await recordedIn(redis, settings, words);
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

async function recordedIn(
  redis: RedisClient,
  { SHARDS, UNANSWERED_ALERT_MS }: Settings,
  words: string,
): Promise<Finding[]> {
  const nowMs = await serverTimeMs(redis);
  const now = await createSnapshotReader(redis, SHARDS, UNANSWERED_ALERT_MS)({ nowMs, open: new Set() });
  const workers = await countWorkers(redis, nowMs);
  const allowed = (await readAllowed(redis)).map(({ chat }) => chat);
  const waiting = sum(now.shards, ({ unanswered }) => unanswered);
  const masters = serversOf(redis).length;
  const running = `${counted(workers, 'process', 'processes')}; ${counted(waiting, 'message')} waiting`;
  const ofGateway = [
    finding("gateway's calls of the model", providerCheck(now)),
    finding("gateway's polls", telegramCheck(now)),
    finding("gateway's alerts", alertsCheck(now)),
  ];
  return [
    finding('redis', redisCheck(now, undefined), `${words}${masters === 1 ? '' : `a cluster of ${masters} masters; `}`),
    fine('worker', workers === 0 ? 'none runs now' : running),
    ...(allowed.length === 0 ? [] : [fine('allowed ids', `${allowed.join(', ')} besides TELEGRAM_ALLOWED_IDS`)]),
    ...(workers === 0 ? [] : ofGateway),
  ];
}

function finding(part: string, check: Parameters<typeof stateOf>[0], before = ''): Finding {
  const { isWell, detail } = stateOf(check);
  return { part, ok: isWell, detail: `${before}${detail}` };
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
