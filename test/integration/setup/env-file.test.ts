import { execFile } from 'node:child_process';
import { chmod, cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { runFile } from '../../fixture/command.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { temporaryFolder } from '../../fixture/redis.ts';

eachInWorld();

async function envFile(env: Record<string, string>, mode = 0o600, more = ''): Promise<string> {
  const file = join(await temporaryFolder(), '.env');
  await writeFile(
    file,
    `${Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join('')}${more}`,
  );
  await chmod(file, mode);
  return file;
}

const check = (env: Record<string, string>) => runFile('worker/cli/main.ts', ['check'], env);

test('the command line reads the file too, and what the environment says wins over it', async () => {
  const file = await envFile({ ...world.env, MODEL: 'claude-sonnet-4-5' });
  expect((await check({ SPILLWAY_ENV_FILE: file })).stdout).toMatch(/ok {4} model: claude-sonnet-4-5/);
  const other = await check({ SPILLWAY_ENV_FILE: file, MODEL: 'claude-haiku-4-5' });
  expect(other.stdout).toMatch(/ok {4} model: claude-haiku-4-5/);
});

test('without a name it is .env in the folder of the project, wherever the program is started', async () => {
  const folder = await temporaryFolder();
  for (const part of ['shared', 'worker', 'package.json']) {
    await cp(join(PROJECT_ROOT, part), join(folder, part), { recursive: true });
  }
  await symlink(join(PROJECT_ROOT, 'node_modules'), join(folder, 'node_modules'));
  await cp(await envFile(world.env), join(folder, '.env'));
  const { PATH = '' } = BARE_ENV;
  const main = join(folder, 'worker', 'cli', 'main.ts');
  const ended = await promisify(execFile)(process.execPath, [main, 'check'], { cwd: '/', env: { PATH } });
  expect(ended.stdout).toMatch(/^ok {4} telegram: /m);
});

test('a malformed file, an unreadable one and one that was named but is not there exit 2 before a start connects', async () => {
  const malformed = await envFile({ ...world.env, SHARDS: '0' }, 0o600, 'ANTHROPIC_API_KEY sk-ant-secret\n');
  const cases: [root: string, string, RegExp][] = [
    ['spillway.ts', malformed, /\.env line \d+: expected NAME=value.*\n.*SHARDS is malformed/],
    ['producer/main.ts', await temporaryFolder(), /cannot be read \(EISDIR\)\s*$/],
    ['worker/main.ts', join(await temporaryFolder(), '.env'), /SPILLWAY_ENV_FILE names .*, which does not exist/],
  ];
  for (const [root, file, words] of cases) {
    const ended = await runFile(root, [], { SPILLWAY_ENV_FILE: file });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
    expect(ended.stderr).not.toContain('sk-ant-secret');
  }
  const nothing = await runFile('spillway.ts', [], { SPILLWAY_ENV_FILE: 'none' });
  expect(nothing).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/is required: .*\nnpm run setup asks for/s),
  });
  expect(world.telegram.calls).toEqual([]);
  for (const [, file, words] of cases)
    expect(await check({ SPILLWAY_ENV_FILE: file })).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
});

test('what a test starts reads no settings file', () => {
  expect(BARE_ENV.SPILLWAY_ENV_FILE).toBe('none');
});
