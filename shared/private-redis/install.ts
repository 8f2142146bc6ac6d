import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unpackWithApt } from './apt.ts';
import { withFolderLock } from './folder-lock.ts';
import { findServer, onPath, type ServerProgram, unpackedIn } from './program.ts';

/** A Redis server whose program has run on this machine at least once. */
export type FoundRedisServer = ServerProgram & { readonly ok: true };

export type NoRedisServer = { readonly ok: false; readonly problem: string };

export type RedisServerOptions = {
  /** `<root>/.cache/redis` holds the private copy of the server. */
  readonly root: string;
  /** The folders to search, in the form of the PATH variable. */
  readonly path: string;
  readonly onProgress?: (line: string) => void;
};

const LOCK_WAIT_MS = 400_000;

/**
 * Finds a Redis (or Valkey) server of version 6.2 or later: in the folders of `path`, or else a private copy under `root`. If
 * the copy is missing, apt fetches it, without changing the system. Returns a problem in one sentence when there is no server.
 * Never throws.
 */
export async function findRedisServer(options: RedisServerOptions): Promise<FoundRedisServer | NoRedisServer> {
  try {
    return { ok: true, ...((await findServer(options.path, {})) ?? (await privateCopy(options))) };
  } catch (error) {
    const problem =
      `There is no Redis server of version 6.2 or later here (none on the PATH, and ${(error as Error).message}): install the ` +
      'system package redis-server or valkey-server, or set REDIS_URL to a running one.';
    return { ok: false, problem };
  }
}

/** The private copy of the server, which apt fetches if it is missing. Rejects when the fetch fails. */
async function privateCopy({ root, path, onProgress }: RedisServerOptions): Promise<ServerProgram> {
  const cache = join(root, '.cache');
  const home = join(cache, 'redis');
  const cached = await unpackedIn(home);
  if (cached !== undefined) return cached;
  const [aptGet, dpkgDeb] = [await onPath('apt-get', path), await onPath('dpkg-deb', path)];
  if (aptGet === undefined || dpkgDeb === undefined) throw new Error('no apt to fetch one with');
  await mkdir(cache, { recursive: true });
  return withFolderLock(join(cache, 'unpack.lock'), LOCK_WAIT_MS, async () => {
    // Another process may have fetched the copy while this one waited for the lock.
    const server = await unpackedIn(home);
    if (server !== undefined) return server;
    onProgress?.('Redis: no server on the PATH, so a private copy is fetched with apt (the system is not changed).');
    return unpackWithApt(home, aptGet, dpkgDeb);
  });
}
