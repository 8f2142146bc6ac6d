import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import type { Config } from '../../shared/base/config.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import type { ReachedRedis } from './check-redis.ts';
import type { Finding } from './finding.ts';

const DEADLINE_MS = 5_000;
const ANY = new Set(['0.0.0.0', '::']);

/** Checks that a start could listen at HTTP_PORT: nobody does, or our own gateway on this machine. */
export async function checkPort(
  { HTTP_HOST: host, HTTP_PORT: port }: Pick<Config, 'HTTP_HOST' | 'HTTP_PORT'>,
  redis: ReachedRedis,
): Promise<Finding[]> {
  if (port === 0) return [];
  const part = 'port';
  const refused = await listenProblem(host, port);
  if (refused === undefined) return [{ part, ok: true, detail: `${host}:${port} is free for health and metrics` }];
  if (refused !== 'EADDRINUSE')
    return [
      { part, ok: false, detail: `nothing can listen on ${host}:${port} (${refused}); check HTTP_HOST and HTTP_PORT` },
    ];
  const isOurs = (await isGateway(host, port)) && (await worksHere(redis).catch(() => false));
  if (isOurs) return [{ part, ok: true, detail: `${host}:${port} is held by the gateway that runs` }];
  return [{ part, ok: false, detail: `${host}:${port} is taken by another program; set HTTP_PORT to another one` }];
}

/** Why nothing can listen there, as the system calls it; `undefined` when something can. */
async function listenProblem(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, 'listening');
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    server.close();
  }
}

async function isGateway(host: string, port: number): Promise<boolean> {
  const at = ANY.has(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const answer = fetch(`http://${at}:${port}/healthz`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  return answer.then(
    async (response) => (await response.text()).trim() === '{"status":"ok"}',
    () => false,
  );
}

/** Whether a worker of this Redis is alive on this machine. Rejects when Redis cannot be reached. */
async function worksHere({ address }: ReachedRedis): Promise<boolean> {
  if (address === undefined) return false;
  const redis = connectRedis(address, 'patient');
  try {
    await untilReady(redis, DEADLINE_MS);
    const workers = await redis.zrange(keysOf(0).workers, '0', '-1');
    return workers.some((worker) => worker.startsWith(`${hostname()} `));
  } finally {
    redis.disconnect();
  }
}
