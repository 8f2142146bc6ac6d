import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the sources, or of what was built of them, whatever the working directory is. */
export const PROJECT_ROOT = join(import.meta.dirname, '..', '..');

/** Whether this was built (`npm run build`), as for a package: there are no sources. */
export const IS_BUILT = !existsSync(join(PROJECT_ROOT, 'shared', 'base', 'project.ts'));

/**
 * The folder of the settings and of the data: that of the clone, whatever the working directory is. What was built lies among
 * packages, so it uses the folder in which it was started.
 */
export const HOME = IS_BUILT ? process.cwd() : PROJECT_ROOT;

/** Prints every problem and ends with the exit code for configuration, once nothing else remains to be done. */
export function refuse(problems: readonly string[]): void {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
