import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isExecutable, run } from './program.ts';

// BullMQ needs XAUTOCLAIM and the like, which came with 6.2.
const oldestVersion = { major: 6, minor: 2 };
const versionTimeoutMs = 10_000;

/** What the program of a server is called. */
export const serverNames = ['redis-server', 'valkey-server'];

/** A server program in a folder of its own, with the environment that it needs. */
export type Unpacked = { command: string; env: Record<string, string> };

/** The server in a finished unpack, proved by running it; undefined when none runs. */
export async function unpackedIn(home: string): Promise<Unpacked | undefined> {
  for (const name of serverNames) {
    const command = join(home, 'usr', 'bin', name);
    if (!(await isExecutable(command))) continue;
    const env = { LD_LIBRARY_PATH: (await libraryFolders(home)).join(':') };
    if (await proves(command, env)) return { command, env };
  }
  return undefined;
}

/** Whether the server starts at all and is new enough. */
export async function proves(command: string, env: Record<string, string>): Promise<boolean> {
  const output = await run(command, ['--version'], versionTimeoutMs, env).catch(() => '');
  const found = /\bv=(\d+)\.(\d+)/.exec(output);
  if (found === null) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > oldestVersion.major || (major === oldestVersion.major && minor >= oldestVersion.minor);
}

async function libraryFolders(home: string): Promise<string[]> {
  const folders = new Set<string>();
  for (const top of ['lib', join('usr', 'lib')]) {
    const entries = await readdir(join(home, top), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (/\.so(\.|$)/.test(entry.name)) folders.add(entry.parentPath);
  }
  return [...folders].sort();
}
