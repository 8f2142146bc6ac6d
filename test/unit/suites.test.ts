import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../shared/base/project.ts';
import { runFile } from '../fixture/command.ts';
import { temporaryFolder } from '../fixture/redis.ts';

/** Counts in Node's own realm how often it is loaded. */
const PRODUCT = `
  import { runInThisContext } from 'node:vm';
  export const loads = runInThisContext('globalThis.loads = (globalThis.loads ?? 0) + 1');
`;
const FIXTURE = 'export const left = [];';
/** Each of two suites looks for what the other one left behind, and leaves it behind. */
const SUITE = `
  import { expect, jest, test } from '@jest/globals';
  import { loads } from '../product.mjs';
  import { left } from './fixture.mjs';

  test('finds a module of the tests new', () => {
    expect(left.push('left')).toBe(1);
  });

  test('finds the module of the product that the first one loaded', () => {
    expect(loads).toBe(1);
  });

  test('finds the environment of the process as it was, and no listener', () => {
    expect(process.env).toMatchObject({ GIVEN: 'given' });
    expect(process.env.LEFT).toBeUndefined();
    expect(process.listenerCount('SIGTERM')).toBe(0);
    process.env.GIVEN = 'changed';
    process.env.LEFT = 'left';
    process.on('SIGTERM', () => {});
  });

  test('finds the global object as it was', () => {
    const traces = [globalThis.left, globalThis[Symbol.for('left')], fetch.left];
    expect(traces).toEqual([undefined, undefined, undefined]);
    globalThis.left = globalThis[Symbol.for('left')] = 'left';
    globalThis.fetch = Object.assign(() => {}, { left: true });
  });

  test('finds the clock of the machine, and methods that nobody watches', () => {
    expect(Math.min(Date.now(), process.hrtime()[0])).toBeGreaterThan(0);
    expect(jest.isMockFunction(JSON.parse)).toBe(false);
    jest.useFakeTimers({ now: 0 });
    jest.spyOn(JSON, 'parse').mockReturnValue('left');
  });
`;

/** Has Jest play both suites, in one worker, and returns what it prints. */
async function playBoth(): Promise<string> {
  const folder = await temporaryFolder();
  const files = {
    'product.mjs': PRODUCT,
    'test/fixture.mjs': FIXTURE,
    'test/a.test.mjs': SUITE,
    'test/b.test.mjs': SUITE,
  };
  const environment = join('test', 'environment');
  const config = [
    '--config',
    join(PROJECT_ROOT, 'jest.config.js'),
    '--rootDir',
    folder,
    '--testMatch',
    '**/*.test.mjs',
  ];
  try {
    await mkdir(join(folder, 'test'));
    await symlink(join(PROJECT_ROOT, environment), join(folder, environment));
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    const given = { GIVEN: 'given', NODE_OPTIONS: '--experimental-vm-modules' };
    return (await runFile('node_modules/jest/bin/jest.js', ['--runInBand', ...config], given)).stderr;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('suites of a worker share the product, and nothing else of one reaches the next', async () => {
  expect(await playBoth()).toContain('Tests:       10 passed, 10 total');
});
