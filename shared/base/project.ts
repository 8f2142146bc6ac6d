import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the sources, or of the built files. It does not depend on the working directory. */
export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');

/** Whether these files come from `npm run build`, as in a package. */
export const IS_BUILT = !existsSync(join(PROJECT_ROOT, 'shared', 'base', 'project.ts'));

/** The folder of settings and data: the project's folder, or for a built package the folder in which the process started. */
export const HOME = IS_BUILT ? process.cwd() : PROJECT_ROOT;

/** Prints every problem on standard error, and sets the exit code for a wrong configuration. */
export function refuse(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
