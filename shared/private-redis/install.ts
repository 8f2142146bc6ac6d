import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackWithApt } from './apt.ts';
import { withFolderLock } from './folder-lock.ts';
import { messageOf, onPath, proves, serverNames, type Unpacked, unpackedIn } from './program.ts';

/** A Redis server binary that has run on this machine at least once. */
export type FoundRedisServer = {
  readonly ok: true;
  readonly command: string;
  /** The environment variables that the server needs; empty when it needs none. */
  readonly env: Record<string, string>;
  readonly from: 'path' | 'cache';
  /** Where `setpriv` is, when the machine has it: it makes a child die with its parent. */
  readonly setpriv?: string;
};

export type NoRedisServer = { readonly ok: false; readonly problem: string };

export type RedisServerOptions = {
  /** The private copy is kept under `<root>/.cache/redis`. */
  readonly root: string;
  /** The folders to search, in the form of the PATH variable. */
  readonly path: string;
  readonly onProgress?: (line: string) => void;
};

const lockWaitMs = 400_000;

/**
 * Finds a Redis (or Valkey) server of version 6.2 or later: on the PATH, else a private copy under the root. The
 * system's package manager fetches that copy when it is missing. The system itself is never changed. Returns a problem
 * in one sentence when no server can be had; does not throw for that.
 */
export async function findRedisServer(options: RedisServerOptions): Promise<FoundRedisServer | NoRedisServer> {
  const setpriv = await onPath('setpriv', options.path);
  const extra = setpriv === undefined ? {} : { setpriv };
  for (const name of serverNames) {
    const command = await onPath(name, options.path);
    if (command !== undefined && (await proves(command, {}))) {
      return { ok: true, command, env: {}, from: 'path', ...extra };
    }
  }
  const home = join(options.root, '.cache', 'redis');
  const cached = (await unpackedIn(home)) ?? (await unpackOnce(home, options));
  if (typeof cached === 'object') return { ok: true, ...cached, from: 'cache', ...extra };
  return { ok: false, problem: noServerProblem(cached) };
}

function noServerProblem(why: string): string {
  return (
    `There is no Redis server of version 6.2 or later here (${why}): install the system package redis-server or ` +
    'valkey-server, or set REDIS_URL to a running one.'
  );
}

async function unpackOnce(home: string, options: RedisServerOptions): Promise<Unpacked | string> {
  const aptGet = await onPath('apt-get', options.path);
  const dpkgDeb = await onPath('dpkg-deb', options.path);
  if (aptGet === undefined || dpkgDeb === undefined) return 'none on the PATH, and no apt to fetch one with';
  try {
    await mkdir(join(home, '..'), { recursive: true });
    return await withFolderLock(join(home, '..', 'unpack.lock'), lockWaitMs, async () => {
      // Another start may have done the work while this one waited for the lock.
      return (await unpackedIn(home)) ?? (await unpackWithApt(home, aptGet, dpkgDeb, options.onProgress));
    });
  } catch (error) {
    return `none on the PATH, and a private copy could not be made: ${messageOf(error)}`;
  }
}
