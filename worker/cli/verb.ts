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

/** A verb of the command line, with its arguments, its help and its function. */
export interface Verb extends Pick<ReportRule, 'args' | 'options' | 'summary' | 'about' | 'exits' | 'examples'> {
  /** One word, or two such as `dead list`. */
  name: string;
  /** Whether the verb changes something, and so takes `--why` and `--by`. */
  acts?: true;
  /** Loads only this verb's function, since loading the modules of all verbs would take most of the time of a call. */
  load: () => Promise<RunVerb>;
}

/** Runs a verb and returns the exit code. Throws `UsageError` for invalid arguments or settings. */
export type RunVerb = (call: Call) => Promise<number>;

/** The parsed arguments of a verb, and its output. */
export interface Call {
  words: readonly string[];
  options: Readonly<Record<string, string | undefined>>;
  isJson: boolean;
  attribution: Attribution;
  terminal: Terminal;
  help: string;
  /** Prints the value as JSON with `--json`, otherwise the words. */
  print(value: unknown, words: () => string): void;
}

const READY_MS = 10_000;
const EVERY_S_DEFAULT = 2;
/** Escape codes that overwrite the screen line by line, so that nothing flickers. */
const HOME = '\x1b[H';
const ERASE_LINE = '\x1b[K\n';
const ERASE_BELOW = '\x1b[J';
const ACTS: Readonly<Record<string, Option>> = { why: { as: 'TEXT' }, by: { as: 'NAME' } };
const ACTS_HELP =
  'Who did it and why is recorded (see "actions"): --why TEXT, and --by NAME instead of the user of this machine.';

/** The verb with its arguments, e.g. `pause [chat]`. */
export function synopsisOf({ name, args = [] }: Verb): string {
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
  return [synopsisOf(verb), ...optional].join(' ');
}

export function helpOf(verb: Verb): string {
  const { summary, about, acts, exits = '0', examples = [] } = verb;
  const head = compact(`${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`, about);
  const lines = examples.map((example) => `  npm run cli -- ${example}`);
  const text = [...head, ...(acts ? [ACTS_HELP] : []), `Exit code ${exits}; 2 for usage or configuration.`].join('\n');
  return [`Usage: npm run cli -- ${usageOf(verb)}`, text, ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n');
}

/** Parses the arguments after a verb. Throws `UsageError` if they are invalid. */
export function callOf(verb: Verb, args: readonly string[], terminal: Terminal): Call {
  const help = helpOf(verb);
  const { words, options } = parseWords(args, optionsOf(verb), help);
  const problems = Object.entries(optionsOf(verb)).map(([name, option]) => {
    const value = options[name];
    return value === undefined ? undefined : optionProblem(name, value, option);
  });
  const optionError = problems.find((problem) => problem !== undefined);
  const problem = optionError === undefined ? wordsProblem(verb.args ?? [], words) : `--${optionError}`;
  if (problem !== undefined) throw new UsageError(`${problem}\n\n${help}`.trim());
  const isJson = options.json !== undefined;
  return {
    ...{ words, options, isJson, terminal, help },
    attribution: { by: options.by || userOfMachine(), why: options.why ?? '' },
    print: (value, words) => terminal.line(isJson ? JSON.stringify(value) : words()),
  };
}

function parseWords(args: readonly string[], options: Readonly<Record<string, Option>>, help: string) {
  const types = Object.entries(options).map(
    ([name, { as }]) => [name, { type: as === undefined ? 'boolean' : 'string' }] as const,
  );
  // The id of a group begins with a minus sign. Put a space in front, or `parseArgs` would read the id as an option.
  const safeArgs = args.map((arg) => arg.replace(/^(?=-\d)/, ' '));
  try {
    const config = { args: safeArgs, options: Object.fromEntries(types), allowPositionals: true };
    const { positionals, values } = parseArgs(config);
    const entries = Object.entries(values).map(([name, value]) => [name, String(value).trimStart()]);
    return {
      words: positionals.map((word) => word.trimStart()),
      options: Object.fromEntries(entries) as Call['options'],
    };
  } catch {
    // The help says more than the error of `parseArgs`.
    throw new UsageError(help);
  }
}

/** The name of the operating system's user, or the number of a user without a name, as in some containers. */
export function userOfMachine(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Runs work on the gateway's Redis: the one in the settings, or else the private one, which is started if it does not run.
 * Throws `UsageError` if the settings are unusable or no private server starts, and another error if Redis does not answer.
 */
export async function withRedis(
  terminal: Terminal,
  work: (context: ReportContext) => Promise<number>,
  use: ConnectionUse = 'patient',
): Promise<number> {
  const reading = terminal.readConfig('tool');
  if (!reading.ok) throw new UsageError(reading.problems.join('\n'));
  const { settings } = reading;
  const server = await provideOwnRedis(settings);
  if (!server.ok) throw new UsageError(server.problem);
  const redis = connectRedis(server.url, use);
  try {
    await untilReady(redis, READY_MS);
    const problem = await shardsProblem(redis, settings.SHARDS);
    if (problem !== undefined) throw new UsageError(problem);
    return await work({ redis, shards: settings.SHARDS, settings });
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/** Prints a report and returns its exit code. With `--watch`, repeats the report while the output has a reader. */
export async function show(name: ReportName, call: Call): Promise<number> {
  const { words, options, isJson, terminal, help } = call;
  const { every, watch, content } = options;
  if (every !== undefined && watch === undefined) throw new UsageError(`--every needs --watch.\n\n${help}`);
  const { read, showsContent } = reportOf(name);
  const request = { words, options, ...((showsContent || content !== undefined) && { content: true }) };
  const readReport = await read();
  const next = async (context: ReportContext) => {
    const { report, json, code } = await readReport(context, request).catch((error: Error) => {
      throw context.redis.status === 'ready' ? error : new Error('Redis does not answer.');
    });
    return { code: code ?? 0, text: isJson ? JSON.stringify(json) : textOf(report) };
  };
  const work = async (context: ReportContext): Promise<number> => {
    if (watch === undefined) {
      const { code, text } = await next(context);
      terminal.line(text);
      return code;
    }
    while (terminal.hasReader()) {
      const { text } = await next(context).catch((error: Error) => ({ text: `RED  ${error.message}` }));
      terminal.line(isJson ? text : `${HOME}${text.replaceAll('\n', ERASE_LINE)}${ERASE_LINE}${ERASE_BELOW}`);
      await pause(Number(every ?? EVERY_S_DEFAULT) * 1000);
    }
    return 0;
  };
  // `impatient`: fail at once if Redis does not answer.
  return withRedis(terminal, work, 'impatient');
}
