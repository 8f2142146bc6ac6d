import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { boundStoreId } from '../../shared/state/blob/binding.ts';
import { hasWorkerOf } from '../../shared/state/process/workers.ts';
import { openBlobStore } from '../blob/store.ts';
import { type CheckContext, type Finding, failed, passed } from './finding.ts';

const DEADLINE_MS = 5_000;
const ANY_ADDRESS = new Set(['0.0.0.0', '::']);

/** Checks that a start could listen at HTTP_PORT: the port is free, or a gateway on this machine uses it. */
export async function checkPort({ settings, redis }: CheckContext): Promise<Finding[]> {
  const { HTTP_HOST: host, HTTP_PORT: port } = settings;
  if (port === 0) return [];
  const listenError = await listenErrorOf(host, port);
  if (listenError === undefined) return [passed('port', `${host}:${port} is free for health and metrics`)];
  if (listenError !== 'EADDRINUSE')
    return [failed('port', `nothing can listen on ${host}:${port} (${listenError}); check HTTP_HOST and HTTP_PORT`)];
  const isOwnGateway =
    (await isGateway(host, port)) && redis.client && (await hasWorkerOf(redis.client, hostname()).catch(() => false));
  if (isOwnGateway) return [passed('port', `${host}:${port} is held by the gateway that runs`)];
  return [failed('port', `${host}:${port} is taken by another program; set HTTP_PORT to another one`)];
}

/** Tries to listen. Returns the system's error code, or `undefined` if listening works. */
async function listenErrorOf(host: string, port: number): Promise<string | undefined> {
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

/** Whether a gateway, of this or another bot, answers at `/healthz` of this host and port. */
export async function isGateway(host: string, port: number): Promise<boolean> {
  const hostInUrl = host.includes(':') ? `[${host}]` : host;
  const at = ANY_ADDRESS.has(host) ? '127.0.0.1' : hostInUrl;
  const answer = fetch(`http://${at}:${port}/healthz`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  return answer.then(
    async (response) => (await response.text()).trim() === '{"status":"ok"}',
    () => false,
  );
}

const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same one (see blob-store in the runbook)';

/** Checks that the blob store accepts files, and is the store that the data in Redis refers to. Leaves no file behind. */
export async function checkBlobs({ settings, redis }: CheckContext): Promise<Finding[]> {
  const store = openBlobStore(settings.BLOB_URL);
  const idInRedis = redis.client && (await boundStoreId(redis.client).catch(() => undefined));
  if (store === undefined && idInRedis !== undefined)
    return [failed('blobs', 'kept in Redis, but the data refers to a store: its files cannot be read')];
  if (store === undefined) return [passed('blobs', 'kept in Redis')];
  try {
    const storeId = await store.readId();
    const exists = await store.probe();
    if (idInRedis !== undefined && storeId !== idInRedis) return [failed('blobs', `${store.name}: ${OTHER_STORE}`)];
    const state = exists ? 'takes files' : 'is made at the first start';
    return [passed('blobs', `${store.name}, ${state}; workers on other machines need the same`)];
  } catch (error) {
    return [failed('blobs', `${store.name}: ${(error as Error).message}`)];
  }
}
