import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { REDIS_SETTINGS } from '../base/redis-settings.ts';
import type { FoundRedisServer } from './install.ts';
import { openProbe, type RedisProbe } from './probe.ts';

export type RedisProcessSettings = {
  readonly server: FoundRedisServer;
  readonly dir: string;
  readonly port: number;
  readonly fsync: 'always' | 'everysec' | 'no';
  /** The system kills the server when this process dies, where the system supports that. */
  readonly diesWithParent: boolean;
  readonly settings: Readonly<Record<string, string>>;
};

const loopback = '127.0.0.1';
// Below the port range for outgoing connections, so that no client's retry can take the port of a server that is about
// to restart.
const firstPort = 20_000;
const portCount = 12_000;
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
    bind: loopback,
    port: String(how.port),
    'protected-mode': 'yes',
    daemonize: 'no',
    ...Object.fromEntries(REDIS_SETTINGS.filter(({ of }) => of === 'all').map(({ name, value }) => [name, value])),
    appendfsync: how.fsync,
    save: '',
    ...how.settings,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

export function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Resolves when the child serves `dir` on `port` with all data loaded; rejects when it ends or takes too long. */
export async function untilReady(child: ChildProcess, port: number, dir: string): Promise<void> {
  const giveUpAt = Date.now() + answerTimeoutMs;
  for (;;) {
    if (hasExited(child)) throw new Error(`it ended at once (${child.signalCode ?? `exit code ${child.exitCode}`}).`);
    const found = await serverFor(dir, port);
    if (typeof found === 'object') return found.probe.close();
    if (Date.now() > giveUpAt) throw new Error(`it did not answer within ${answerTimeoutMs} ms.`);
    await pause(pollMs);
  }
}

export type AnsweringServer = { readonly probe: RedisProbe; readonly pid: number };

/**
 * Asks the server on `port` whether it serves `dir`, and waits until its data is loaded. The caller closes the probe.
 * 'silent' when the port does not answer, 'other' when it belongs to something else.
 */
export async function serverFor(dir: string, port: number): Promise<AnsweringServer | 'other' | 'silent'> {
  const probe = await openProbe(port, probeTimeoutMs).catch(() => undefined);
  if (probe === undefined) return 'silent';
  try {
    const reply = await probe.ask('CONFIG', 'GET', 'dir');
    if (!Array.isArray(reply) || reply[1] !== dir) {
      probe.close();
      return 'other';
    }
    await untilLoaded(probe);
    const pid = /process_id:(\d+)/.exec(String(await probe.ask('INFO', 'server')))?.[1];
    return { probe, pid: Number(pid) };
  } catch {
    probe.close();
    return 'silent';
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
export async function staysInUse(port: number): Promise<boolean> {
  for (let look = 1; await hasClients(port); look += 1) {
    if (look === clientLooks) return true;
    await pause(clientLookMs);
  }
  return false;
}

/**
 * Whether any client besides this probe is connected; a server that does not answer has no clients worth waiting for.
 */
async function hasClients(port: number): Promise<boolean> {
  const probe = await openProbe(port, probeTimeoutMs).catch(() => undefined);
  if (probe === undefined) return false;
  try {
    const lines = String(await probe.ask('CLIENT', 'LIST')).split('\n');
    return lines.some((line) => line.includes(' addr=') && !line.includes(` addr=${probe.address} `));
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/** Asks the server to write its data and exit; resolves when it has closed the connection or refused. */
export async function askToShutDown(child: ChildProcess, port: number): Promise<void> {
  try {
    const probe = await openProbe(port, probeTimeoutMs);
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

/** A port in a range that systems do not use for outgoing connections, free at the moment of the answer. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * portCount);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer();
  return new Promise((resolve) => {
    listener.once('error', () => resolve(false));
    listener.listen(port, loopback, () => listener.close(() => resolve(true)));
  });
}

export async function lastLogLines(dir: string): Promise<string> {
  const log = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-logLinesShown).join('\n');
}

export function urlOf(port: number): string {
  return `redis://${loopback}:${port}`;
}
