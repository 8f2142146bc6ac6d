import { execFile } from 'node:child_process';
import { constants, globSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The first executable file of this name in the folders of `path`, a list like PATH; `undefined` if there is no such file. */
export async function onPath(name: string, path: string): Promise<string | undefined> {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  for (const file of folders.map((folder) => join(folder, name)))
    if ((await access(file, constants.X_OK).catch((error: Error) => error)) === undefined) return file;
  return undefined;
}

/** Runs a program and returns its standard output. If the program fails, rejects with the last line of its standard error. */
export async function run(command: string, args: string[], timeout: number, own: object = {}): Promise<string> {
  try {
    const options = { timeout, maxBuffer: 32 * 1024 * 1024, encoding: 'utf8', ...own } as const;
    return (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    throw new Error(stderr.trim().split('\n').at(-1)?.trim() || message);
  }
}

// BullMQ recommends Redis 6.2 or later.
const [OLDEST_MAJOR, OLDEST_MINOR] = [6, 2];
const VERSION_TIMEOUT_MS = 10_000;

/** A server program, with the environment variables that it needs. */
export type ServerProgram = { readonly command: string; readonly env: Record<string, string> };

/** The first Redis or Valkey server in the folders of `path` that starts and is new enough; `undefined` if there is none. */
export async function findServer(path: string, env: Record<string, string>): Promise<ServerProgram | undefined> {
  for (const name of ['redis-server', 'valkey-server']) {
    const command = await onPath(name, path);
    if (command === undefined) continue;
    const version = await run(command, ['--version'], VERSION_TIMEOUT_MS, { env }).catch(() => '');
    const [, major, minor] = /\bv=(\d+)\.(\d+)/.exec(version) ?? [];
    const isNewer = Number(major) > OLDEST_MAJOR || (Number(major) === OLDEST_MAJOR && Number(minor) >= OLDEST_MINOR);
    if (isNewer) return { command, env };
  }
  return undefined;
}

/** The server in a folder of unpacked packages, with the libraries of that folder; `undefined` if there is no usable one. */
export function unpackedIn(home: string): Promise<ServerProgram | undefined> {
  const libraries = globSync('{usr/,}lib/**/*.so*', { cwd: home }).map((file) => join(home, dirname(file)));
  return findServer(join(home, 'usr', 'bin'), { LD_LIBRARY_PATH: [...new Set(libraries)].sort().join(':') });
}
