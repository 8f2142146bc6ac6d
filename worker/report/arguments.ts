import { clip } from '../../shared/base/text.ts';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { LETTER_NAME } from '../../shared/state/lane/dead-letters.ts';
import type { LetterFilter } from '../../shared/state/lane/letter-list.ts';
import { CODE } from '../../shared/state/pairing/strangers.ts';
import { ENTRY_NAME, TRACE_NAME } from './message-location.ts';
import type { ReportRequest } from './report.ts';

const WORD_CHARS = 40;
const EXPECTED_MESSAGE =
  'an entry, such as 1700000000000-0, a trace id of 32 hexadecimal digits, or the id of a dead letter, as in alerts and the log';
const EXPECTED_CHAT = 'the number of a chat, with a minus sign for a group, and .<topic> for a topic';

const isMessage = (word: string) => ENTRY_NAME.test(word) || TRACE_NAME.test(word);
const isChat = (word: string) => parseChatKey(word) !== undefined;

export const ARGUMENTS = {
  message: { as: '<id>', isValid: isMessage, expected: EXPECTED_MESSAGE },
  chat: { as: '<chat>', isValid: isChat, expected: EXPECTED_CHAT },
  target: {
    as: '<id>|<chat>',
    isValid: (word: string) => isMessage(word) || isChat(word),
    expected: `${EXPECTED_MESSAGE}; or ${EXPECTED_CHAT}`,
  },
  session: {
    as: '<chat>',
    isValid: (word: string) => isChat(word.split('/', 1)[0] ?? ''),
    expected: `${EXPECTED_CHAT}; or, for an earlier session, <chat>/<session>`,
  },
  letter: {
    as: '<id>',
    isValid: (word: string) => LETTER_NAME.test(word),
    expected: 'the id of a dead letter, such as 1700000000000-0, as "dead list" shows it',
  },
  incident: { as: '<name>', isValid: (word: string) => word !== '', expected: 'the name of an incident' },
  someone: {
    as: '<who>',
    isValid: (word: string) => CODE.test(word) || (parseChatKey(word)?.chat === word && /^-?[1-9]\d*$/.test(word)),
    expected: 'the number of a person, that of a group, which begins with a minus sign, or the code of a request',
  },
  file: { as: '<file>', isValid: () => true, expected: 'a file' },
} as const;

export type Kind = keyof typeof ARGUMENTS;

/** The kinds of a verb's arguments, in the order of the arguments. `?` marks an optional argument. */
export type Kinds = readonly (Kind | `${Kind}?`)[];

/** An option. Without `as`, it is a flag; with `as`, it has a value. With `min`, the value must be a whole number. */
export interface Option {
  as?: string;
  min?: number;
  max?: number;
  /** Checks a value that need not be a number; returns a text about its problem, or `undefined` if it has none. */
  problem?: (value: string) => string | undefined;
}

export function kindOf(kind: Kinds[number] | undefined): Kind {
  return (kind ?? 'file').replace('?', '') as Kind;
}

/** A text about the first invalid argument; empty if there are too few or too many, `undefined` if all are valid. Pure. */
export function wordsProblem(kinds: Kinds, words: readonly string[]): string | undefined {
  const requiredCount = kinds.filter((kind) => !kind.endsWith('?')).length;
  if (words.length < requiredCount || words.length > kinds.length) return '';
  for (const [at, word] of words.entries()) {
    const { isValid, expected } = ARGUMENTS[kindOf(kinds[at])];
    if (!isValid(word)) return `“${clip(word, WORD_CHARS)}” is not a valid argument: expected ${expected}.`;
  }
  return undefined;
}

/** A text about an invalid value of an option; `undefined` if the value is valid. Pure. */
export function optionProblem(name: string, value: string, option: Option = {}): string | undefined {
  const { min, max = Number.POSITIVE_INFINITY, problem } = option;
  if (problem !== undefined) return problem(value);
  if (min === undefined || (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max)) return undefined;
  return `${name} must be a whole number from ${min} to ${max}, not "${value}".`;
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3600_000, d: 24 * 3600_000 } as const;

/** The time that a text names: a duration before now, such as `90m`, or an ISO time; `NaN` if it names none. */
function sinceMsOf(text: string, nowMs: number): number {
  const [, number, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return nowMs - Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS];
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Options that filter dead letters. An empty value means no filter. */
export const FILTERS = {
  chat: {
    as: 'CHAT',
    problem: (value: string) =>
      value === '' || isChat(value) ? undefined : `chat must be the id of a chat, not "${value}".`,
  },
  reason: { as: 'REASON' },
  since: {
    as: 'TIME',
    problem: (value: string) =>
      value !== '' && Number.isNaN(sinceMsOf(value, 0))
        ? `since must be like 90m, 2h or 3d, or an ISO time, not "${value}".`
        : undefined,
  },
} as const satisfies Record<string, Option>;

/** The filter of dead letters from valid options. Pure. */
export function filterOf({ chat, reason, since }: ReportRequest['options'], nowMs: number): LetterFilter {
  const key = parseChatKey(chat ?? '')?.chat;
  return {
    ...(key !== undefined && { chat: key }),
    ...(reason && { reason }),
    ...(since && { sinceMs: sinceMsOf(since, nowMs) }),
  };
}
