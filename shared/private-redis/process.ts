import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { socketUrl } from '../base/redis-address.ts';
import { REDIS_SETTINGS } from '../base/redis-settings.ts';
import type { FoundRedisServer } from './install.ts';
import { openProbe, type RedisProbe } from './probe.ts';

export type RedisProcessSettings = {
  readonly server: FoundRedisServer;
  readonly dir: string;
  readonly fsync: 'always' | 'everysec' | 'no';
  /** The system kills the server when this process dies, where the system supports that. */
  readonly diesWithParent: boolean;
  readonly settings: Readonly<Record<string, string>>;
};

/** The name of the server's socket in its folder. A server is recognised by it, too. */
export const socketName = 'redis.sock';
const probeTimeoutMs = 2_000;
const answerTimeoutMs = 20_000;
const loadTimeoutMs = 300_000;
const pollMs = 5;
const logLinesShown = 8;
const clientLooks = 10;
const clientLookMs = 30;

/** Spawns the server in `dir`; resolves with the child once it exists, rejects when it cannot be executed. */
export async function spawnRedis(how: RedisProcessSettings): Promise<ChildProcess> {
  const { server } = how;
  const leash = how.diesWithParent && server.setpriv !== undefined ? [server.setpriv, '--pdeathsig', 'KILL'] : [];
  const [command = server.command, ...before] = [...leash, server.command];
  const log = openSync(join(how.dir, 'redis.log'), 'a', 0o600);
  try {
    const child = spawn(command, [...before, ...argumentsFor(how)], {
      // The server keeps its files in its working directory, so its settings need not quote the folder's name.
      cwd: how.dir,
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

function argumentsFor(how: RedisProcessSettings): string[] {
  const settings = {
    // No other user of the machine can connect, and nobody can take the place of a server that is down.
    port: '0',
    unixsocket: socketName,
    unixsocketperm: '600',
    daemonize: 'no',
    ...Object.fromEntries(REDIS_SETTINGS.filter(({ of }) => of === 'all').map(({ name, value }) => [name, value])),
    appendfsync: how.fsync,
    maxmemory: String(memoryShare()),
    save: '',
    ...how.settings,
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
    const found = await serverAt(url);
    if (found !== undefined) return found.probe.close();
    if (Date.now() > giveUpAt) throw new Error(`it did not answer within ${answerTimeoutMs} ms.`);
    await pause(pollMs);
  }
}

export type AnsweringServer = { readonly probe: RedisProbe; readonly pid: number };

/** The server that answers at `url`, with its data loaded; undefined when none does. The caller closes the probe. */
export async function serverAt(url: string): Promise<AnsweringServer | undefined> {
  const probe = await openProbe(url, probeTimeoutMs).catch(() => undefined);
  if (probe === undefined) return undefined;
  try {
    await untilLoaded(probe);
    const pid = /process_id:(\d+)/.exec(String(await probe.ask('INFO', 'server')))?.[1];
    return { probe, pid: Number(pid) };
  } catch {
    probe.close();
    return undefined;
  }
}

async function untilLoaded(probe: RedisProbe): Promise<void> {
  const giveUpAt = Date.now() + loadTimeoutMs;
  for (;;) {
    const refusal = await probe.ask('PING').then(
      () => undefined,
      (error: Error) => error,
    );
    if (refusal === undefined) return;
    if (!refusal.message.startsWith('LOADING') || Date.now() > giveUpAt) throw refusal;
    await pause(pollMs);
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

/**
 * Whether any client besides this probe is connected; a server that does not answer has no clients worth waiting for.
 */
async function hasClients(url: string): Promise<boolean> {
  const probe = await openProbe(url, probeTimeoutMs).catch(() => undefined);
  if (probe === undefined) return false;
  try {
    const own = `id=${await probe.ask('CLIENT', 'ID')} `;
    const clients = String(await probe.ask('CLIENT', 'LIST')).split('\n');
    return clients.some((client) => client.startsWith('id=') && !client.startsWith(own));
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/** Asks the server to write its data and exit; resolves when it has closed the connection or refused. */
export async function askToShutDown(child: ChildProcess, url: string): Promise<void> {
  try {
    const probe = await openProbe(url, probeTimeoutMs);
    try {
      await probe.ask('SHUTDOWN', 'NOSAVE');
    } finally {
      probe.close();
    }
  } catch (error) {
    // A server that obeys closes the connection instead of replying.
    if (!String(error).includes('closed')) child.kill('SIGTERM');
  }
}

export async function lastLogLines(dir: string): Promise<string> {
  const log = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-logLinesShown).join('\n');
}

/** Where the server of a folder listens. */
export function urlOf(dir: string): string {
  return socketUrl(join(dir, socketName));
}
