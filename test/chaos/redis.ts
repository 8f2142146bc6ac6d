/** The Redis of a chaos world: a child process with its append-only file on, which can be hurt in every way we know. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { type ListeningRedis, listeningRedis, temporaryFolder } from '../fixture/redis.ts';

/** A server that can be killed, frozen, cut and filled up. It keeps its folder and its port through all of that. */
export interface ChaosRedis {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  kill9(): void;
  /**
   * Ends the server if it runs, and starts it on the same folder and port; resolves when its data is loaded, which takes
   * so much longer for each key.
   */
  restart(loadingUsPerKey?: number): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Removes the last bytes of the append-only file, as a power loss does. Only while the server is down. */
  cutTail(bytes: number): Promise<void>;
  /** Sets how large any of its files may grow, as a full disk does; `unlimited` frees the disk. */
  limitFiles(bytes: number | 'unlimited'): Promise<void>;
  /** Bytes of the append-only file that is written now. */
  appendedBytes(): Promise<number>;
  stop(): Promise<void>;
  /** Kills it and removes its folder at once, without waiting: for the end of this process. */
  abandon(): void;
}

const run = promisify(execFile);

/** Starts an empty server. `stop` removes it with its folder. */
export async function startChaosRedis(
  server: FoundRedisServer,
  more: Readonly<Record<string, string>> = {},
): Promise<ChaosRedis> {
  const dir = await temporaryFolder();
  const settings: Record<string, string> = {
    // A rewrite would move the tail to another file in the middle of a cut.
    'auto-aof-rewrite-percentage': '0',
    // A replica that comes waits for others that might.
    'repl-diskless-sync-delay': '0',
    ...more,
  };
  const redis = await listeningRedis({
    server: await withoutSizeSignal(server, dir),
    dir,
    fsync: 'everysec',
    settings,
  });
  return new HurtRedis(redis, dir, settings);
}

/**
 * The server behind a script of one line: a file that may not grow raises a signal, which would end the server, where a
 * full disk only fails the write.
 */
async function withoutSizeSignal(server: FoundRedisServer, dir: string): Promise<FoundRedisServer> {
  const script = join(dir, 'serve.sh');
  await writeFile(script, `#!/bin/sh\ntrap '' XFSZ\nexec '${server.command}' "$@"\n`, { mode: 0o700 });
  return { ...server, command: script };
}

class HurtRedis implements ChaosRedis {
  readonly #redis: ListeningRedis;
  readonly #dir: string;
  /** Read at each start. */
  readonly #settings: Record<string, string>;

  constructor(redis: ListeningRedis, dir: string, settings: Record<string, string>) {
    this.#redis = redis;
    this.#dir = dir;
    this.#settings = settings;
  }

  get port(): number {
    return this.#redis.port;
  }

  get url(): string {
    return this.#redis.url;
  }

  kill9(): void {
    this.#redis.kill9();
  }

  get pid(): number {
    return this.#redis.pid;
  }

  restart(loadingUsPerKey = 0): Promise<void> {
    this.#settings['key-load-delay'] = String(loadingUsPerKey);
    return this.#redis.restart();
  }

  freeze(): void {
    process.kill(this.#redis.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.#redis.pid, 'SIGCONT');
  }

  async cutTail(bytes: number): Promise<void> {
    const file = await this.#appendFile();
    const { size } = await stat(file);
    await truncate(file, Math.max(0, size - bytes));
  }

  async limitFiles(bytes: number | 'unlimited'): Promise<void> {
    // The hard limit stays, so that the soft one may be raised again without being root.
    await run('prlimit', ['--pid', String(this.#redis.pid), `--fsize=${bytes}:`]);
  }

  async appendedBytes(): Promise<number> {
    return (await stat(await this.#appendFile())).size;
  }

  async stop(): Promise<void> {
    await this.#redis.stop();
  }

  abandon(): void {
    this.#redis.kill9();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #appendFile(): Promise<string> {
    const folder = join(this.#dir, 'appendonlydir');
    const files = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
    const last = files.at(-1);
    if (last === undefined) throw new Error('The server keeps no append-only file.');
    return join(folder, last);
  }
}
