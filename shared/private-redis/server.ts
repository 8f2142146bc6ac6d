import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from '../base/machine.ts';
import { withFolderLock } from './folder-lock.ts';
import type { FoundRedisServer } from './install.ts';
import {
  type AnsweringServer,
  askToShutDown,
  freePort,
  hasClients,
  hasExited,
  lastLogLines,
  serverFor,
  spawnRedis,
  untilReady,
  urlOf,
} from './process.ts';

export type PrivateRedisOptions = {
  readonly server: FoundRedisServer;
  /** Holds the append-only file, the log and the state file. Created when missing. */
  readonly dir: string;
  readonly fsync: 'always' | 'everysec' | 'no';
  /** True: data outlives the server. False: a throw-away, whose folder is removed at stop. */
  readonly keep: boolean;
  /** The port for a server that has to be started. Default: the port of the last one for `dir`, else any free port. */
  readonly port?: number;
  /** More server settings by their names in redis.conf, such as `enable-debug-command` for fault injection. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Called once when the server, owned or attached, is lost although this process did not ask it to end. */
  readonly onLost?: (detail: string) => void;
};

export type PrivateRedis = {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** True when the server was already running for this folder and belongs to another process. */
  readonly attached: boolean;
  /**
   * Attached: lets go of the server and leaves it running. Owner of a kept one: leaves it running while other clients
   * are connected, so close your own clients first. Otherwise the server has written its data and is gone when this
   * resolves. Safe to call twice.
   */
  stop(): Promise<void>;
  /** SIGKILL, for tests of a crash. Throws on an attached server. */
  kill9(): void;
  /** Ends the server if it still runs and starts it on the same port and data. Rejects on an attached one. */
  restart(): Promise<void>;
};

type State = { pid: number | null; port: number };

const portAttempts = 5;
const holderTimeoutMs = 30_000;
const holderPollMs = 100;
const stopTimeoutMs = 10_000;
const clientLooks = 10;
const clientLookMs = 30;
const lockWaitMs = 360_000;
// How long a server may take until it listens, when the process that spawned it died.
const settleMs = 3_000;

/**
 * Starts a Redis server for `dir` on a free loopback port with its append-only file on, or attaches to the one that
 * already runs for `dir`: there is never a second, because two would destroy each other's data. Resolves when the
 * server answers PING with its data loaded; rejects with the end of its log otherwise.
 */
export async function startPrivateRedis(options: PrivateRedisOptions): Promise<PrivateRedis> {
  // The data is people's conversations: no other user of the machine may read it.
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  const dir = await realpath(options.dir);
  return withFolderLock(join(dir, 'redis.lock'), lockWaitMs, async () => {
    const lease = await findRunning(dir);
    if (lease !== undefined) return attachedRedis(lease, options.onLost);
    const owned = new OwnedServer(options, dir);
    await owned.startFirst();
    return owned;
  });
}

type Running = AnsweringServer & { readonly port: number };

/** The server that runs for `dir`, with an open connection to it. Throws when one holds `dir` but does not answer. */
async function findRunning(dir: string): Promise<Running | undefined> {
  const file = join(dir, 'redis.json');
  const giveUpAt = Date.now() + holderTimeoutMs;
  for (;;) {
    const state = await readState(file);
    if (state === undefined) return undefined;
    const found = await serverFor(dir, state.port);
    if (typeof found === 'object') return { ...found, port: state.port };
    if (found === 'other' || !(await mayStillRun(state, file))) return undefined;
    if (Date.now() > giveUpAt) {
      throw new Error(`A Redis server (process ${state.pid}, port ${state.port}) holds ${dir} but does not answer.`);
    }
    await pause(holderPollMs);
  }
}

async function mayStillRun(state: State, file: string): Promise<boolean> {
  if (state.pid === null) {
    // The starter died between spawning the server and noting its pid; the server may be about to listen.
    const age = await stat(file).then((found) => Date.now() - found.mtimeMs);
    return age < settleMs;
  }
  if (!isRunning(state.pid)) return false;
  // Pids are reused sooner or later: where the system reports it, the command line must name this port.
  const line = await readFile(`/proc/${state.pid}/cmdline`, 'utf8').catch(() => undefined);
  return line === undefined || line.includes(String(state.port));
}

/** Renamed into place, so that a reader sees the old state or the new one, never half of one. */
async function writeState(dir: string, state: State): Promise<void> {
  const fresh = join(dir, `redis.json.${process.pid}`);
  await writeFile(fresh, JSON.stringify(state));
  await rename(fresh, join(dir, 'redis.json'));
}

