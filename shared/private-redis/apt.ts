import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RedisServerOptions } from './install.ts';
import { messageOf, run, type Unpacked, unpackedIn } from './program.ts';

// The tools package is included because Debian's redis-server is a link to a file in it.
const packageSets = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
const aptTimeoutMs = 180_000;
const unpackTimeoutMs = 30_000;

/** Fetches a server with apt and unpacks it under `home`; the system is not changed. Returns a reason if it cannot. */
export async function unpackWithApt(
  home: string,
  aptGet: string,
  dpkgDeb: string,
  onProgress: RedisServerOptions['onProgress'],
): Promise<Unpacked | string> {
  onProgress?.('Redis: no server on the PATH, so a private copy is fetched with apt (the system is not changed).');
  // Folders that killed unpacks left behind. The caller holds the lock, so nothing uses them.
  for (const name of await readdir(dirname(home)))
    if (name.startsWith('redis.unpack-')) await rm(join(dirname(home), name), { recursive: true, force: true });
  const work = await mkdtemp(`${home}.unpack-`);
  try {
    const apt = await privateApt(work, aptGet);
    // One unreachable third-party source makes the update fail although Redis is available, so the install decides.
    await apt(['update']).catch(() => undefined);
    const reasons: string[] = [];
    for (const packages of packageSets) {
      const tree = join(work, packages[0] ?? '');
      try {
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
