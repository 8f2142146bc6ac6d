import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import type { Config } from '../../shared/base/config.ts';
import { notedStoreId } from '../../shared/state/blob/binding.ts';
import { hasWorkerOf } from '../../shared/state/process/workers.ts';
import { openBlobStore } from '../blob/store.ts';
import { askRedis, type ReachedRedis } from './check-redis.ts';
import { type Finding, failed, fine } from './terminal.ts';

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
  if (refused === undefined) return [fine(part, `${host}:${port} is free for health and metrics`)];
  if (refused !== 'EADDRINUSE')
    return [failed(part, `nothing can listen on ${host}:${port} (${refused}); check HTTP_HOST and HTTP_PORT`)];
  const isOurs =
    (await isGateway(host, port)) && (await askRedis(redis, (own) => hasWorkerOf(own, hostname())).catch(() => false));
  if (isOurs) return [fine(part, `${host}:${port} is held by the gateway that runs`)];
  return [failed(part, `${host}:${port} is taken by another program; set HTTP_PORT to another one`)];
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

/** Whether a gateway serves its health there, whichever bot it has. */
export async function isGateway(host: string, port: number): Promise<boolean> {
  const at = ANY.has(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const answer = fetch(`http://${at}:${port}/healthz`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  return answer.then(
    async (response) => (await response.text()).trim() === '{"status":"ok"}',
    () => false,
  );
}

const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same one (see blob-store in the runbook)';

/**
 * Checks that the blob store takes something, and that it is the one that the data refers to. Binds and changes nothing.
 */
export async function checkBlobs(config: Config, reached: ReachedRedis): Promise<Finding> {
  const part = 'blobs';
  const store = openBlobStore(config.BLOB_URL);
  const noted = await askRedis(reached, notedStoreId).catch(() => undefined);
  if (store === undefined) {
    const detail = 'kept in Redis';
    if (noted === undefined) return fine(part, detail);
    return failed(part, `${detail}, but the data refers to a store: its files cannot be read`);
  }
  try {
    const own = await store.readId();
    const isThere = await store.probe();
    if (noted !== undefined && own !== noted) return failed(part, `${store.name}: ${OTHER_STORE}`);
    const state = isThere ? 'takes files' : 'is made at the first start';
    return fine(part, `${store.name}, ${state}; workers on other machines need the same`);
  } catch (error) {
    return failed(part, `${store.name}: ${(error as Error).message}`);
  }
}
