import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { findRunning } from '../../../shared/private-redis/running-server.ts';
import { TOKEN, visitorOf } from '../../fixture/console.ts';
import { BARE_ENV, environmentWith } from '../../fixture/environment.ts';
import { createWorld } from '../../fixture/gateway.ts';
import { portOf, spawnRunning } from '../../fixture/process.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';

const BUILT = join(PROJECT_ROOT, '.cache', 'packed-by-tests');
const PROGRAMS = ['spillway', 'producer', 'worker', 'cli', 'setup', 'decoder'].map((name) => `${name}.js`);
const CHAT = 1001;

const run = promisify(execFile);
/** The folder into which the package is installed, and the package there. */
let around: string;
let installed: string;
/** Where somebody works with it: an empty folder. */
let folder: string;

beforeAll(async () => {
  around = await temporaryFolder();
  installed = join(around, 'node_modules', 'spillway');
  await run(process.execPath, [join(PROJECT_ROOT, 'scripts', 'build.mjs'), BUILT], { env: BARE_ENV });
  await run('npm', ['pack', BUILT, '--pack-destination', around], { env: environmentWith({ NODE_OPTIONS: '' }) });
  const [packed = ''] = (await readdir(around)).filter((name) => name.endsWith('.tgz'));
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(around, packed), '-C', installed, '--strip-components=1']);
  await installNeeded();
});

/** What npm would install: the packages of its lock. Each is found where it is linked, so no other one is found from it. */
async function installNeeded(): Promise<void> {
  const places = Object.keys(await readLock(join(installed, 'npm-shrinkwrap.json'))).filter(
    (place) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(place) && existsSync(join(PROJECT_ROOT, place)),
  );
  for (const place of places) {
    await mkdir(dirname(join(around, place)), { recursive: true });
    await symlink(join(PROJECT_ROOT, place), join(around, place));
  }
}

/** Else a package that is linked would find what stands beside it in the project. */
const ALONE = ['--preserve-symlinks', '--preserve-symlinks-main'];

interface Manifest {
  private?: boolean;
  version: string;
  exports: object;
  engines: { node: string };
  dependencies: Record<string, string>;
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
}

afterAll(() => rm(BUILT, { recursive: true, force: true }));

