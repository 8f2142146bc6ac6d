/**
 * Starts every npm script: `node scripts/run.mjs [--as-shell] [node flags...] <file> [args...]`.
 *
 * A fresh clone on a machine with only Node and npm must work. So this script installs the dependencies when they are missing
 * or differ from package-lock.json, and runs the file with the Node that the dependencies include, or else with the current
 * one. The script uses no dependency and runs on Node 18, because it runs before an install. Exit codes: those of the file; 1
 * when the install fails; 2 when no Node is new enough.
 *
 * With `--as-shell`, the script prints a command that runs the file, instead of running the file itself. A POSIX shell that
 * runs the command becomes the file's process, so no other process stays in memory, and signals reach the file's process.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNodeMajor = 24;
/** The lock of the install: a link whose target is the installer's process id. A link and its target appear in one step. */
const installLock = join(root, '.cache', 'installing');
const lockPollMs = 200;
/** The folder of Node's compile cache, which saves about half of a start's CPU time. */
const compileCache = join(root, '.cache', 'compiled');

const asShell = process.argv[2] === '--as-shell';
const nodeArgs = process.argv.slice(asShell ? 3 : 2);
if (!isInstalled()) await installOnce();
const node = pickNode();
const flags = ['--disable-warning=ExperimentalWarning', ...nodeArgs];
const own = {
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache,
  PATH: [dirname(node), process.env.PATH ?? ''].join(delimiter),
};
if (asShell) {
  const quoted = (word) => `'${word.replaceAll("'", `'\\''`)}'`;
  const set = Object.entries(own).map(([name, value]) => `${name}=${quoted(value)}`);
  process.stdout.write(`exec env ${[...set, ...[node, ...flags].map(quoted)].join(' ')}\n`);
} else process.exitCode = await runToEnd(node, flags, { stdio: 'inherit', env: { ...process.env, ...own } });

/** Whether node_modules has the packages of package-lock.json, according to the record that npm writes after an install. */
function isInstalled() {
  const present = packagesIn(join('node_modules', '.package-lock.json'));
  // npm installs no optional packages for other platforms and, in production, no packages for development.
  const mayBeMissing = ({ optional, devOptional, dev }) =>
    optional || devOptional || (dev && process.env.NODE_ENV === 'production');
  return Object.entries(packagesIn('package-lock.json')).every(([place, entry]) => {
    const version = present[place]?.version;
    return place === '' || version === entry.version || (version === undefined && mayBeMissing(entry));
  });
}

function packagesIn(file) {
  const path = join(root, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}

/** Installs the dependencies. If several scripts start at once, one installs, the others wait. Ends this process on failure. */
async function installOnce() {
  mkdirSync(dirname(installLock), { recursive: true });
  while (!takeInstallLock()) await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  const code = isInstalled() ? 0 : await install();
  rmSync(installLock, { force: true });
  if (code !== 0)
    stopWith(1, `npm ci failed with exit code ${code}, so the dependencies are missing; its messages are above.`);
}

function takeInstallLock() {
  try {
    symlinkSync(String(process.pid), installLock);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  try {
    process.kill(Number(readlinkSync(installLock)), 0);
  } catch (error) {
    // The process that had the lock has died.
    if (error.code === 'ESRCH') rmSync(installLock, { force: true });
  }
  return false;
}

function install() {
  process.stderr.write('Installing the dependencies with npm ci (once; about half a minute)...\n');
  // Drop npm's summary, because only the started file may write to standard output.
  return runToEnd('npm', ['ci', '--loglevel=error'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
}

function pickNode() {
  const bundled = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  // The bundled Node may be missing, or unable to run on a system with another C library.
  if (spawnSync(bundled, ['--version']).status === 0) return bundled;
  if (Number(process.versions.node.split('.')[0]) >= oldestNodeMajor) return process.execPath;
  return stopWith(
    2,
    `Spillway needs Node ${oldestNodeMajor} or later and none comes with it for ${process.platform}-${process.arch}: ` +
      `install a current Node (this one is ${process.versions.node}).`,
  );
}

/** Resolves with the exit code: 128 + n after signal n, 1 if the command cannot start. The child gets each signal once. */
function runToEnd(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, options);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      // A terminal sends SIGINT and SIGHUP to the child, too. A second SIGINT would end the child before its work is done.
      const childHasIt = process.stdin.isTTY && signal !== 'SIGTERM';
      process.once(signal, () => childHasIt || child.kill(signal));
      // Stay alive: this process must end after the child.
      process.on(signal, () => {});
    }
    child.on('error', (error) => {
      process.stderr.write(`${command} could not be started: ${error.message}\n`);
      resolve(1);
    });
    child.on('exit', (code, signal) => resolve(signal === null ? code : 128 + constants.signals[signal]));
  });
}

function stopWith(code, message) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
