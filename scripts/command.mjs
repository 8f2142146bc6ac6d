#!/usr/bin/env node
/**
 * The command `spillway` of the package that `npm run build` makes. Starts the program that the first word names; without a
 * word, the gateway; with any other word, the operator's command line. Prints the help or the version on request. Even an old
 * Node must be able to run this file, which then reports that Node is too old.
 */
import { readFileSync } from 'node:fs';

const { version, engines } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const oldestNodeMajor = Number(/\d+/.exec(engines.node)[0]);
const programs = { start: 'spillway', setup: 'setup', producer: 'producer', worker: 'worker' };
const help = `  spillway start                  the gateway, producer and worker in one process; also without a word
  spillway setup                  asks what the gateway needs to know, tries it, and writes .env
  spillway producer               receives alone, with the same Redis and SHARDS
  spillway worker                 answers alone, with the same Redis and SHARDS
  spillway --version              the version

The settings (.env) and the data (data) are in the folder in which it is started.
`;

const [word = 'start', ...others] = process.argv.slice(2);
const isProgram = Object.hasOwn?.(programs, word);
const asksForHelp = [word, ...(isProgram ? others : [])].some((each) => ['--help', '-h', 'help'].includes(each));

if (Number(process.versions.node.split('.')[0]) < oldestNodeMajor) {
  refuse(`Spillway needs Node ${oldestNodeMajor} or later, and this one is ${process.versions.node}.`);
} else if (asksForHelp) {
  process.stdout.write(`${help}\n`);
  process.argv.splice(2, Number.POSITIVE_INFINITY, '--help');
  await import('./cli.js');
} else if (['--version', '-v'].includes(word)) {
  process.stdout.write(`${version}\n`);
} else if (isProgram && others.length > 0) {
  refuse(`"spillway ${word}" takes nothing behind it: settings are in the environment and in .env.`);
} else {
  await import(`./${isProgram ? programs[word] : 'cli'}.js`);
}

/** Prints a problem, and sets the exit code for a wrong configuration. */
function refuse(problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 2;
}
