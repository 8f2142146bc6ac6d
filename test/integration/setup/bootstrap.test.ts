import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { isRunning } from '../../../shared/base/machine.ts';
import { cleanUps, ownFolder } from '../../fixture/clean-ups.ts';
import { bundledNode, installedLock, writeClone } from '../../fixture/clone.ts';
import { environmentWith, searchPath } from '../../fixture/environment.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** A clone in a folder of its own. */
async function clone(files: Record<string, string>, name = 'clone'): Promise<string> {
  const around = await ownFolder();
  return writeClone(join(around, name), files);
}

const installed = { 'node_modules/.package-lock.json': installedLock };

/** An npm that notes each call and leaves the files that a real one would. */
const installingNpm = `#!/bin/sh
echo "$@" >> npm-calls
sleep 0.3
mkdir -p node_modules
echo '${installedLock}' > node_modules/.package-lock.json
echo 'added 2 packages'
`;

type Ended = { code: number | null; stdout: string; stderr: string };

function launch(folder: string, command: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const path = [join(folder, 'bin'), searchPath()].join(delimiter);
  const child = spawn(command, args, {
    cwd: folder,
    env: environmentWith({ NODE_OPTIONS: '', NODE_ENV: 'test', PATH: path, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanUps.push(() => child.kill('SIGKILL'));
  return child;
}

async function ended(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [child.stdout, child.stderr].map(async (stream) => {
    let text = '';
    for await (const chunk of stream ?? []) text += String(chunk);
    return text;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, stdout: (await stdout) ?? '', stderr: (await stderr) ?? '' };
}

function run(folder: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return ended(launch(folder, process.execPath, [join('scripts', 'run.mjs'), ...args], env));
}

test('runs a script with the Node from node_modules, its flags and arguments, and that Node first on the PATH', async () => {
  const folder = await clone({
    ...installed,
    [bundledNode]: `#!/bin/sh\nif [ "$1" = --version ]; then exit 0; fi\necho "$@"; echo "\${PATH%%:*}"\n`,
  });
  const { code, stdout, stderr } = await run(folder, ['--flag', 'file.ts', '--json', 'a b']);
  const node = dirname(join(folder, bundledNode));
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: `--disable-warning=ExperimentalWarning --flag file.ts --json a b\n${node}\n`,
    stderr: '',
  });
});

test('falls back to the Node that started it when the one from node_modules does not run', async () => {
  const folder = await clone({
    ...installed,
    [bundledNode]: '#!/bin/sh\nexit 127\n',
    'file.ts': 'const path: string = process.execPath;\nconsole.log(path);\nprocess.exitCode = 7;\n',
  });
  expect(await run(folder, ['file.ts'])).toEqual({ code: 7, stdout: `${process.execPath}\n`, stderr: '' });
});

test('forwards signals to the script, and exits with 128 plus the signal that ended it', async () => {
  const file = `
    process.on('SIGTERM', () => { console.log('draining'); setTimeout(() => process.exit(9), 50); });
    console.log(process.pid); setInterval(() => undefined, 1000);`;
  const folder = await clone({ ...installed, 'file.mjs': file });
  const start = async (): Promise<{ starter: ChildProcess; pid: number }> => {
    const starter = launch(folder, process.execPath, ['scripts/run.mjs', 'file.mjs']);
    if (starter.stdout === null) throw new Error('The output is not piped.');
    const [line] = (await once(starter.stdout, 'data')) as [Buffer];
    return { starter, pid: Number(line) };
  };

  const drained = await start();
  drained.starter.kill('SIGTERM');
  drained.starter.kill('SIGTERM');
  expect(await ended(drained.starter)).toMatchObject({ code: 9, stdout: 'draining\n' });

  const killed = await start();
  process.kill(killed.pid, 'SIGKILL');
  expect((await ended(killed.starter)).code).toBe(128 + constants.signals.SIGKILL);

  const interrupted = await start();
  interrupted.starter.kill('SIGINT');
  expect((await ended(interrupted.starter)).code).toBe(128 + constants.signals.SIGINT);
  expect(isRunning(interrupted.pid)).toBe(false);
});

/** The npm scripts as they are, by name. */
async function npmScripts(): Promise<Record<string, string>> {
  return (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> })
    .scripts;
}

test('npm start, producer and worker leave nothing between npm and the process, and SIGTERM reaches it once', async () => {
  const file = `
    process.on('SIGTERM', () => { console.log('draining'); setTimeout(() => process.exit(9), 50); });
    console.log(process.ppid); setInterval(() => undefined, 1000);`;
  const folder = await clone({
    ...installed,
    'package.json': JSON.stringify({ type: 'module', scripts: await npmScripts() }),
    'spillway.ts': file,
    'producer/main.ts': file,
    'worker/main.ts': file,
  });
  const starts = ['start', 'producer', 'worker'].map(async (script) => {
    const npm = launch(folder, 'npm', ['run', '--silent', script]);
    const [parent] = (await once(npm.stdout ?? npm, 'data')) as [Buffer];
    expect([script, Number(parent)]).toEqual([script, npm.pid]);
    npm.kill('SIGTERM');
    expect(await ended(npm)).toMatchObject({ code: 9, stdout: 'draining\n' });
  });
  await Promise.all(starts);
});

test('npm start works in a folder with a quote and a space in its name, and fails as the install does', async () => {
  const says = { 'spillway.ts': 'console.log(process.env.NODE_COMPILE_CACHE)' };
  const folder = await clone({ 'bin/npm': '#!/bin/sh\nexit 146\n', ...says }, "it's here");
  const start = (await npmScripts()).start ?? '';
  expect(await ended(launch(folder, 'sh', ['-c', start]))).toMatchObject({ code: 1, stdout: '' });
  await mkdir(join(folder, 'node_modules'));
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), installedLock);
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled') };
  const started = await ended(launch(folder, 'sh', ['-c', start], env));
  expect(started).toEqual({ code: 0, stdout: `${env.NODE_COMPILE_CACHE}\n`, stderr: '' });
});

