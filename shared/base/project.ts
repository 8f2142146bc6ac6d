import { join } from 'node:path';

/** The folder of the project, whatever the working directory is. */
export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');

/** Prints every problem and ends with the exit code for configuration, once nothing else remains to be done. */
export function refuse(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
