import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { socketPath, socketUrl } from '../base/redis-address.ts';
import { REDIS_SETTINGS } from '../base/redis-settings.ts';
import type { PrivateRedisOptions } from './server.ts';

/** The name of the server's socket in its folder. A server is recognised by it, too. */
export const socketName = 'redis.sock';
const probeTimeoutMs = 2_000;
const answerTimeoutMs = 20_000;
const loadTimeoutMs = 300_000;
const pollMs = 5;
const logLinesShown = 8;
const clientLooks = 10;
const clientLookMs = 30;

/**
 * Spawns the server in `dir`; resolves with the child once it exists, rejects when it cannot be executed. The system kills a
 * throw-away server when this process dies, where the system supports that.
 */
export async function spawnRedis(dir: string, options: PrivateRedisOptions): Promise<ChildProcess> {
  const { server, keep } = options;
  const leash = !keep && server.setpriv !== undefined ? [server.setpriv, '--pdeathsig', 'KILL'] : [];
  const [command = server.command, ...before] = [...leash, server.command];
  const log = openSync(join(dir, 'redis.log'), 'a', 0o600);
  try {
    const child = spawn(command, [...before, ...argumentsFor(options)], {
      // The server keeps its files in its working directory, so its settings need not quote the folder's name.
      cwd: dir,
      env: { ...server.env },
      stdio: ['ignore', log, log],
      // Its own session: Ctrl-C in a terminal must reach the gateway and not the Redis that it drains into.
      detached: true,
    });
    // Rejects with the error when there is one instead.
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

function argumentsFor({ fsync, settings: more }: PrivateRedisOptions): string[] {
  const settings = {
    // No other user of the machine can connect, and nobody can take the place of a server that is down.
    port: '0',
    unixsocket: socketName,
    unixsocketperm: '600',
    daemonize: 'no',
    ...Object.fromEntries(REDIS_SETTINGS.filter(({ of }) => of === 'all').map(({ name, value }) => [name, value])),
    appendfsync: fsync,
    maxmemory: String(memoryShare()),
    save: '',
    ...more,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

/** Half of what this machine or container has: a full server refuses what is new, and the system would end one. */
function memoryShare(): number {
  return Math.floor(Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2);
}

export function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Resolves when the child answers at `url` with all data loaded; rejects when it ends or takes too long. */
export async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const giveUpAt = Date.now() + answerTimeoutMs;
  for (;;) {
    if (hasExited(child)) throw new Error(`it ended at once (${child.signalCode ?? `exit code ${child.exitCode}`}).`);
    if ((await serverAt(url)) !== undefined) return;
    if (Date.now() > giveUpAt) throw new Error(`it did not answer within ${answerTimeoutMs} ms.`);
    await pause(pollMs);
  }
}

/** The process id of the server that answers at `url`, with its data loaded; undefined when none does. */
export function serverAt(url: string): Promise<number | undefined> {
  return withProbe(url, async (probe) => {
    await untilLoaded(probe);
    return Number(/process_id:(\d+)/.exec(await probe.info('server'))?.[1]);
  }).catch(() => undefined);
}

/** One connection to a server on this machine. Rejects when nobody listens on the socket of `url`, or not in time. */
export async function openProbe(url: string): Promise<Redis> {
  const probe = new Redis({
    path: socketPath(url),
    lazyConnect: true,
    // A server that still loads its data says so to the one who asks.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: probeTimeoutMs,
    commandTimeout: probeTimeoutMs,
    retryStrategy: () => null,
  });
  // Each command rejects by itself; without a listener ioredis would print the end of an idle connection.
  probe.on('error', () => undefined);
  await probe.connect();
  return probe;
}

/** Asks a server on this machine a few questions. Rejects as `openProbe`, and where `work` does. */
export async function withProbe<T>(url: string, work: (probe: Redis) => Promise<T>): Promise<T> {
  const probe = await openProbe(url);
  try {
    return await work(probe);
  } finally {
    probe.disconnect();
  }
}

async function untilLoaded(probe: Redis): Promise<void> {
  for (const giveUpAt = Date.now() + loadTimeoutMs; ; await pause(pollMs)) {
    try {
      return void (await probe.ping());
    } catch (error) {
      if (!String(error).includes('LOADING') || Date.now() > giveUpAt) throw error;
    }
  }
}

/** Whether somebody is connected. The server notices a closed client a moment later, and our own closed just now. */
export async function staysInUse(url: string): Promise<boolean> {
  for (let look = 1; await hasClients(url); look += 1) {
    if (look === clientLooks) return true;
    await pause(clientLookMs);
  }
  return false;
}

/** Whether any client besides this probe is connected; a server that does not answer has no clients worth waiting for. */
function hasClients(url: string): Promise<boolean> {
  return withProbe(url, async (probe) => {
    const own = `id=${await probe.client('ID')} `;
    const clients = String(await probe.client('LIST')).split('\n');
    return clients.some((client) => client.startsWith('id=') && !client.startsWith(own));
  }).catch(() => false);
}

/** Asks the server to write its data and exit; resolves when it has closed the connection or refused. */
export async function askToShutDown(child: ChildProcess, url: string): Promise<void> {
  await withProbe(url, (probe) => probe.call('SHUTDOWN', 'NOSAVE')).catch((error: Error) => {
    // A server that obeys closes the connection instead of replying.
    if (!String(error).includes('closed')) child.kill('SIGTERM');
  });
}

export async function lastLogLines(dir: string): Promise<string> {
  const log = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-logLinesShown).join('\n');
}

/** Where the server of a folder listens. */
export function urlOf(dir: string): string {
  return socketUrl(join(dir, socketName));
}
