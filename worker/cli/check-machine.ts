import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { boundStoreId } from '../../shared/state/blob/binding.ts';
import { hasWorkerOf } from '../../shared/state/process/workers.ts';
import { openBlobStore } from '../blob/store.ts';
import { type Finding, failed, fine, type Ground } from './finding.ts';

const DEADLINE_MS = 5_000;
const ANY = new Set(['0.0.0.0', '::']);

/** Checks that a start could listen at HTTP_PORT: nobody does, or our own gateway on this machine. */
export async function checkPort({ settings, redis }: Ground): Promise<Finding[]> {
  const { HTTP_HOST: host, HTTP_PORT: port } = settings;
  if (port === 0) return [];
  const refused = await listenProblem(host, port);
  if (refused === undefined) return [fine('port', `${host}:${port} is free for health and metrics`)];
  if (refused !== 'EADDRINUSE')
    return [failed('port', `nothing can listen on ${host}:${port} (${refused}); check HTTP_HOST and HTTP_PORT`)];
  const isOurs =
    (await isGateway(host, port)) && redis.client && (await hasWorkerOf(redis.client, hostname()).catch(() => false));
  if (isOurs) return [fine('port', `${host}:${port} is held by the gateway that runs`)];
  return [failed('port', `${host}:${port} is taken by another program; set HTTP_PORT to another one`)];
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
  const named = host.includes(':') ? `[${host}]` : host;
  const at = ANY.has(host) ? '127.0.0.1' : named;
  const answer = fetch(`http://${at}:${port}/healthz`, { signal: AbortSignal.timeout(DEADLINE_MS) });
  return answer.then(
    async (response) => (await response.text()).trim() === '{"status":"ok"}',
    () => false,
  );
}

const OTHER_STORE =
  'it is not the store that the data in Redis refers to: all workers need the same one (see blob-store in the runbook)';

/** Checks that the blob store takes something, and that it is the one that the data refers to. Changes nothing. */
export async function checkBlobs({ settings, redis }: Ground): Promise<Finding[]> {
  const store = openBlobStore(settings.BLOB_URL);
  const noted = redis.client && (await boundStoreId(redis.client).catch(() => undefined));
  if (store === undefined && noted !== undefined)
    return [failed('blobs', 'kept in Redis, but the data refers to a store: its files cannot be read')];
  if (store === undefined) return [fine('blobs', 'kept in Redis')];
  try {
    const own = await store.readId();
    const isThere = await store.probe();
    if (noted !== undefined && own !== noted) return [failed('blobs', `${store.name}: ${OTHER_STORE}`)];
    const state = isThere ? 'takes files' : 'is made at the first start';
    return [fine('blobs', `${store.name}, ${state}; workers on other machines need the same`)];
  } catch (error) {
    return [failed('blobs', `${store.name}: ${(error as Error).message}`)];
  }
}
