import { userInfo } from 'node:os';
import { parseArgs } from 'node:util';
import { provideOwnRedis } from '../../shared/app/find-redis.ts';
import type { Config } from '../../shared/base/config.ts';
import { connectRedis, untilReady } from '../../shared/redis/connection.ts';
import { shardsProblem } from '../../shared/redis/keeping.ts';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { LETTER_NAME } from '../../shared/state/lane/dead-letters.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { ENTRY_NAME, TRACE_NAME } from '../report/message-location.ts';
import type { Report, ReportSource } from '../report/report.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';
import { textOf } from './text.ts';

const AN_ENTRY = 'an entry, 1700000000000-0, or a trace id of 32 hexadecimal digits, as alerts and the log have them';
const A_CHAT = 'a chat: its number, with a minus sign for a group, and .<topic> for a topic';

/** Whether a word can be an argument of its kind, and what is expected. */
const ARGUMENTS = {
  message: { as: '<id>', isValid: isMessage, expected: AN_ENTRY },
  chat: { as: '<chat>', isValid: isChat, expected: A_CHAT },
  target: {
    as: '<id>|<chat>',
    isValid: (word: string) => isMessage(word) || isChat(word),
    expected: `${AN_ENTRY}; or ${A_CHAT}`,
  },
  letter: {
    as: '<id>',
    isValid: (word: string) => LETTER_NAME.test(word),
    expected: 'the id of a dead letter, 1700000000000-0, as "dead list" shows it',
  },
  someone: {
    as: '<who>',
    isValid: (word: string) => parseChatKey(word)?.chat === word && /^-?[1-9]\d*$/.test(word),
    expected: 'the number of a person, or that of a group, which begins with a minus sign',
  },
  file: { as: '<file>', isValid: () => true, expected: 'a file' },
} as const;

type Kind = keyof typeof ARGUMENTS;

/** An option: a flag, or one with a value, which is a number where it has bounds. */
export interface Option {
  as?: string;
  min?: number;
  max?: number;
}

/** A verb of the command line: its arguments, its help and what it does come from here alone. */
export interface Verb {
  /** One word, or two: `dead list`. */
  name: string;
  /** One that may be absent ends with `?`. */
  args?: readonly (Kind | `${Kind}?`)[];
  options?: Readonly<Record<string, Option>>;
  /** It changes something: it takes `--why` and `--by`. */
  acts?: true;
  /** For the list of verbs. */
  summary: string;
  about: string;
  exits: string;
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
  print(value: unknown, words: () => Report | string): void;
}

/** The installation that a verb reads and changes. */
export interface Ground extends ReportSource {
  config: Config;
}

const READY_MS = 10_000;
const ACTS: Readonly<Record<string, Option>> = { why: { as: 'TEXT' }, by: { as: 'NAME' } };
const ACTS_HELP =
  'Who did it and why is recorded (see "actions"): --why TEXT, and --by NAME instead of the user of this machine.';
/** No argument begins with a zero byte. */
const MARK = '\0';

/** A verb with its arguments. Pure. */
export function namedUsage({ name, args = [] }: Verb): string {
  const words = args.map((arg) => {
    const { as } = ARGUMENTS[arg.replace('?', '') as Kind];
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
  const { about, acts, exits, examples = [] } = verb;
  const lines = examples.map((example) => `  npm run cli -- ${example}`);
  const text = [about, ...(acts ? [ACTS_HELP] : []), `Exit code ${exits}.`].join('\n');
  return [`Usage: npm run cli -- ${usageOf(verb)}`, text, ...(lines.length > 0 ? [lines.join('\n')] : [])].join('\n\n');
}

/** Reads what stands behind a verb. The id of a group begins with a minus sign, and is no option. Throws `UsageError`. */
export function callOf(verb: Verb, args: readonly string[], terminal: Terminal): Call {
  const help = helpOf(verb);
  const options = { ...verb.options, ...(verb.acts && ACTS) };
  const { positionals, values } = parsed(args, options, help);
  const kinds = verb.args ?? [];
  const needed = kinds.filter((kind) => !kind.endsWith('?')).length;
  if (positionals.length < needed || positionals.length > kinds.length) throw new UsageError(help);
  for (const [at, word] of positionals.entries()) {
    const kind = (kinds[at] ?? '').replace('?', '') as Kind;
    const { isValid, expected } = ARGUMENTS[kind];
    if (!isValid(word)) throw new UsageError(`"${word}" is not a valid argument: expected ${expected}.\n\n${help}`);
  }
  const isJson = values.json !== undefined;
  return {
    ...{ words: positionals, options: values, isJson, terminal, help },
    attribution: { by: values.by || userOfMachine(), why: values.why ?? '' },
    print(value, words) {
      const text = isJson ? JSON.stringify(value) : words();
      terminal.line(typeof text === 'string' ? text : textOf(text));
    },
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
    for (const [name, value] of Object.entries(given)) assertNumber({ name, value, help }, options[name]);
    return { positionals: positionals.map(plain), values: given as Call['options'] };
  } catch (error) {
    // The message of parseArgs about an option says less than the help.
    throw error instanceof UsageError ? error : new UsageError(help);
  }
}

function assertNumber(
  { name, value, help }: { name: string; value: string; help: string },
  { min, max = Number.POSITIVE_INFINITY }: Option = {},
): void {
  if (min === undefined || (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max)) return;
  throw new UsageError(`--${name} is a whole number from ${min} to ${max}, and not "${value}".\n\n${help}`);
}

function isMessage(word: string): boolean {
  return ENTRY_NAME.test(word) || TRACE_NAME.test(word);
}

function isChat(word: string): boolean {
  return parseChatKey(word) !== undefined;
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
export async function withRedis(terminal: Terminal, work: (ground: Ground) => Promise<number>): Promise<number> {
  const { config } = usableConfig(terminal, 'tool');
  const provided = await provideOwnRedis(config);
  if (!provided.ok) throw new UsageError(provided.problem);
  const redis = connectRedis(provided.url, 'patient');
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
