import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { provideOwnRedis } from '../../shared/app/find-redis.ts';
import { pause } from '../../shared/base/lifecycle.ts';
import { type ConnectionUse, connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { shardsProblem } from '../../shared/redis/keeping.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { ARGUMENTS, kindOf, type Option, optionProblem, wordsProblem } from '../report/arguments.ts';
import { compact, type ReportContext } from '../report/report.ts';
import { type ReportName, type ReportRule, reportOf } from '../report/reports.ts';
import { type Terminal, UsageError } from './terminal.ts';
import { textOf } from './text.ts';

/** A verb of the command line: its arguments, its help and what it does come from here alone. */
export interface Verb extends Pick<ReportRule, 'args' | 'options' | 'summary' | 'about' | 'exits' | 'examples'> {
  /** One word, or two: `dead list`. */
  name: string;
  /** It changes something: it takes `--why` and `--by`. */
  acts?: true;
  /** Loaded alone: what the other verbs need would make up most of its time. */
  load: () => Promise<RunVerb>;
}

/** Does what a verb is for, and returns the exit code. Throws `UsageError` for arguments that do not fit together. */
export type RunVerb = (call: Call) => Promise<number>;

/** A verb with what stood behind it. */
export interface Call {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  isJson: boolean;
  attribution: Attribution;
  terminal: Terminal;
  help: string;
  /** Prints a value as JSON when it was asked for, or else its words. */
  print(value: unknown, words: () => string): void;
}

export type Ground = ReportContext;

const READY_MS = 10_000;
const EVERY_S_DEFAULT = 2;
/** Home, and erase to the end of each line and of the screen: nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';
const ACTS: Readonly<Record<string, Option>> = { why: { as: 'TEXT' }, by: { as: 'NAME' } };
const ACTS_HELP =
  'Who did it and why is recorded (see "actions"): --why TEXT, and --by NAME instead of the user of this machine.';

export function namedUsage({ name, args = [] }: Verb): string {
  const words = args.map((arg) => {
    const { as } = ARGUMENTS[kindOf(arg)];
    return arg.endsWith('?') ? `[${as.slice(1, -1)}]` : as;
  });
  return [name, ...words].join(' ');
}

function optionsOf({ options, acts }: Verb): Readonly<Record<string, Option>> {
  return { ...options, ...(acts && ACTS), json: {} };
}

function usageOf(verb: Verb): string {
  const optional = Object.entries(optionsOf(verb)).map(
    ([each, { as }]) => `[--${each}${as === undefined ? '' : ` ${as}`}]`,
  );
  return [namedUsage(verb), ...optional].join(' ');
}

export function helpOf(verb: Verb): string {
  const { summary, about, acts, exits = '0', examples = [] } = verb;
  const head = compact(`${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`, about);
  const lines = examples.map((example) => `  npm run cli -- ${example}`);
  const text = [...head, ...(acts ? [ACTS_HELP] : []), `Exit code ${exits}; 2 for usage or configuration.`].join('\n');
  return [`Usage: npm run cli -- ${usageOf(verb)}`, text, ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n');
}

/** Reads what stands behind a verb. Throws `UsageError`. */
export function callOf(verb: Verb, args: readonly string[], terminal: Terminal): Call {
  const help = helpOf(verb);
  const { words, options } = parsed(args, optionsOf(verb), help);
  const problems = Object.entries(optionsOf(verb)).map(([name, option]) => {
    const value = options[name];
    return value === undefined ? undefined : optionProblem(name, value, option);
  });
  const wrongOption = problems.find((problem) => problem !== undefined);
  const problem = wrongOption === undefined ? wordsProblem(verb.args ?? [], words) : `--${wrongOption}`;
  if (problem !== undefined) throw new UsageError(`${problem}\n\n${help}`.trim());
  const isJson = options.json !== undefined;
  return {
    ...{ words, options, isJson, terminal, help },
    attribution: { by: options.by || userOfMachine(), why: options.why ?? '' },
    print: (value, words) => terminal.line(isJson ? JSON.stringify(value) : words()),
  };
}

function parsed(args: readonly string[], options: Readonly<Record<string, Option>>, help: string) {
  const types = Object.entries(options).map(
    ([name, { as }]) => [name, { type: as === undefined ? 'boolean' : 'string' }] as const,
  );
  // The id of a group begins with a minus sign. parseArgs takes it for options unless a space is before it.
  const spaced = args.map((arg) => arg.replace(/^(?=-\d)/, ' '));
  try {
    const config = { args: spaced, options: Object.fromEntries(types), allowPositionals: true };
    const { positionals, values } = parseArgs(config);
    const given = Object.entries(values).map(([name, value]) => [name, String(value).trimStart()]);
    return {
      words: positionals.map((word) => word.trimStart()),
      options: Object.fromEntries(given) as Call['options'],
    };
  } catch {
    // The message of parseArgs about an option says less than the help.
    throw new UsageError(help);
  }
}

/** A container may run as a user that no file names. */
export function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Runs work on the gateway's Redis: the one from the environment, or else the private one, which is started for the
 * duration. Throws `UsageError` for an unusable configuration, and an error when Redis does not answer.
 */
export async function withRedis(
  terminal: Terminal,
  work: (ground: Ground) => Promise<number>,
  use: ConnectionUse = 'patient',
): Promise<number> {
  const reading = terminal.readConfig('tool');
  if (!reading.ok) throw new UsageError(reading.problems.join('\n'));
  const { settings } = reading;
  const provided = await provideOwnRedis(settings);
  if (!provided.ok) throw new UsageError(provided.problem);
  const redis = connectRedis(provided.url, use);
  try {
    await untilReady(redis, READY_MS);
    const problem = await shardsProblem(redis, settings.SHARDS);
    if (problem !== undefined) throw new UsageError(problem);
    return await work({ redis, shards: settings.SHARDS, settings });
  } finally {
    redis.disconnect();
    await provided.stop();
  }
}

/** Prints a report, again and again with `--watch`; the exit code is that of the report. */
export async function show(name: ReportName, call: Call): Promise<number> {
  const { words, options, isJson, terminal, help } = call;
  const { every, watch, content } = options;
  if (every !== undefined && watch === undefined) throw new UsageError(`--every needs --watch.\n\n${help}`);
  const { read, showsContent } = reportOf(name);
  const asked = { words, options, ...((showsContent || content !== undefined) && { content: true }) };
  const readNow = await read();
  const next = async (ground: Ground) => {
    const {
      report,
      json,
      code = 0,
    } = await readNow(ground, asked).catch((error: Error) => {
      throw ground.redis.status === 'ready' ? error : new Error('Redis does not answer.');
    });
    return { code, text: isJson ? JSON.stringify(json) : textOf(report) };
  };
  const work = async (ground: Ground): Promise<number> => {
    if (watch === undefined) {
      const { code, text } = await next(ground);
      terminal.line(text);
      return code;
    }
    while (terminal.isRead()) {
      const { text } = await next(ground).catch((error: Error) => ({ text: `RED  ${error.message}` }));
      terminal.line(isJson ? text : `${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`);
      await pause(Number(every ?? EVERY_S_DEFAULT) * 1000);
    }
    return 0;
  };
  // An operator does not wait for a Redis that is away.
  return withRedis(terminal, work, 'impatient');
}
