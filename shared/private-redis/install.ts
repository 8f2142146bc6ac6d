import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFolderLock } from './folder-lock.ts';
import { findServer, onPath, run, type ServerProgram, unpackedIn } from './program.ts';

// The tools package is included because Debian's redis-server is a link to a file in it.
const PACKAGE_SETS = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
const APT_TIMEOUT_MS = 180_000;
const UNPACK_TIMEOUT_MS = 30_000;

/**
 * Fetches a Redis or Valkey server with apt and unpacks it under `home`, without root and without changing the system. Throws
 * when apt fetches no server that runs. The caller must hold the lock of `home`.
 */
async function unpackWithApt(home: string, aptGet: string, dpkgDeb: string): Promise<ServerProgram> {
  const work = `${home}.unpack`;
  const [archives, tree] = [join(work, 'cache', 'archives'), join(work, 'tree')];
  const reasons: string[] = [];
  // A start that was killed may have left the folder.
  await rm(work, { recursive: true, force: true });
  try {
    const apt = await privateApt(work, aptGet);
    // One unreachable third-party source makes the update fail although Redis is available, so only a failed install counts.
    await apt('update').catch(() => undefined);
    for (const packages of PACKAGE_SETS) {
      try {
        await apt('install', '--yes', '--download-only', '--no-install-recommends', '--reinstall', ...packages);
        // Leave out libc6: a C library other than that of the system's loader would keep every program from starting.
        const files = (await readdir(archives)).filter((name) => /^(?!libc6_).*\.deb$/.test(name));
        for (const name of files) await run(dpkgDeb, ['-x', join(archives, name), tree], UNPACK_TIMEOUT_MS);
        await rm(home, { recursive: true, force: true });
        await rename(tree, home);
        const server = await unpackedIn(home);
        if (server !== undefined) return server;
        reasons.push(`the unpacked ${packages[0]} does not run here`);
      } catch (error) {
        reasons.push((error as Error).message);
      }
    }
    await rm(home, { recursive: true, force: true });
    throw new Error(`apt could not fetch one: ${reasons.join('; ')}`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * Returns a function that runs apt-get with its lists, caches and logs under `work`. This apt-get reads the system's list of
 * installed packages, so an install with `--download-only` fetches no dependencies that the system has.
 */
async function privateApt(work: string, aptGet: string): Promise<(...args: string[]) => Promise<string>> {
  const settings = join(work, 'apt.conf');
  await mkdir(join(work, 'lists', 'partial'), { recursive: true });
  await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
  // Clear the hooks, because those in container images delete files of the system's own cache. As root, apt would download as a
  // user without access to this folder; the sandbox setting prevents that.
  await writeFile(
    settings,
    `
#clear APT::Update;
#clear Acquire::IndexTargets::deb::DEP-11;
Acquire { Languages "none"; Retries "2"; http::Timeout "20"; https::Timeout "20"; };
APT::Sandbox::User "root";
Debug::NoLocking "true";
`,
  );
  const places = [`Dir::State=${work}`, `Dir::Cache=${join(work, 'cache')}`, `Dir::Log=${work}`];
  const options = ['-q', '-c', settings, ...places.flatMap((place) => ['-o', place])];
  return (...args) => run(aptGet, [...options, ...args], APT_TIMEOUT_MS);
}

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
