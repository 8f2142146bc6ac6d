/**
 * Starts every npm script: `node scripts/run.mjs [--as-shell] [node flags...] <file> [args...]`.
 *
 * A fresh clone on a machine with only Node and npm must work, so this installs the dependencies when they are missing
 * or differ from the lock, and runs the file with the Node that comes with them. It uses no dependency and runs on
 * Node 18, because it is what runs before there is anything else. Exit codes: those of the file; 1 when the install
 * fails; 2 when there is no Node that is new enough.
 *
 * With `--as-shell` it prints the last step, as one command for a POSIX shell, instead of taking it. A shell that runs
 * the command becomes the file's process: nothing stays in memory beside a service, and its signals reach it directly.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNodeMajor = 24;
const installLock = join(root, '.cache', 'install.lock');
const installLockMaxAgeMs = 15 * 60_000;
/** Where Node keeps what it compiled and stripped of types: a start with it costs about half the CPU. */
const compileCache = join(root, '.cache', 'compiled');
const lockPollMs = 200;
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

const asShell = process.argv[2] === '--as-shell';
const given = process.argv.slice(asShell ? 3 : 2);
if (given.length === 0) stopWith(2, 'Usage: node scripts/run.mjs [--as-shell] [node flags...] <file> [args...]');
if (!isInstalled()) await installOnce();
const node = pickNode();
const path = [dirname(node), process.env.PATH ?? ''].join(delimiter);
const flags = ['--disable-warning=ExperimentalWarning', ...given];
const env = { NODE_COMPILE_CACHE: compileCache, ...process.env, PATH: path };
if (asShell) process.stdout.write(shellCommand(env, [node, ...flags]));
else process.exitCode = await runToEnd(node, flags, { stdio: 'inherit', env });

/** What a shell runs to become that process. */
function shellCommand({ NODE_COMPILE_CACHE, PATH }, words) {
  const set = Object.entries({ NODE_COMPILE_CACHE, PATH }).map(([name, value]) => `${name}=${quoted(value)}`);
  return `exec env ${[...set, ...words.map(quoted)].join(' ')}\n`;
}

function quoted(word) {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Whether node_modules holds what the lock says, however it was installed. npm writes its record of it last. */
function isInstalled() {
  const wanted = packagesIn(join(root, 'package-lock.json'));
  const present = packagesIn(join(root, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(([place, entry]) => {
    if (place === '') return true;
    const found = present[place];
    return found === undefined ? mayBeMissing(entry) : found.version === entry.version;
  });
}

/** Packages for other platforms are not installed, and in production those for development are not either. */
function mayBeMissing(entry) {
  return entry.optional || entry.devOptional || (entry.dev && process.env.NODE_ENV === 'production');
}

function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch (error) {
    if (error.code === 'ENOENT') return {};
    throw error;
  }
}

/** Of several starts at once, one installs and the others wait for it. */
async function installOnce() {
  mkdirSync(dirname(installLock), { recursive: true });
  while (!takeInstallLock()) await new Promise((resolve) => setTimeout(resolve, lockPollMs));
  try {
    if (!isInstalled()) await install();
  } finally {
    rmSync(installLock, { recursive: true, force: true });
  }
}

function takeInstallLock() {
  try {
    mkdirSync(installLock);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isAbandoned()) rmSync(installLock, { recursive: true, force: true });
    return false;
  }
  writeFileSync(join(installLock, 'pid'), String(process.pid));
  return true;
}

function isAbandoned() {
  try {
    if (Date.now() - statSync(installLock).mtimeMs > installLockMaxAgeMs) return true;
    process.kill(Number(readFileSync(join(installLock, 'pid'), 'utf8')), 0);
    return false;
  } catch (error) {
    // No pid file yet means that the holder is just starting; only a missing process counts.
    return error.code === 'ESRCH';
  }
}

async function install() {
  process.stderr.write('Installing the dependencies with npm ci (once; about half a minute)...\n');
  // The summary on standard output is dropped: what the started file prints must be all there is.
  const how = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' };
  const code = await runToEnd('npm', ['ci', '--loglevel=error'], how);
  if (code === 0) return;
  rmSync(installLock, { recursive: true, force: true });
  stopWith(1, `npm ci failed with exit code ${code}, so the dependencies are missing; its messages are above.`);
}

function pickNode() {
  const own = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  // It is there but does not run on a system with another C library.
  if (existsSync(own) && spawnSync(own, ['--version']).status === 0) return own;
  if (Number(process.versions.node.split('.')[0]) >= oldestNodeMajor) return process.execPath;
  return stopWith(
    2,
    `Spillway needs Node ${oldestNodeMajor} or later and none comes with it for ${process.platform}-${process.arch}: ` +
      `install a current Node (this one is ${process.versions.node}).`,
  );
}

/** Resolves with the exit code, 128 + n for signal n. Signals to this process are handed on to the child, once each. */
function runToEnd(command, args, options) {
  return new Promise((resolve) => {
    const child = spawn(command, args, options);
    const handedOn = new Set();
    const handOn = (signal) => {
      // A terminal sends these to the child as well, and a second Ctrl-C would mean "do not wait for the drain".
      const childHasIt = process.stdin.isTTY && signal !== 'SIGTERM';
      if (!childHasIt && !handedOn.has(signal)) child.kill(signal);
      handedOn.add(signal);
    };
    for (const signal of signals) process.on(signal, handOn);
    const finish = (code) => {
      for (const signal of signals) process.off(signal, handOn);
      resolve(code);
    };
    child.on('error', (error) => {
      process.stderr.write(`${command} could not be started: ${error.message}\n`);
      finish(1);
    });
    child.on('exit', (code, signal) => finish(signal === null ? code : 128 + constants.signals[signal]));
  });
}

function stopWith(code, message) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}
