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
import { type CheckContext, type Finding, failed, passed, type RedisToCheck, withAdvice } from './finding.ts';

const REDIS_DEADLINE_MS = 5_000;

/**
 * Connects to the Redis that a start would use, or returns the finding that says why there is no connection. Starts the private
 * server if it has data and does not run. `stop` ends the connection, and a private server that nobody else uses.
 */
export async function openRedis(settings: Settings): Promise<{ redis: RedisToCheck; stop: () => Promise<void> }> {
  const address = redisAddressOf(settings);
  if (address !== undefined) return connect(address, '', async () => undefined);
  const without = (finding: Finding) => ({ redis: { finding }, stop: async () => undefined });
  const actual = await lookForOwnServer();
  if (!actual.ok) return without(failed('redis', actual.problem));
  const { pid, command, hasData } = actual;
  if (pid === undefined && !hasData) return without(passed('redis', `a private server will be started (${command})`));
  const server = await provideOwnRedis(settings);
  if (!server.ok) return without(failed('redis', server.problem));
  const description =
    pid === undefined ? 'a private server, started for this check' : `a private server runs (process ${pid})`;
  return connect(server.url, `${description}; `, () => server.stop());
}

async function connect(address: RedisAddress, description: string, stopServer: () => Promise<void>) {
  const client = connectRedis(address, 'patient');
  const stop = async () => {
    client.disconnect();
    await stopServer();
  };
  const problem = await untilReady(client, REDIS_DEADLINE_MS).catch((error: Error) => error.message);
  const redis = problem === undefined ? { client, description } : { finding: failed('redis', problem) };
  return { redis, stop };
}

/** Runs work on the Redis at an address. Rejects when this Redis cannot be reached. */
export async function askRedis<T>(address: RedisAddress, work: (redis: RedisClient) => Promise<T>): Promise<T> {
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, REDIS_DEADLINE_MS);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Checks Redis, and reports the state that a running gateway has stored there. */
export async function checkRedis({ settings, redis: connection }: CheckContext): Promise<Finding[]> {
  if (connection.client === undefined) return [connection.finding];
  const { client: redis, description } = connection;
  try {
    const { SHARDS, REDIS_ACCEPT } = settings;
    const { refusal, risks } = await readKeeping(redis, REDIS_ACCEPT);
    const problem = refusal ?? (await shardsProblem(redis, SHARDS)) ?? (await writeProblem(redis, SHARDS));
    if (problem !== undefined) return [failed('redis', problem)];
    const [server, ...others] = await gatewayFindings(redis, settings, description);
    const advice = risks.map((risk) => withAdvice('redis', wordsOf(risk)));
    return [...(server ? [server] : []), ...advice, await checkSettings(redis), ...others];
  } catch (error) {
    return [failed('redis', (error as Error).message)];
  }
}

/** The problem with a Redis that refuses writes, such as a replica or a full Redis; `undefined` if it takes writes. */
async function writeProblem(redis: RedisClient, shards: number): Promise<string | undefined> {
  const answer = findRefusedWrites(redis, shards).then((error) => error?.message ?? 'none');
  const refusal = await within(answer, REDIS_DEADLINE_MS);
  return refusal === 'none' ? undefined : `answers, but takes no writes: ${refusal ?? 'a write got no answer'}`;
}

/** Findings about Redis and about the running gateway. */
async function gatewayFindings(
  redis: RedisClient,
  { SHARDS, UNANSWERED_ALERT_MS }: Settings,
  description: string,
): Promise<Finding[]> {
  const nowMs = await serverTimeMs(redis);
  const now = await createSnapshotReader(redis, SHARDS, UNANSWERED_ALERT_MS)({ nowMs, open: new Set() });
  const workers = await countWorkers(redis, nowMs);
  const allowed = (await readAllowed(redis)).map(({ chat }) => chat);
  const waiting = sum(now.shards, ({ unanswered }) => unanswered);
  const masters = serversOf(redis).length;
  const cluster = masters === 1 ? '' : `a cluster of ${masters} masters; `;
  const running = `${counted(workers, 'process', 'processes')}; ${counted(waiting, 'message')} waiting`;
  const connectionFindings = [
    finding("gateway's calls of the model", providerCheck(now)),
    finding("gateway's polls", telegramCheck(now)),
    finding("gateway's alerts", alertsCheck(now)),
  ];
  return [
    finding('redis', redisCheck(now, undefined), `${description}${cluster}`),
    passed('worker', workers === 0 ? 'none runs now' : running),
    ...(allowed.length === 0 ? [] : [passed('allowed ids', `${allowed.join(', ')} besides TELEGRAM_ALLOWED_IDS`)]),
    ...(workers === 0 ? [] : connectionFindings),
  ];
}

function finding(part: string, check: Parameters<typeof stateOf>[0], before = ''): Finding {
  const { isWell, detail } = stateOf(check);
  return { part, ok: isWell, detail: `${before}${detail}` };
}

/** Compares the settings of every server with the recommended ones. Reports differences as advice, not as failures. */
async function checkSettings(redis: RedisClient): Promise<Finding> {
  const servers = serversOf(redis);
  const isCluster = servers.length > 1 || /cluster_enabled:1/.test((await servers[0]?.info('cluster')) ?? '');
  const advice = (await Promise.all(servers.map((server) => differences(server, isCluster)))).flat();
  if (advice.length === 0) return passed('redis settings', 'as recommended');
  return withAdvice('redis settings', [...new Set(advice)].join('; '));
}

/** A server's settings that differ from the recommended ones, with risk and remedy, and those that the server hides. */
async function differences(server: ReturnType<typeof serversOf>[number], isCluster: boolean): Promise<string[]> {
  const hasReplicas = /connected_slaves:[1-9]/.test(await server.info('replication'));
  const advice: string[] = [];
  const unknownSettings: string[] = [];
  for (const { name, value, of, isMet, risk } of REDIS_SETTINGS) {
    if (!(of === 'all' || (of === 'cluster' ? isCluster : hasReplicas))) continue;
    const [, actual] = (await server.config('GET', name).catch(() => [])) as string[];
    if (actual === undefined) unknownSettings.push(`${name} ${value}`);
    else if (!isMet(actual))
      advice.push(`${name} is ${actual}: ${risk}; CONFIG SET ${name} ${value}, and put it into redis.conf`);
  }
  if (unknownSettings.length === 0) return advice;
  return [...advice, `the server does not tell some settings; make sure that it has ${unknownSettings.join(', ')}`];
}
