import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readFile, realpath } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from '../base/machine.ts';
import { socketPath } from '../base/redis-address.ts';
import { REDIS_SETTINGS } from '../base/redis-settings.ts';
import { withFolderLock } from './folder-lock.ts';
import type { ServerProgram } from './program.ts';
import { findRunning, holderOf, NAMES, openProbe, serverAt, staysInUse, urlOf } from './running-server.ts';

export type PrivateRedisOptions = {
  readonly server: ServerProgram;
  /** The folder with the append-only file, the log and the socket. Created when missing. */
  readonly dir: string;
  readonly fsync: 'always' | 'everysec' | 'no';
  /** Further server settings by their names in redis.conf, such as `enable-debug-command` for fault injection. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long a server that holds the folder may take to answer. Default: half a minute. */
  readonly holderWaitMs?: number;
  /** Called once if, before `stop`, the server ends or the connection to it is lost. */
  readonly onLost?: () => void;
};

export type PrivateRedis = {
  /** The URL of the server's socket, in the server's folder. */
  readonly url: string;
  readonly pid: number;
  /**
   * Ends the server and waits for its end; the server has ten seconds to write its data. Leaves the server running while other
   * clients are connected, so close your own clients first. Safe to call twice.
   */
  stop(): Promise<void>;
};

const LOCK_WAIT_MS = 360_000;
const ANSWER_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 10_000;
const POLL_MS = 5;
const LOG_LINES_SHOWN = 8;

/**
 * Starts a Redis server for `dir`, with an append-only file, on a socket in `dir` that no other user can use. If a server
 * already runs for `dir`, uses that server, because two servers would destroy each other's data. Resolves when the server
 * answers with its data loaded. If the server does not start, rejects with the end of its log.
 */
export async function startPrivateRedis(options: PrivateRedisOptions): Promise<PrivateRedis> {
  // The data is people's conversations, so no other user of the machine may read it.
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  const dir = await realpath(options.dir);
  await chmod(dir, 0o700);
  const url = urlOf(dir);
  // Throws if the socket's path is too long.
  socketPath(url);
  return withServerLock(dir, async () => {
    const pid = (await findRunning(dir, options.holderWaitMs)) ?? (await launchRedis({ ...options, dir }));
    // This connection shows other processes that the server is in use, and shows this process the end of the server.
    const probe = await openProbe(url);
    probe.stream.unref();
    const onLost = () => options.onLost?.();
    probe.once('end', onLost);
    const stop = async () => {
      probe.off('end', onLost);
      probe.disconnect();
      // The lock keeps other processes from connecting to the server after the check for clients and before the server's end.
      await withServerLock(dir, async () => {
        if (!(await staysInUse(url))) await endServer(dir);
      });
    };
    return { url, pid, stop };
  });
}

/** Runs `work` while no other process starts or ends the server of a folder. */
function withServerLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  return withFolderLock(join(dir, 'start.lock'), LOCK_WAIT_MS, work);
}

/**
 * Starts a server in a folder where none runs. Resolves with the server's process id once the server answers with its data
 * loaded. If the server does not start, rejects with the end of its log.
 */
export async function launchRedis(options: PrivateRedisOptions): Promise<number> {
  const { dir, server } = options;
  const log = openSync(join(dir, 'redis.log'), 'a', 0o600);
  const child = spawn(server.command, argumentsFor(options), {
    // The server's files are in its working directory, so its settings need not quote the folder's name.
    cwd: dir,
    env: server.env,
    stdio: ['ignore', log, log],
    // Give the server a session of its own: Ctrl-C in a terminal must not end Redis before the gateway has stopped.
    detached: true,
  });
  closeSync(log);
  child.unref();
  try {
    // Rejects if the program cannot start.
    await once(child, 'spawn');
    return await untilReady(child, urlOf(dir));
  } catch (error) {
    child.kill('SIGKILL');
    const text = await readFile(join(dir, 'redis.log'), 'utf8').catch(() => '');
    const end = text.trim().split('\n').slice(-LOG_LINES_SHOWN).join('\n');
    throw new Error(`The private Redis server did not start: ${String(error)}\n${end}`);
  }
}

function argumentsFor({ fsync, settings: more }: PrivateRedisOptions): string[] {
  // Half of the machine's or container's memory. A full server only refuses writes, but the system kills a server that uses
  // too much.
  const memoryBytes = Math.floor(Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2);
  const settings = {
    // Without a port, no other user can connect, and no other program can take the place of a server that is down.
    port: '0',
    ...NAMES,
    unixsocketperm: '600',
    daemonize: 'no',
    ...Object.fromEntries(REDIS_SETTINGS.filter(({ of }) => of === 'all').map(({ name, value }) => [name, value])),
    appendfsync: fsync,
    maxmemory: String(memoryBytes),
    save: '',
    ...more,
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}

async function untilReady(child: ChildProcess, url: string): Promise<number> {
  for (const giveUpAt = Date.now() + ANSWER_TIMEOUT_MS; ; await pause(POLL_MS)) {
    const server = await serverAt(url);
    if (server !== undefined) return server.pid;
    const end = child.signalCode ?? (child.exitCode === null ? undefined : `exit code ${child.exitCode}`);
    if (end !== undefined) throw new Error(`it ended at once (${end}).`);
    if (Date.now() > giveUpAt) throw new Error(`it did not answer within ${ANSWER_TIMEOUT_MS} ms.`);
  }
}

/** Ends a folder's server, if any, and waits for its end. After SIGTERM, the server has ten seconds to write its data. */
async function endServer(dir: string): Promise<void> {
  const pid = await holderOf(dir);
  if (pid === undefined || !isRunning(pid)) return;
  process.kill(pid, 'SIGTERM');
  for (const killAt = Date.now() + STOP_TIMEOUT_MS; isRunning(pid); await pause(POLL_MS))
    if (Date.now() > killAt) process.kill(pid, 'SIGKILL');
}
