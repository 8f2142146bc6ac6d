import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { findRedisServer } from '../../../shared/private-redis/install.ts';
import { temporaryFolder } from '../../fixture/redis.ts';

const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function machine(programs: Record<string, string>): Promise<{ root: string; path: string }> {
  const folder = await temporaryFolder();
  folders.push(folder);
  const [root, path] = [join(folder, 'a root'), join(folder, 'bin')];
  await mkdir(root);
  await mkdir(path);
  for (const [name, body] of Object.entries(programs)) await program(join(path, name), body);
  return { root, path };
}

async function program(file: string, body: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
}

const version = (words: string): string => `echo "${words} sha=00000000:0 malloc=jemalloc bits=64"`;
const redis7 = version('Redis server v=7.0.15');

/** An apt-get that notes each call and "downloads" one archive, for the packages whose name matches. */
function fakeApt(available: string): string {
  return `
    for word in "$@"; do case $word in Dir::Cache=*) cache=\${word#Dir::Cache=} ;; esac; done
    case "$*" in
      *update*) echo update >> "$(dirname "$0")/calls" ;;
      *install*${available}*) echo install >> "$(dirname "$0")/calls"; sleep 0.2; touch "$cache/archives/one.deb" ;;
      *) echo "E: Unable to locate package" >&2; exit 100 ;;
    esac`;
}

/** A dpkg-deb that unpacks a server with that answer to --version. */
function fakeDpkgDeb(name: string, answer: string): string {
  return `
    mkdir -p "$3/usr/bin" "$3/usr/lib/some"
    touch "$3/usr/lib/some/libjemalloc.so.2"
    printf '#!/bin/sh\\n%s\\n' '${answer}' > "$3/usr/bin/${name}"
    chmod +x "$3/usr/bin/${name}"`;
}

test('a server on the PATH is used as it is', async () => {
  const { root, path } = await machine({ 'redis-server': redis7 });
  expect(await findRedisServer({ root, path })).toEqual({
    ok: true,
    command: join(path, 'redis-server'),
    env: {},
  });
  expect(existsSync(join(root, '.cache'))).toBe(false);
});

test('a server that is too old or does not run is skipped', async () => {
  const old = version('Redis server v=6.0.16');
  const { root, path } = await machine({ 'redis-server': old, 'valkey-server': version('Valkey server v=8.1.1') });
  expect(await findRedisServer({ root, path })).toMatchObject({ ok: true, command: join(path, 'valkey-server') });
  await program(join(path, 'valkey-server'), 'exit 127');
  expect(await findRedisServer({ root, path })).toMatchObject({ ok: false });
});

test('with neither a server nor apt, one sentence names the ways to get one', async () => {
  const { root } = await machine({});
  const found = await findRedisServer({ root, path: '' });
  expect(found).toEqual({
    ok: false,
    problem:
      'There is no Redis server of version 6.2 or later here (none on the PATH, and no apt to fetch one with): install ' +
      'the system package redis-server or valkey-server, or set REDIS_URL to a ' +
      'running one.',
  });
});

test.each([
  ['redis-server', redis7],
  ['valkey-server', version('Valkey server v=8.1.1')],
])('with apt, a private copy of %s, which it has, is unpacked once for three callers at once', async (name, answer) => {
  const { root, path } = await machine({ 'apt-get': fakeApt(name), 'dpkg-deb': fakeDpkgDeb(name, answer) });
  const lines: string[] = [];
  const found = await Promise.all(
    [1, 2, 3].map(() => findRedisServer({ root, path, onProgress: (l) => lines.push(l) })),
  );
  const home = join(root, '.cache', 'redis');
  for (const server of found) {
    expect(server).toEqual({
      ok: true,
      command: join(home, 'usr', 'bin', name),
      env: { LD_LIBRARY_PATH: join(home, 'usr', 'lib', 'some') },
    });
  }
  expect(await readFile(join(path, 'calls'), 'utf8')).toBe('update\ninstall\n');
  expect(lines).toHaveLength(1);
  expect(await readdir(join(root, '.cache'))).toEqual(['redis', 'unpack.lock']);
});

test('a copy that does not run is not kept, and one that no longer runs is replaced', async () => {
  const broken = { 'apt-get': fakeApt('redis-server'), 'dpkg-deb': fakeDpkgDeb('redis-server', 'exit 127') };
  const { root, path } = await machine(broken);
  const found = await findRedisServer({ root, path });
  expect(found.ok ? '' : found.problem).toContain('the unpacked redis-server does not run here; E: Unable to locate');
  expect(await readdir(join(root, '.cache'))).toEqual(['unpack.lock']);

  const home = join(root, '.cache', 'redis');
  await mkdir(join(home, 'usr', 'bin'), { recursive: true });
  await mkdir(join(root, '.cache', 'redis.unpack'));
  await program(join(home, 'usr', 'bin', 'redis-server'), 'exit 127');
  await program(join(path, 'dpkg-deb'), fakeDpkgDeb('redis-server', redis7));
  expect(await findRedisServer({ root, path })).toMatchObject({
    ok: true,
    command: join(home, 'usr', 'bin', 'redis-server'),
  });
  expect(await readdir(join(root, '.cache'))).toEqual(['redis', 'unpack.lock']);
});
