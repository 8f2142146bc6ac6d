import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { provideOwnRedis } from '../../shared/app/find-redis.ts';
import { pause } from '../../shared/base/lifecycle.ts';
import { type ConnectionUse, connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { shardsProblem } from '../../shared/redis/keeping.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { ARGUMENTS, type Kinds, kindOf, type Option, optionProblem, wordsProblem } from '../report/arguments.ts';
import type { ReportGround } from '../report/report.ts';
import { type ReportName, reportOf } from '../report/reports.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';
import { textOf } from './text.ts';

/** A verb of the command line: its arguments, its help and what it does come from here alone. */
export interface Verb {
  /** One word, or two: `dead list`. */
  name: string;
  /** One that may be absent ends with `?`. */
  args?: Kinds;
  options?: Readonly<Record<string, Option>>;
  /** It changes something: it takes `--why` and `--by`. */
  acts?: true;
  /** For the list of verbs. */
  summary: string;
  about: string;
  /** The exit codes; by default 0, or 2 for usage or configuration. */
  exits?: string;
  examples?: readonly string[];
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

/** The installation that a verb reads and changes. */
export type Ground = ReportGround;

const READY_MS = 10_000;
const EVERY_S_DEFAULT = 2;
/** Home, and erase to the end of each line and of the screen: nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';
const ACTS: Readonly<Record<string, Option>> = { why: { as: 'TEXT' }, by: { as: 'NAME' } };
const ACTS_HELP =
  'Who did it and why is recorded (see "actions"): --why TEXT, and --by NAME instead of the user of this machine.';
/** No argument begins with a zero byte. */
const MARK = '\0';

/** A verb with its arguments. Pure. */
export function namedUsage({ name, args = [] }: Verb): string {
  const words = args.map((arg) => {
    const { as } = ARGUMENTS[kindOf(arg)];
    return arg.endsWith('?') ? `[${as.slice(1, -1)}]` : as;
  });
  return [name, ...words].join(' ');
}

/** A verb with its arguments and options. */
function usageOf(verb: Verb): string {
  const { options = {}, acts } = verb;
  const all = { ...options, ...(acts && ACTS), json: {} };
  const optional = Object.entries(all).map(
    ([each, { as }]: [string, Option]) => `[--${each}${as === undefined ? '' : ` ${as}`}]`,
  );
  return [namedUsage(verb), ...optional].join(' ');
}

/** The help of a verb. Pure. */
export function helpOf(verb: Verb): string {
  const { about, acts, exits = '0, or 2 for usage or configuration', examples = [] } = verb;
  const lines = examples.map((example) => `  npm run cli -- ${example}`);
  const text = [about, ...(acts ? [ACTS_HELP] : []), `Exit code ${exits}.`].join('\n');
  return [`Usage: npm run cli -- ${usageOf(verb)}`, text, ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n');
}

/** Reads what stands behind a verb. The id of a group begins with a minus sign, and is no option. Throws `UsageError`. */
export function callOf(verb: Verb, args: readonly string[], terminal: Terminal): Call {
  const help = helpOf(verb);
  const options = { ...verb.options, ...(verb.acts && ACTS) };
  const { positionals, values } = parsed(args, options, help);
  const problem = wordsProblem(verb.args ?? [], positionals);
  if (problem !== undefined) throw new UsageError(`${problem}\n\n${help}`.trim());
  const isJson = values.json !== undefined;
  return {
    ...{ words: positionals, options: values, isJson, terminal, help },
    attribution: { by: values.by || userOfMachine(), why: values.why ?? '' },
    print: (value, words) => terminal.line(isJson ? JSON.stringify(value) : words()),
  };
}

function parsed(args: readonly string[], options: Readonly<Record<string, Option>>, help: string) {
  const types = Object.entries(options).map(
    ([name, { as }]) => [name, { type: as === undefined ? 'boolean' : 'string' }] as const,
  );
  const config = { json: { type: 'boolean' as const }, ...Object.fromEntries(types) };
  const escaped = args.map((arg) => (/^-\d/.test(arg) ? MARK + arg : arg));
  const plain = (text: unknown) => String(text).replace(MARK, '');
  try {
    const { positionals, values } = parseArgs({ args: escaped, options: config, allowPositionals: true });
    const given = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]));
    for (const [name, value] of Object.entries(given)) {
      const problem = optionProblem(name, value, options[name]);
      if (problem !== undefined) throw new UsageError(`--${problem}\n\n${help}`);
    }
    return { positionals: positionals.map(plain), values: given as Call['options'] };
  } catch (error) {
    // The message of parseArgs about an option says less than the help.
    throw error instanceof UsageError ? error : new UsageError(help);
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
  const { config } = usableConfig(terminal, 'tool');
  const provided = await provideOwnRedis(config);
  if (!provided.ok) throw new UsageError(provided.problem);
  const redis = connectRedis(provided.url, use);
  try {
    await untilReady(redis, READY_MS);
    const problem = await shardsProblem(redis, config.SHARDS);
    if (problem !== undefined) throw new UsageError(problem);
    return await work({ redis, shards: config.SHARDS, config });
  } finally {
    redis.disconnect();
    await provided.stop();
  }
}

/** Prints a report, again and again with `--watch`; the exit code is that of the report. */
export async function show(name: ReportName, call: Call): Promise<number> {
  const { words, options, isJson, terminal } = call;
  const { read, showsWords } = reportOf(name);
  const seesWords = showsWords || options.content !== undefined;
  const asked = { words, options, ...(seesWords && { content: true }) };
  const everyMs = Number(options.every ?? EVERY_S_DEFAULT) * 1000;
  const screen = (text: string) =>
    terminal.line(`${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`);
  const readNow = await read();
  const print = async (ground: Ground, line: (text: string) => void): Promise<number> => {
    const {
      report,
      json,
      code = 0,
    } = await readNow(ground, asked).catch((error: Error) => {
      throw ground.redis.status === 'ready' ? error : new Error('Redis does not answer.');
    });
    line(isJson ? JSON.stringify(json) : textOf(report));
    return code;
  };
  const work = async (ground: Ground): Promise<number> => {
    if (options.watch === undefined) return print(ground, terminal.line);
    const line = isJson ? terminal.line : screen;
    while (terminal.isRead()) {
      await print(ground, line).catch((error: Error) => terminal.line(`RED  ${error.message}`));
      await pause(everyMs);
    }
    return 0;
  };
  // An operator does not wait for a Redis that is away.
  return withRedis(terminal, work, 'impatient');
}
