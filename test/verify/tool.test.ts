import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runFile } from '../fixture/command.ts';
import { BARE_ENV } from '../fixture/environment.ts';
import { temporaryFolder } from '../fixture/redis.ts';
import { findTools, missingTools, TOOL_NAMES } from './tool.ts';

test('a program is found by any of its names, with the version that it states', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'otelcol-contrib'), '#!/bin/sh\necho "otelcol-contrib version 0.159.0"\n', {
    mode: 0o700,
  });
  await writeFile(join(folder, 'promtool'), '#!/bin/sh\necho "what?" >&2; exit 1\n', { mode: 0o700 });
  const tools = findTools([folder]);
  expect(tools).toEqual({ otelcol: { name: 'otelcol', file: join(folder, 'otelcol-contrib'), version: '0.159.0' } });
  const missing = missingTools(tools);
  expect(missing).toHaveLength(Object.keys(TOOL_NAMES).length - 1);
  expect(missing.join('\n')).not.toContain('otelcol');
  await rm(folder, { recursive: true });
});

test('without any of the programs it names each of them, still finds an incident by hand, and exits 1', async () => {
  const folder = await temporaryFolder();
  const server = process.env.SPILLWAY_REDIS_SERVER;
  const args = ['--bin', folder, '--only', 'the provider is down'];
  const run = await runFile('test/verify/main.ts', args, { ...BARE_ENV, SPILLWAY_REDIS_SERVER: server ?? '' }, LONG);
  for (const name of Object.keys(TOOL_NAMES)) expect(run.stdout).toMatch(new RegExp(`^${name} was not found, so`, 'm'));
  expect(run.stdout).toMatch(/^cli status +the provider is down$/m);
  expect(run.stdout).toContain('1 of 1 incidents were found.');
  expect(run.stdout).not.toContain('DIFFERS');
  expect(run.code).toBe(1);
  await rm(folder, { recursive: true });
}, 90_000);

const LONG = { timeoutMs: 80_000 };