async function readState(file: string): Promise<State | undefined> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as State;
    return Number.isInteger(state.port) ? state : undefined;
  } catch {
    return undefined;
  }
}

function attachedRedis(running: Running, onLost: PrivateRedisOptions['onLost']): PrivateRedis {
  // At the owner's stop, the open connection shows that the server is in use; it also shows us when the server is gone.
  running.probe.unref();
  running.probe.onLost(() => onLost?.('The connection to the private Redis server of another process was lost.'));
  const notOurs = (): never => {
    throw new Error('This Redis server belongs to another process.');
  };
  return {
    url: urlOf(running.port),
    port: running.port,
    pid: running.pid,
    attached: true,
    stop: async () => running.probe.close(),
    kill9: notOurs,
    restart: async () => notOurs(),
  };
}

class OwnedServer implements PrivateRedis {
  readonly attached = false;
  port: number;
  private child: ChildProcess | undefined;
  private ending = false;
  private readonly options: PrivateRedisOptions;
  private readonly dir: string;

  constructor(options: PrivateRedisOptions, dir: string) {
    this.options = options;
    this.dir = dir;
    this.port = 0;
  }

  get url(): string {
    return urlOf(this.port);
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Tries other ports when a free one was taken between the check and the start; a given port is tried once. */
  async startFirst(): Promise<void> {
    // After a crash the clients of the lost server still reconnect to its port.
    const last = (await readState(join(this.dir, 'redis.json')))?.port;
    for (let attempt = 1; ; attempt += 1) {
      const usual = attempt === 1 ? last : undefined;
      this.port = this.options.port ?? usual ?? (await freePort());
      try {
        return await this.launch();
      } catch (error) {
        const taken = String(error).includes('in use');
        if (!taken || this.options.port !== undefined || attempt === portAttempts) throw error;
      }
    }
  }

  async restart(): Promise<void> {
    await withFolderLock(join(this.dir, 'redis.lock'), lockWaitMs, async () => {
      await this.end('ask');
      const other = await findRunning(this.dir);
      other?.probe.close();
      if (other !== undefined) throw new Error(`Another process has started the server for ${this.dir} meanwhile.`);
      await this.launch();
    });
  }

  kill9(): void {
    this.ending = true;
    this.child?.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    if (!this.options.keep) {
      await this.end('kill');
      return rm(this.dir, { recursive: true, force: true });
    }
    // Under the lock, so that no start can attach between the client check and the shutdown.
    await withFolderLock(join(this.dir, 'redis.lock'), lockWaitMs, async () => {
      if (this.isDown() || (await this.isUsed())) return;
      await this.end('ask');
      await rm(join(this.dir, 'redis.json'), { force: true });
    });
  }

  /** The server notices a closed client a moment later, and our own clients closed just now. */
  private async isUsed(): Promise<boolean> {
    for (let look = 1; await hasClients(this.port); look += 1) {
      if (look === clientLooks) return true;
      await pause(clientLookMs);
    }
    return false;
  }

  private isDown(): boolean {
    return this.child === undefined || hasExited(this.child);
  }

  private async launch(): Promise<void> {
    // The port is noted before the server exists, so that no crash of this process can leave an unknown server behind.
    await writeState(this.dir, { pid: null, port: this.port });
    const { server, fsync, keep, settings = {} } = this.options;
    const child = await spawnRedis({ server, fsync, settings, dir: this.dir, port: this.port, diesWithParent: !keep });
    this.child = child;
    this.ending = false;
    await writeState(this.dir, { pid: child.pid ?? null, port: this.port });
    try {
      await untilReady(child, this.port, this.dir);
    } catch (error) {
      await this.end('kill');
      throw new Error(`The private Redis server did not start: ${String(error)}\n${await lastLogLines(this.dir)}`);
    }
    const onExit = (): void => {
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      if (!this.ending) this.options.onLost?.(`The private Redis server ended by itself (${how}).`);
    };
    if (hasExited(child)) onExit();
    else child.once('exit', onExit);
  }

  /** Resolves when the process is gone, whether it is ended here, was killed earlier, or died by itself. */
  private async end(how: 'ask' | 'kill'): Promise<void> {
    const child = this.child;
    this.ending = true;
    if (child === undefined || hasExited(child)) return;
    // The server does not keep this process alive, but the wait for its end must.
    child.ref();
    const exited = once(child, 'exit');
    const killer = setTimeout(() => child.kill('SIGKILL'), how === 'kill' ? 0 : stopTimeoutMs);
    if (how === 'ask') await askToShutDown(child, this.port);
    await exited;
    clearTimeout(killer);
  }
}
