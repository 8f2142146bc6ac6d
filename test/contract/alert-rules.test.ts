import { execFile, spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';

/** The alert rules, played by Prometheus' own tool; docs/operations.md says where it is looked for. */
const OPS = join(PROJECT_ROOT, 'ops');
const PATHS = [join(PROJECT_ROOT, '.cache', 'bin'), process.env.PATH ?? ''].join(delimiter);
const run = promisify(execFile);

const env = { ...process.env, PATH: PATHS };
const found = spawnSync('promtool', ['--version'], { env }).status === 0;
/** Skipped aloud: the run lists the test as skipped, by a name that says why. */
const withPromtool = found ? test : test.skip;
const WHY = found ? '' : ' (promtool was not found)';

withPromtool(`Prometheus takes its configuration and the rules as they are${WHY}`, async () => {
  await expect(promtool('check', 'config', join(OPS, 'prometheus.yml'))).resolves.toContain('SUCCESS');
});

withPromtool(`each rule fires on its trouble, and not on the quiet that resembles it${WHY}`, async () => {
  await expect(promtool('test', 'rules', join(OPS, 'alerts.test.yml'))).resolves.toContain('SUCCESS');
});

/** What the tool says; rejects with it when the tool is not content. */
async function promtool(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run('promtool', args, { env });
  return stdout + stderr;
}
