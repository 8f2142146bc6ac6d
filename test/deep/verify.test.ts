/** The check of telemetry where none of its programs is there. */
import { rm } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { runFile } from '../fixture/command.ts';
import { BARE_ENV } from '../fixture/environment.ts';
import { temporaryFolder } from '../fixture/redis.ts';
import { TOOL_NAMES } from '../tools/verify/tool.ts';

const LONG = { timeoutMs: 80_000 };

test('without any of the programs it names each of them, still finds an incident by hand, and exits 1', async () => {
  const folder = await temporaryFolder();
  const server = process.env.SPILLWAY_REDIS_SERVER;
  const args = ['--bin', folder, '--only', 'the provider is down'];
  const run = await runFile(
    'test/tools/verify/main.ts',
    args,
    { ...BARE_ENV, SPILLWAY_REDIS_SERVER: server ?? '' },
    LONG,
  );
  for (const name of Object.keys(TOOL_NAMES)) expect(run.stdout).toMatch(new RegExp(`^${name} was not found, so`, 'm'));
  expect(run.stdout).toMatch(/^cli status +the provider is down$/m);
  expect(run.stdout).toContain('1 of 1 incidents were found.');
  expect(run.stdout).not.toContain('DIFFERS');
  expect(run.code).toBe(1);
  await rm(folder, { recursive: true });
}, 90_000);
