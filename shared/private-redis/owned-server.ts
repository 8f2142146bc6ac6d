import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import {
  askToShutDown,
  freePort,
  hasExited,
  lastLogLines,
  spawnRedis,
  staysInUse,
  untilReady,
  urlOf,
} from './process.ts';
import { findRunning, readState, removeState, withServerLock, writeState } from './running-server.ts';
import type { PrivateRedis, PrivateRedisOptions } from './server.ts';

const portAttempts = 5;
const stopTimeoutMs = 10_000;

/** A server that this process has started. Every method but `startFirst` is described at `PrivateRedis`. */
export class OwnedServer implements PrivateRedis {
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
    const last = (await readState(this.dir))?.port;
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
    await withServerLock(this.dir, async () => {
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
    await withServerLock(this.dir, async () => {
      if (this.isDown() || (await staysInUse(this.port))) return;
      await this.end('ask');
      await removeState(this.dir);
    });
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
