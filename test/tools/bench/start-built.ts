import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { environmentWith } from '../../fixture/environment.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { until } from './bench.ts';
import type { Measure } from './figure.ts';
import { treeMegabytes } from './spent.ts';
import { pollsOf, REST_MS, startWorld } from './start.ts';

const BUILT = join(PROJECT_ROOT, '.cache', 'built-by-bench');
/** As the image starts it, which keeps no compiled code. */
const ENV_OF_NODE = { NODE_DISABLE_COMPILE_CACHE: '1' };
const OPTIONS_OF_NODE = ['--enable-source-maps', '--max-semi-space-size=4'];
const MB = 1_000_000;

const run = promisify(execFile);

/** The package that `npm run build` makes, installed as the image has it: the same of that, and its size. */
export const startingBuilt: Measure = {
  name: 'start-built',
  figures: {
    firstPollMs: { name: 'built: process -> first getUpdates', unit: 'ms', aim: { atMost: 600 } },
    restMegabytes: { name: 'built: memory at rest (Pss)', unit: 'MB', aim: { atMost: 130 } },
    installedMegabytes: { name: 'built: the package with what it needs, on disk', unit: 'MB', aim: { atMost: 250 } },
  },
  async take({ redisUrl }) {
    const root = await installed();
    const world = await startWorld(redisUrl);
    const startedMs = performance.now();
    const starting = spawnRunning(
      'spillway.js',
      { ...world.env, ...ENV_OF_NODE },
      { root, cwd: root, execArgv: OPTIONS_OF_NODE },
    );
    await until(() => pollsOf(world.telegram) > 0);
    const firstPollMs = performance.now() - startedMs;
    const gateway = await starting;
    await pause(REST_MS);
    const restMegabytes = treeMegabytes(gateway.pid);
    await gateway.stop();
    await world.stop();
    const installedMegabytes = (await bytesIn(root)) / MB;
    await rm(root, { recursive: true });
    return { firstPollMs, restMegabytes, installedMegabytes };
  },
};

/** Builds the package, and installs what its lock names, outside of the project; npm may ask the registry. */
async function installed(): Promise<string> {
  await run(process.execPath, [join(PROJECT_ROOT, 'scripts', 'build.mjs'), BUILT]);
  const root = await mkdtemp(join(tmpdir(), 'spillway-built-'));
  await cp(BUILT, root, { recursive: true });
  await rm(BUILT, { recursive: true });
  const env = environmentWith({ NODE_OPTIONS: '' });
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root, env });
  return root;
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return (await Promise.all(files.map((file) => stat(file)))).reduce((sum, { size }) => sum + size, 0);
}
