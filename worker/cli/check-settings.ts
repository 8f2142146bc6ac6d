import { REDIS_SETTINGS, type RedisSetting } from '../../shared/base/redis-settings.ts';
import { type RedisClient, serversOf } from '../../shared/redis/connection.ts';
import type { Finding } from './finding.ts';

type Server = ReturnType<typeof serversOf>[number];

/**
 * Compares the settings of every server with the recommended ones. What differs is advice: somebody may have reasons. A
 * server that does not tell its settings, as many managed ones, is advised as well.
 *
 * Contract: rejects when Redis cannot be reached.
 */
export async function checkSettings(redis: RedisClient): Promise<Finding> {
  const servers = serversOf(redis);
  const isCluster = servers.length > 1 || /cluster_enabled:1/.test((await servers[0]?.info('cluster')) ?? '');
  const said = (await Promise.all(servers.map((server) => differences(server, isCluster)))).flat();
  const part = 'redis settings';
  if (said.length === 0) return { part, ok: true, detail: 'as recommended' };
  return { part, ok: true, isAdvice: true, detail: [...new Set(said)].join('; ') };
}

/** What a server has otherwise, each with what may happen and what to do. */
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