test('missing dependencies are installed once, although two scripts start at the same time', async () => {
  const folder = await clone({ 'bin/npm': installingNpm, 'file.mjs': 'console.log("started")' });
  const both = await Promise.all([run(folder, ['file.mjs']), run(folder, ['file.mjs'])]);
  expect(both.map(({ code, stdout }) => ({ code, stdout }))).toEqual(Array(2).fill({ code: 0, stdout: 'started\n' }));
  expect(both.map(({ stderr }) => stderr).join('')).toBe(
    'Installing the dependencies with npm ci (once; about half a minute)...\n',
  );
  expect(await readFile(join(folder, 'npm-calls'), 'utf8')).toBe('ci --loglevel=error\n');
  expect(await readdir(join(folder, '.cache'))).not.toContain('installing');
});

test('reinstalls dependencies that differ from the lock; in production dev dependencies may be missing', async () => {
  const folder = await clone({
    'node_modules/.package-lock.json': installedLock.replace('1.0.0', '0.9.0'),
    'bin/npm': installingNpm,
    'file.mjs': '',
  });
  expect((await run(folder, ['file.mjs'])).stderr).toContain('Installing');
  expect((await run(folder, ['file.mjs'])).stderr).toBe('');
  const production = JSON.stringify({ packages: { 'node_modules/needed': { version: '1.0.0' } } });
  await writeFile(join(folder, 'node_modules', '.package-lock.json'), production);
  expect((await run(folder, ['file.mjs'], { NODE_ENV: 'production' })).stderr).toBe('');
  expect((await run(folder, ['file.mjs'])).stderr).toContain('Installing');
});

test('a failed install is reported with exit code 1 and starts nothing; the next start installs again', async () => {
  const npm = '#!/bin/sh\necho "npm error network" >&2\nexit 146\n';
  const folder = await clone({ 'bin/npm': npm, 'file.mjs': 'console.log("started")' });
  const { code, stdout, stderr } = await run(folder, ['file.mjs']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/npm error network\nnpm ci failed with exit code 146, so the dependencies are missing/);

  // A start that was killed half-way leaves its lock; its pid tells that it is gone.
  const dead = spawn('true');
  await once(dead, 'exit');
  await symlink(String(dead.pid), join(folder, '.cache', 'installing'));
  await writeFile(join(folder, 'bin', 'npm'), installingNpm);
  expect(await run(folder, ['file.mjs'])).toMatchObject({ code: 0, stdout: 'started\n' });
});

