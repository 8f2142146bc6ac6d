/** The Redis of a chaos world: a child process with its append-only file on, which can be hurt in every way we know. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FoundRedisServer } from '../../shared/private-redis/install.ts';
import { listeningRedis, temporaryFolder } from '../fixture/redis.ts';

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
export async function startChaosRedis(server: FoundRedisServer): Promise<ChaosRedis> {
  const dir = await temporaryFolder();
  /** Read at each start. */
  const settings: Record<string, string> = {
    // A rewrite would move the tail to another file in the middle of a cut.
    'auto-aof-rewrite-percentage': '0',
    // A replica that comes waits for others that might.
    'repl-diskless-sync-delay': '0',
  };
  const redis = await listeningRedis({
    server: await withoutSizeSignal(server, dir),
    dir,
    fsync: 'everysec',
    settings,
  });
  return {
    port: redis.port,
    url: redis.url,
    get pid() {
      return redis.pid;
    },
    kill9: () => redis.kill9(),
    restart(loadingUsPerKey = 0) {
      settings['key-load-delay'] = String(loadingUsPerKey);
      return redis.restart();
    },
    freeze: () => void process.kill(redis.pid, 'SIGSTOP'),
    thaw: () => void process.kill(redis.pid, 'SIGCONT'),
    async cutTail(bytes) {
      const file = await appendFileIn(dir);
      const { size } = await stat(file);
      await truncate(file, Math.max(0, size - bytes));
    },
    async limitFiles(bytes) {
      // The hard limit stays, so that the soft one may be raised again without being root.
      await run('prlimit', ['--pid', String(redis.pid), `--fsize=${bytes}:`]);
    },
    appendedBytes: async () => (await stat(await appendFileIn(dir))).size,
    stop: () => redis.stop(),
    abandon() {
      redis.kill9();
      rmSync(dir, { recursive: true, force: true });
    },
  };
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

async function appendFileIn(dir: string): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const last = (await readdir(folder))
    .filter((name) => name.endsWith('.incr.aof'))
    .toSorted()
    .at(-1);
  if (last === undefined) throw new Error('The server keeps no append-only file.');
  return join(folder, last);
}
