import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The first program of a name in some folders, in the form of the PATH variable. */
export async function onPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}

/** Whether a file is one that may be run. */
async function isExecutable(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || !found.isFile()) return false;
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Runs a program to its end and returns what it printed; rejects with the last line of its standard error. Without
 * `env` the child inherits this process's environment: apt takes a proxy from there.
 */
export function run(command: string, args: string[], timeoutMs: number, env?: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const limits = { timeout: timeoutMs, maxBuffer: 32 * 1024 * 1024, ...(env === undefined ? {} : { env }) };
    const child = execFile(command, args, limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(lastLine(stderr) || error.message));
    });
    child.stdin?.end();
  });
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

/** The message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// BullMQ needs XAUTOCLAIM and the like, which came with 6.2.
const [OLDEST_MAJOR, OLDEST_MINOR] = [6, 2];
const versionTimeoutMs = 10_000;

/** The names of the program of a server. */
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
  const [, major, minor] = /\bv=(\d+)\.(\d+)/.exec(output) ?? [];
  return Number(major) > OLDEST_MAJOR || (Number(major) === OLDEST_MAJOR && Number(minor) >= OLDEST_MINOR);
}

async function libraryFolders(home: string): Promise<string[]> {
  const folders = new Set<string>();
  for (const top of ['lib', join('usr', 'lib')]) {
    const entries = await readdir(join(home, top), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (/\.so(\.|$)/.test(entry.name)) folders.add(entry.parentPath);
  }
  return [...folders].sort();
}
