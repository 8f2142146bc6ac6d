import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { BARE_ENV } from '../../fixture/environment.ts';
import { createWorld } from '../../fixture/gateway.ts';
import { settledOutcomes } from '../../fixture/ledger.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

/** Inside of the project: what is built finds its packages there. */
const BUILT = join('.cache', 'built-by-tests');
const PROGRAMS = ['spillway', 'producer', 'worker', 'cli', 'setup', 'decoder'].map((name) => `${name}.js`);

const node = (args: readonly string[]) => promisify(execFile)(process.execPath, args, { env: BARE_ENV });
const files = async (): Promise<string[]> =>
  (await readdir(join(PROJECT_ROOT, BUILT), { recursive: true })).filter((name) => name.endsWith('.js'));

beforeAll(() => node([join(PROJECT_ROOT, 'scripts', 'build.mjs'), BUILT]));
afterAll(() => rm(join(PROJECT_ROOT, BUILT), { recursive: true, force: true }));

test('the built gateway answers a message', async () => {
  const world = await createWorld();
  const gateway = await spawnRunning(join(BUILT, 'spillway.js'), { ...world.env, LOG_LEVEL: 'info' });
  try {
    world.telegram.say(1001, 'hello');
    await until('answer', async () => (await settledOutcomes(world)).length > 0 || undefined);
  } finally {
    await gateway.stop();
    await world.close();
  }
  expect(await gateway.ended).toBe('0');
});

test('every part loads, also those that are needed late', async () => {
  const parts = (await files()).filter((part) => !PROGRAMS.includes(part));
  expect(parts.length).toBeGreaterThan(10);
  const load = 'for (const part of process.argv.slice(1)) await import(part);';
  const paths = parts.map((part) => join(PROJECT_ROOT, BUILT, part));
  const { stderr } = await node(['--input-type=module', '-e', load, '--', ...paths]);
  expect(stderr).toBe('');
});

test('with source maps a logged error names the place in the source', async () => {
  const world = await createWorld();
  const taken = createServer().listen(0, '127.0.0.1');
  try {
    await once(taken, 'listening');
    const env = { ...world.env, LOG_LEVEL: 'info', HTTP_PORT: String((taken.address() as AddressInfo).port) };
    const starting = spawnRunning(join(BUILT, 'spillway.js'), env, { execArgv: ['--enable-source-maps'] });
    await expect(starting).rejects.toThrow(/shared\/app\/health\.ts:\d[^\n]*could not start/);
  } finally {
    taken.close();
    await world.close();
  }
});

test.each(['ReplyError', 'UnrecoverableError', 'DelayedError', 'WaitingError', 'WaitingChildrenError'])(
  'the class %s, whose name somebody reads, keeps it',
  async (name) => {
    const texts = await Promise.all((await files()).map((part) => readFile(join(PROJECT_ROOT, BUILT, part), 'utf8')));
    const declared = texts.flatMap((text) =>
      [...text.matchAll(/\b(?:var \w+ = )?class (?:\w+ )?extends \w+ \{/g)].map(([found]) => found),
    );
    const own = declared.filter((found) => new RegExp(`\\b_?${name}\\d*\\b`).test(found));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((found) => !new RegExp(`^(?:var ${name} = class|class ${name}) extends`).test(found))).toEqual(
      [],
    );
  },
);
