import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, realpath, rm, stat } from 'node:fs/promises';
import { socketPath } from '../base/redis-address.ts';
import type { FoundRedisServer } from './install.ts';
import {
  askToShutDown,
  hasExited,
  lastLogLines,
  openProbe,
  spawnRedis,
  staysInUse,
  untilReady,
  urlOf,
} from './process.ts';
import { findRunning, removeState, withServerLock, writeState } from './running-server.ts';

export type PrivateRedisOptions = {
  readonly server: FoundRedisServer;
  /** Holds the append-only file, the log and the state file. Created when missing. */
  readonly dir: string;
  readonly fsync: 'always' | 'everysec' | 'no';
  /** True: data outlives the server. False: a throw-away, whose folder is removed at stop. */
  readonly keep: boolean;
  /** More server settings by their names in redis.conf, such as `enable-debug-command` for fault injection. */
  readonly settings?: Readonly<Record<string, string>>;
  /** How long a server that holds the folder may take to answer. Default: half a minute. */
  readonly holderWaitMs?: number;
  /** Called once when the server, owned or attached, is lost although this process did not ask it to end. */
  readonly onLost?: (detail: string) => void;
};

export type PrivateRedis = {
  /** Its socket, in its folder. */
  readonly url: string;
  readonly pid: number;
  /** True when the server was already running for this folder and belongs to another process. */
  readonly attached: boolean;
  /**
   * Attached: lets go of the server and leaves it running. Owner of a kept one: leaves it running while other clients
   * are connected, so close your own clients first. Otherwise the server has written its data and is gone when this
   * resolves. Safe to call twice.
   */
  stop(): Promise<void>;
};

/**
 * Starts a Redis server for `dir` on a socket in it, which only its owner can use, with its append-only file on, or attaches to the one that
 * already runs for `dir`: there is never a second, because two would destroy each other's data. Resolves when the
 * server answers PING with its data loaded; rejects with the end of its log otherwise.
 */
export async function startPrivateRedis(options: PrivateRedisOptions): Promise<PrivateRedis> {
  // The data is people's conversations: no other user of the machine may read it.
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  const dir = await realpath(options.dir);
  if (((await stat(dir)).mode & 0o077) !== 0) await chmod(dir, 0o700);
  // Throws where its path is too long.
  socketPath(urlOf(dir));
  return withServerLock(dir, async () => {
    const pid = await findRunning(dir, options.holderWaitMs);
    if (pid !== undefined) return attachedRedis(pid, urlOf(dir), options.onLost);
    return ownedRedis(options, dir);
  });
}

async function attachedRedis(pid: number, url: string, onLost: PrivateRedisOptions['onLost']): Promise<PrivateRedis> {
  // At the owner's stop, the open connection shows that the server is in use; it also shows us when the server is gone.
  const probe = await openProbe(url);
  probe.stream.unref();
  const lost = () => onLost?.('The connection to the private Redis server of another process was lost.');
  probe.once('end', lost);
  return {
    url,
    pid,
    attached: true,
    async stop() {
      probe.off('end', lost);
      probe.disconnect();
    },
  };
}

const stopTimeoutMs = 10_000;

/** Starts the server; the caller holds the lock of the folder, and knows that none runs. */
async function ownedRedis(options: PrivateRedisOptions, dir: string): Promise<PrivateRedis> {
  const url = urlOf(dir);
  // Noted before the server exists, so that no crash of this process can leave an unknown server behind.
  await writeState(dir, { pid: null });
  const child = await spawnRedis(dir, options);
  await writeState(dir, { pid: child.pid ?? null });
  let isEnding = false;
  const end = (how: 'ask' | 'kill'): Promise<void> => {
    isEnding = true;
    return endServer(child, url, how);
  };
  try {
    await untilReady(child, url);
  } catch (error) {
    await end('kill');
    throw new Error(`The private Redis server did not start: ${String(error)}\n${await lastLogLines(dir)}`);
  }
  const onExit = (): void => {
    const how = child.signalCode ?? `exit code ${child.exitCode}`;
    if (!isEnding) options.onLost?.(`The private Redis server ended by itself (${how}).`);
  };
  if (hasExited(child)) onExit();
  else child.once('exit', onExit);
  return {
    url,
    pid: child.pid ?? 0,
    attached: false,
    async stop() {
      if (!options.keep) {
        await end('kill');
        return rm(dir, { recursive: true, force: true });
      }
      // Under the lock, so that no start can attach between the client check and the shutdown.
      await withServerLock(dir, async () => {
        if (hasExited(child) || (await staysInUse(url))) return;
        await end('ask');
        await removeState(dir);
      });
    },
  };
}

/** Resolves when the process is gone, whether it is ended here, was killed earlier, or died by itself. */
async function endServer(child: ChildProcess, url: string, how: 'ask' | 'kill'): Promise<void> {
  if (hasExited(child)) return;
  // The server does not keep this process alive, but the wait for its end must.
  child.ref();
  const exited = once(child, 'exit');
  const killer = setTimeout(() => child.kill('SIGKILL'), how === 'kill' ? 0 : stopTimeoutMs);
  if (how === 'ask') await askToShutDown(child, url);
  await exited;
  clearTimeout(killer);
}
