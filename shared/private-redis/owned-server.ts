import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { askToShutDown, hasExited, lastLogLines, spawnRedis, staysInUse, untilReady, urlOf } from './process.ts';
import { findRunning, removeState, withServerLock, writeState } from './running-server.ts';
import type { PrivateRedis, PrivateRedisOptions } from './server.ts';

const stopTimeoutMs = 10_000;

/** A server that this process has started. Every method but `launch` is described at `PrivateRedis`. */
export class OwnedServer implements PrivateRedis {
  readonly attached = false;
  readonly url: string;
  private child: ChildProcess | undefined;
  private ending = false;
  private readonly options: PrivateRedisOptions;
  private readonly dir: string;

  constructor(options: PrivateRedisOptions, dir: string) {
    this.options = options;
    this.dir = dir;
    this.url = urlOf(dir);
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** Starts the server; the caller holds the lock of the folder, and knows that none runs. */
  async launch(): Promise<void> {
    // Noted before the server exists, so that no crash of this process can leave an unknown server behind.
    await writeState(this.dir, { pid: null });
    const { server, fsync, keep, settings = {} } = this.options;
    const child = await spawnRedis({ server, fsync, settings, dir: this.dir, diesWithParent: !keep });
    this.child = child;
    this.ending = false;
    await writeState(this.dir, { pid: child.pid ?? null });
    try {
      await untilReady(child, this.url);
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
      if (this.isDown() || (await staysInUse(this.url))) return;
      await this.end('ask');
      await removeState(this.dir);
    });
  }

  private isDown(): boolean {
    return this.child === undefined || hasExited(this.child);
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
    if (how === 'ask') await askToShutDown(child, this.url);
    await exited;
    clearTimeout(killer);
  }
}
