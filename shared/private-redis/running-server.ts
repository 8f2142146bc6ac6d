import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { isRunning } from '../base/machine.ts';
import { socketPath, socketUrl } from '../base/redis-address.ts';

/** The names of a server's files in its folder, by the server settings that name them. */
export const NAMES = { unixsocket: 'redis.sock', pidfile: 'redis.pid' };

const PROBE_TIMEOUT_MS = 2_000;
const LOADING_POLL_MS = 50;
const HOLDER_WAIT_MS = 30_000;
const HOLDER_POLL_MS = 100;
const CLIENT_LOOKS = 10;
const CLIENT_LOOK_MS = 30;

/** The URL of the socket on which the server of a folder listens. */
export function urlOf(dir: string): string {
  return socketUrl(join(dir, NAMES.unixsocket));
}

/** The process id of the server that runs for `dir`, if any. Rejects when a server holds `dir` but does not answer in time. */
export async function findRunning(dir: string, waitMs = HOLDER_WAIT_MS): Promise<number | undefined> {
  for (const giveUpAt = Date.now() + waitMs; ; await pause(HOLDER_POLL_MS)) {
    const server = await serverAt(urlOf(dir));
    if (server !== undefined) return server.pid;
    const holder = await holderOf(dir);
    if (holder === undefined) return undefined;
    if (Date.now() > giveUpAt) {
      throw new Error(`A Redis server (process ${holder}) holds ${dir} but does not answer: end it, and start again.`);
    }
  }
}

/** The process id of the server whose working directory is `dir`, even if it is silent. Without `/proc`, reads the pid file. */
export async function holderOf(dir: string): Promise<number | undefined> {
  const place = await realpath(dir).catch(() => dir);
  if (!existsSync('/proc/self')) {
    const pid = Number(await readFile(join(dir, NAMES.pidfile), 'utf8').catch(() => undefined));
    return pid > 0 && isRunning(pid) ? pid : undefined;
  }
  for (const pid of (await readdir('/proc')).map(Number).filter(Number.isInteger)) {
    if ((await readlink(`/proc/${pid}/cwd`).catch(() => '')) !== place) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (/^(?:redis|valkey)-server/.test(name)) return pid;
  }
  return undefined;
}

/** The process id and the number of other clients of a server that has loaded its data; `undefined` if none answers. */
export function serverAt(url: string): Promise<{ pid: number; clients: number } | undefined> {
  return withProbe(url, async (probe) => {
    const info = await probe.info();
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
    // The probe is a client, too.
    return { pid: figure('process_id'), clients: figure('connected_clients') - 1 };
  }).catch(() => undefined);
}

/** Whether other clients are connected. Looks repeatedly, because the server notices late that our own connection has ended. */
export async function staysInUse(url: string): Promise<boolean> {
  for (let look = 1; look <= CLIENT_LOOKS; look += 1) {
    if (((await serverAt(url))?.clients ?? 0) === 0) return false;
    await pause(CLIENT_LOOK_MS);
  }
  return true;
}

/** Runs `work` on a connection to a server on this machine. Rejects when no server answers at `url`, or when `work` rejects. */
export async function withProbe<T>(url: string, work: (probe: Redis) => Promise<T>): Promise<T> {
  const probe = await openProbe(url);
  try {
    return await work(probe);
  } finally {
    probe.disconnect();
  }
}

/** Connects to a server on this machine and waits until it has loaded its data. Rejects when no server answers at `url`. */
export async function openProbe(url: string): Promise<Redis> {
  const probe = new Redis({
    path: socketPath(url),
    lazyConnect: true,
    maxLoadingRetryTime: LOADING_POLL_MS,
    disableClientInfo: true,
    connectTimeout: PROBE_TIMEOUT_MS,
    commandTimeout: PROBE_TIMEOUT_MS,
    retryStrategy: () => null,
  });
  // Each command reports its own errors; without this listener ioredis would print the end of an idle connection.
  probe.on('error', () => undefined);
  await probe.connect();
  return probe;
}