beforeEach(async () => {
  folder = await temporaryFolder();
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Types `spillway` in the folder; only a settings file that lies there is read. */
async function spillway(...args: readonly string[]): Promise<Ended> {
  const options = { cwd: folder, env: { ...BARE_ENV, SPILLWAY_ENV_FILE: '' } };
  return run(process.execPath, [...ALONE, join(installed, 'command.mjs'), ...args], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  );
}

const files = async (): Promise<string[]> =>
  (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));

test('without settings "check" and "start" name all that is required, with exit 2, and leave the folder empty', async () => {
  for (const args of [['check'], ['start'], []]) {
    const { code, stderr } = await spillway(...args);
    expect({ args, code }).toEqual({ args, code: 2 });
    for (const name of ['TELEGRAM_BOT_TOKEN', 'TELEGRAM_ALLOWED_IDS', 'ANTHROPIC_API_KEY'])
      expect(stderr).toContain(`${name} is required: `);
  }
  expect(await readdir(folder)).toEqual([]);
});

test('the command says its version and its help, and refuses what it does not know', async () => {
  expect(await spillway('--version')).toEqual({ code: 0, stdout: `${(await manifest()).version}\n`, stderr: '' });
  for (const args of [['--help'], ['start', '--help']]) {
    const { code, stdout } = await spillway(...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}spillway start .*\n {2}spillway setup /);
    expect(stdout).toMatch(/^Usage: spillway <verb> \[options\]$/m);
  }
  expect((await spillway('dead', 'list', '--help')).stdout).toMatch(/^Usage: spillway dead list /);
  const refused = [
    [['bogus'], /^There is no verb "bogus"\. The verbs are: start, setup, producer, worker, status/],
    [['start', 'now'], /^"spillway start" takes nothing/],
    [['setup'], /^spillway setup asks questions, so it needs a terminal/],
  ] as const;
  for (const [args, words] of refused)
    expect(await spillway(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
});

test('a Node that is too old is told so in one line, before anything else is loaded', async () => {
  const file = join(installed, 'package.json');
  const text = await readFile(file, 'utf8');
  try {
    await writeFile(file, text.replace('">=24"', '">=99"'));
    const stderr = `Spillway needs Node 99 or later, and this one is ${process.versions.node}.\n`;
    for (const args of [[], ['--help'], ['status']])
      expect(await spillway(...args)).toEqual({ code: 2, stdout: '', stderr });
  } finally {
    await writeFile(file, text);
  }
});

const scripts = async (): Promise<string[]> => {
  const names = (await files()).filter((name) => name.endsWith('.js'));
  return Promise.all(names.map((name) => readFile(join(installed, name), 'utf8')));
};

test('every part of what is built loads, also those that are needed late', async () => {
  const parts = (await readdir(BUILT)).filter((name) => name.endsWith('.js') && !PROGRAMS.includes(name));
  expect(parts.length).toBeGreaterThan(10);
  const load = 'for (const part of process.argv.slice(1)) await import(part);';
  const paths = parts.map((part) => join(BUILT, part));
  const args = ['--input-type=module', '-e', load, '--', ...paths];
  expect((await run(process.execPath, args, { env: BARE_ENV })).stderr).toBe('');
});

test('with source maps a logged error names the place in the source', async () => {
  const world = await createWorld();
  const taken = createServer().listen(0, '127.0.0.1');
  try {
    await once(taken, 'listening');
    const env = { ...world.env, LOG_LEVEL: 'info', HTTP_PORT: String((taken.address() as AddressInfo).port) };
    const starting = spawnRunning('spillway.js', env, { root: BUILT, execArgv: ['--enable-source-maps'] });
    await expect(starting).rejects.toThrow(/shared\/app\/health\.ts:\d[^\n]*could not start/);
  } finally {
    taken.close();
    await world.close();
  }
});

test.each(['ReplyError', 'UnrecoverableError', 'DelayedError', 'WaitingError', 'WaitingChildrenError'])(
  'the class %s, whose name somebody reads, keeps it',
  async (name) => {
    const declared = (await scripts()).flatMap((text) =>
      [...text.matchAll(/\b(?:var \w+ = )?class (?:\w+ )?extends \w+ \{/g)].map(([found]) => found),
    );
    const own = declared.filter((found) => new RegExp(`\\b_?${name}\\d*\\b`).test(found));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter((found) => !new RegExp(`^(?:var ${name} = class|class ${name}) extends`).test(found))).toEqual(
      [],
    );
  },
);

test('it has what the programs read, and neither a source nor a test', async () => {
  const names = await files();
  const others = names.filter((name) => !/^[\w-]+\.js(?:\.map)?$|^shared\/.*\.lua$/.test(name));
  expect(others.toSorted()).toEqual([
    '.env.example',
    'LICENSE',
    'README.md',
    'command.mjs',
    'docs/runbook.md',
    'npm-shrinkwrap.json',
    'package.json',
    'worker/features/console/style.css',
    'worker/model/price-list.json',
  ]);
  expect(names.filter((name) => name.endsWith('.lua')).length).toBeGreaterThan(10);
  const { private: isPrivate, exports: exported } = await manifest();
  expect({ isPrivate, exported }).toEqual({ exported: { './package.json': './package.json' } });
  const texts = await scripts();
  const programs = texts.flatMap((text) =>
    [...text.matchAll(/import\.meta\.dirname, "([\w.]+)"/g)].map(([, name]) => name),
  );
  expect(programs.toSorted()).toEqual(['decoder.js', 'frozen.js']);
  for (const text of texts) expect(text.includes(PROJECT_ROOT)).toBe(false);
  const said = [
    ...texts,
    ...(await Promise.all(['.env.example', 'docs/runbook.md'].map((name) => readFile(join(installed, name), 'utf8')))),
  ];
  expect(said.flatMap((text) => text.match(/npm (?:start|run (?:cli|setup|worker|producer))\b.*/g) ?? [])).toEqual([]);
});

/** A private Redis that a killed gateway left. */
async function endRedis(): Promise<void> {
  const pid = await findRunning(join(folder, 'data', 'redis'));
  if (pid !== undefined) process.kill(pid);
}

test('its lock has all that it needs and nothing else, in the versions of the project', async () => {
  const own = await readLock(join(installed, 'npm-shrinkwrap.json'));
  const whole = await readLock(join(PROJECT_ROOT, 'package-lock.json'));
  const { dependencies } = await manifest();
  expect(own['']?.dependencies).toEqual(dependencies);
  const places = Object.keys(own).filter((place) => place !== '');
  expect(places.filter((place) => own[place]?.version !== whole[place]?.version)).toEqual([]);
  expect(places.filter((place) => own[place]?.integrity !== whole[place]?.integrity)).toEqual([]);
  expect(places.filter((place) => own[place]?.dev === true || own[place]?.devOptional === true)).toEqual([]);
  const names = new Set(
    places.map((place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  );
  const needed = Object.values(own).flatMap((entry) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  );
  expect(needed.filter((name) => !names.has(name))).toEqual([]);
  expect([...names].filter((name) => name.startsWith('node-linux'))).toEqual([]);
  expect(needed).toContain('@img/sharp-linux-arm64');
});

interface Locked {
  version?: string;
  integrity?: string;
  dev?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

async function readLock(file: string): Promise<Record<string, Locked>> {
  return (JSON.parse(await readFile(file, 'utf8')) as { packages: Record<string, Locked> }).packages;
}

test('from an empty folder it checks and answers, with the settings and the data of that folder', async () => {
  const world = await createWorld();
  const ends: (() => void)[] = [];
  const { REDIS_URL: _, BLOB_URL: __, ...settings } = world.env;
  await writeFile(
    join(folder, '.env'),
    Object.entries({ ...settings, LOG_LEVEL: 'info', OPERATOR_TOKEN: TOKEN })
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
    { mode: 0o600 },
  );
  // The copy that the tests have, where the machine has none.
  await mkdir(join(folder, '.cache'));
  await symlink(join(PROJECT_ROOT, '.cache', 'redis'), join(folder, '.cache', 'redis'));
  try {
    expect(await spillway('check')).toMatchObject({ code: 0, stderr: '' });
    const start = () =>
      spawnRunning('command.mjs', { SPILLWAY_ENV_FILE: '' }, { root: installed, cwd: folder, execArgv: ALONE });
    const answers = () => world.telegram.shown(CHAT).filter(({ text }) => text !== '').length;
    const killed = await start();
    ends.push(() => killed.kill('SIGKILL'));
    world.telegram.say(CHAT, 'hello');
    await until('answer', () => answers() > 0 || undefined);
    const visitor = visitorOf(`http://127.0.0.1:${portOf(killed)}`);
    await visitor.logIn();
    expect(await visitor.get('/console')).toMatchObject({
      status: 200,
      text: expect.stringContaining('Spillway'),
    });
    killed.kill('SIGKILL');
    await killed.ended;
    const gateway = await start();
    await gateway.stop();
    expect(await gateway.ended).toBe('0');
    expect(existsSync(join(folder, 'data', 'redis'))).toBe(true);
    const { stdout } = await spillway('audit', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ proof: { accepted: 1, unaccounted: 0, failedShards: [] } });
  } finally {
    for (const end of ends) end();
    await endRedis();
    await world.close();
  }
});
