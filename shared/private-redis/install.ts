import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { withFolderLock } from './folder-lock.ts';

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

// BullMQ needs XAUTOCLAIM and the like, which came with 6.2.
const oldestVersion = { major: 6, minor: 2 };
const serverNames = ['redis-server', 'valkey-server'];
// The tools package is included because Debian's redis-server is a link to a file in it.
const packageSets = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
const versionTimeoutMs = 10_000;
const aptTimeoutMs = 180_000;
const unpackTimeoutMs = 30_000;
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
    'valkey-server, run `docker compose up -d redis`, or set REDIS_URL to a running one.'
  );
}

type Unpacked = { command: string; env: Record<string, string> };

async function unpackOnce(home: string, options: RedisServerOptions): Promise<Unpacked | string> {
  const aptGet = await onPath('apt-get', options.path);
  const dpkgDeb = await onPath('dpkg-deb', options.path);
  if (aptGet === undefined || dpkgDeb === undefined) return 'none on the PATH, and no apt to fetch one with';
  try {
    await mkdir(join(home, '..'), { recursive: true });
    return await withFolderLock(`${home}.lock`, lockWaitMs, async () => {
      // Another start may have done the work while this one waited for the lock.
      return (await unpackedIn(home)) ?? (await unpackWithApt(home, aptGet, dpkgDeb, options.onProgress));
    });
  } catch (error) {
    return `none on the PATH, and a private copy could not be made: ${messageOf(error)}`;
  }
}

/** The server in a finished unpack, proved by running it; undefined when none runs. */
async function unpackedIn(home: string): Promise<Unpacked | undefined> {
  for (const name of serverNames) {
    const command = join(home, 'usr', 'bin', name);
    if (!(await isExecutable(command))) continue;
    const env = { LD_LIBRARY_PATH: (await libraryFolders(home)).join(':') };
    if (await proves(command, env)) return { command, env };
  }
  return undefined;
}

async function unpackWithApt(
  home: string,
  aptGet: string,
  dpkgDeb: string,
  onProgress: RedisServerOptions['onProgress'],
): Promise<Unpacked | string> {
  onProgress?.('Redis: no server on the PATH, so a private copy is fetched with apt (the system is not changed).');
  await removeLeftovers(home);
  const work = await mkdtemp(`${home}.unpack-`);
  try {
    const apt = await privateApt(work, aptGet);
    // One unreachable third-party source makes the update fail although Redis is available, so the install decides.
    await apt(['update']).catch(() => undefined);
    const reasons: string[] = [];
    for (const packages of packageSets) {
      const tree = join(work, packages[0] ?? '');
      try {
        await rm(join(work, 'cache', 'archives'), { recursive: true, force: true });
        await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
        await apt(['install', '--yes', '--download-only', '--no-install-recommends', '--reinstall', ...packages]);
        await unpackArchives(join(work, 'cache', 'archives'), tree, dpkgDeb);
      } catch (error) {
        reasons.push(messageOf(error));
        continue;
      }
      if ((await unpackedIn(tree)) === undefined) {
        reasons.push(`the unpacked ${packages[0]} does not run here`);
        continue;
      }
      await rm(home, { recursive: true, force: true });
      await rename(tree, home);
      return (await unpackedIn(home)) ?? 'the unpacked copy stopped working when it was moved';
    }
    return `none on the PATH, and apt could not fetch one: ${reasons.join('; ')}`;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * An apt-get whose lists, caches and locks are all under `work`. It knows what the system has installed, so an install
 * that only downloads fetches exactly the packages that the system lacks. Needs no root.
 */
async function privateApt(work: string, aptGet: string): Promise<(args: string[]) => Promise<string>> {
  const settings = join(work, 'apt.conf');
  // The hooks are cleared because those in container images delete files of the system's own cache. As root, apt
  // would hand downloads to a user who may not enter this folder; the sandbox setting turns that off.
  await writeFile(
    settings,
    [
      '#clear APT::Update::Pre-Invoke;',
      '#clear APT::Update::Post-Invoke;',
      '#clear APT::Update::Post-Invoke-Success;',
      '#clear Acquire::IndexTargets::deb::DEP-11;',
      'Acquire::Languages "none";',
      'Acquire::Retries "2";',
      'Acquire::http::Timeout "20";',
      'Acquire::https::Timeout "20";',
      'APT::Sandbox::User "root";',
      'Debug::NoLocking "true";',
      '',
    ].join('\n'),
  );
  for (const folder of [['lists', 'partial'], ['cache', 'archives', 'partial'], ['log']]) {
    await mkdir(join(work, ...folder), { recursive: true });
  }
  const places = [
    ['-c', settings],
    ['-o', `Dir::State=${work}`],
    ['-o', `Dir::State::lists=${join(work, 'lists')}`],
    ['-o', 'Dir::State::status=/var/lib/dpkg/status'],
    ['-o', `Dir::Cache=${join(work, 'cache')}`],
    ['-o', `Dir::Log=${join(work, 'log')}`],
  ].flat();
  return (args) => run(aptGet, ['-q', ...places, ...args], aptTimeoutMs);
}

async function unpackArchives(archives: string, tree: string, dpkgDeb: string): Promise<void> {
  await mkdir(tree, { recursive: true });
  for (const name of await readdir(archives)) {
    // A C library other than the system loader's would keep every program from starting.
    if (name.endsWith('.deb') && !name.startsWith('libc6_'))
      await run(dpkgDeb, ['-x', join(archives, name), tree], unpackTimeoutMs);
  }
}

/** Removes what killed unpacks left behind; the caller holds the lock, so none of it is in use. */
async function removeLeftovers(home: string): Promise<void> {
  const parent = join(home, '..');
  for (const name of await readdir(parent)) {
    if (name.startsWith('redis.unpack-')) await rm(join(parent, name), { recursive: true, force: true });
  }
}

async function libraryFolders(home: string): Promise<string[]> {
  const folders = new Set<string>();
  for (const top of ['lib', join('usr', 'lib')]) {
    const entries = await readdir(join(home, top), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (/\.so(\.|$)/.test(entry.name)) folders.add(entry.parentPath);
  }
  return [...folders].sort();
}

async function onPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || !found.isFile()) return false;
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Whether the server starts at all and is new enough. */
async function proves(command: string, env: Record<string, string>): Promise<boolean> {
  const output = await run(command, ['--version'], versionTimeoutMs, env).catch(() => '');
  const found = /\bv=(\d+)\.(\d+)/.exec(output);
  if (found === null) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > oldestVersion.major || (major === oldestVersion.major && minor >= oldestVersion.minor);
}

/** Without `env` the child inherits this process's environment: apt takes a proxy from there. */
function run(command: string, args: string[], timeoutMs: number, env?: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const limits = { timeout: timeoutMs, maxBuffer: 32 * 1024 * 1024, ...(env === undefined ? {} : { env }) };
    const child = execFile(command, args, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(lastLine(stderr) || error.message));
    });
    child.stdin?.end();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}
