import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The first program of a name in some folders, in the form of the PATH variable. */
export async function onPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, name)))) return join(folder, name);
  }
  return undefined;
}

/** Whether a file is one that may be run. */
export async function isExecutable(file: string): Promise<boolean> {
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

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