function runCi(folder: string, env: Record<string, string> = {}): Promise<Ended> {
  return ended(launch(folder, 'bash', [join('.ci', 'run')], { CI: 'true', ...env }));
}

function lastLine(text: string): string | undefined {
  return text.split('\n').at(-2);
}

test('.ci/run streams the tests, then the deep ones where they pass, and ends with the counts of both and the exit code', async () => {
  const summary = 'printf "\\033[1mTests:\\033[22m       1 failed, 2 skipped, 40 passed, 43 total\\n" >&2';
  const folder = await clone({ 'bin/npm': `#!/bin/sh\necho "npm $*"\n${summary}\nexit 3\n` });
  const failing = await runCi(folder);
  expect(failing.code).toBe(3);
  expect(failing.stdout).toMatch(/^npm test\n/);
  expect(lastLine(failing.stdout)).toBe('40 passed, 1 failed');

  await writeFile(
    join(folder, 'bin', 'npm'),
    '#!/bin/sh\necho "npm $*"\necho "Tests:       40 passed, 40 total" >&2\n',
  );
  const passing = await runCi(folder);
  expect(passing).toMatchObject({ code: 0, stderr: '' });
  expect(passing.stdout.match(/^npm .*$/gm)).toEqual(['npm test', 'npm run test:deep']);
  expect(lastLine(passing.stdout)).toBe('80 passed, 0 failed');
});

test('.ci/run reports 1 failed when no test ran or something other than a test failed', async () => {
  const folder = await clone({ 'bin/npm': '#!/bin/sh\nexit 0\n' });
  const nothing = await runCi(folder);
  expect(nothing.code).not.toBe(0);
  expect(lastLine(nothing.stdout)).toBe('0 passed, 1 failed');

  await writeFile(join(folder, 'bin', 'npm'), '#!/bin/sh\necho "Tests:       5 passed, 5 total"\nexit 1\n');
  const lint = await runCi(folder);
  expect(lint.code).toBe(1);
  expect(lastLine(lint.stdout)).toBe('5 passed, 1 failed');
});

test('.ci/run kills processes that the tests leave behind, and tests that exceed the time limit', async () => {
  // The second one leaves the process group, as a server that outlives its starter does.
  const leavers = `
    sleep 300 & echo "left $!"
    (cd "$(mktemp -d)" && exec node -e "
      const child = require('node:child_process').spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
      console.log('left ' + child.pid);
      process.exit(0)")
    echo "Tests:       5 passed, 5 total"`;
  const folder = await clone({ 'bin/npm': `#!/bin/sh\n${leavers}\n` });
  const left = await runCi(folder);
  expect(left.code).toBe(0);
  expect(lastLine(left.stdout)).toBe('10 passed, 0 failed');
  const pids = [...left.stdout.matchAll(/left (\d+)/g)].map(([, pid]) => Number(pid));
  expect(pids).toHaveLength(4);
  await pause(50);
  expect(pids.filter(isRunning)).toEqual([]);

  await writeFile(join(folder, 'bin', 'npm'), `#!/bin/sh\n${leavers}\nsleep 300\n`);
  const slow = await runCi(folder, { CI_RUN_LIMIT_SECONDS: '1' });
  expect(slow.code).toBe(124);
  expect(slow.stdout).toContain('The tests were ended after 1 seconds.');
  expect(lastLine(slow.stdout)).toBe('5 passed, 1 failed');
});

test('.ci/run kills its child processes on SIGTERM', async () => {
  const folder = await clone({ 'bin/npm': '#!/bin/sh\nsleep 300 & echo "left $!"\nwait\n' });
  const ci = launch(folder, 'bash', [join('.ci', 'run')]);
  if (ci.stdout === null) throw new Error('The output is not piped.');
  const [line] = (await once(ci.stdout, 'data')) as [Buffer];
  const pid = Number(/left (\d+)/.exec(line.toString())?.[1]);
  expect(isRunning(pid)).toBe(true);
  ci.kill('SIGTERM');
  expect((await ended(ci)).code).toBe(143);
  await pause(50);
  expect(isRunning(pid)).toBe(false);
});
