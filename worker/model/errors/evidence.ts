import { type TokenCounts, tokenCountsIn } from './token-counts.ts';
import type { Fact } from './wordings.ts';

/** All that can be read from an error without trusting its shape. */
export interface Evidence {
  status: number | undefined;
  /** The error's text as plain text. */
  plain: string;
  /** The error's names, types and codes, and its sentences, each as plain text. */
  sentences: string[];
  facts: readonly Fact[];
  sizes: TokenCounts;
  /** How long the provider asks to wait. */
  retryAfterMs: number | undefined;
  /** How long until a rate limit that is used up starts again. */
  resetMs: number | undefined;
  /** The input tokens that an account may send within a minute. */
  rateTokens: number | undefined;
  requestId: string | undefined;
  path: { message: number; block?: number } | undefined;
}

/** Reads an error of any shape. Never throws for a hostile getter or proxy; looks at a bounded part of it. */
export function readEvidence(error: unknown): Evidence {
  const parts = partsOf(error);
  const raw = textOf(error);
  const plain = plainText(raw);
  const sizes = tokenCountsIn(plain);
  const retryAfterMs = firstDefined(parts, retryAfterHeader) ?? retryAfterText(plain);
  const path = pathIn(plain);
  const facts = {
    page: /<!doctype html|<html[\s>]/i.test(raw),
    place: path !== undefined,
    wait: retryAfterMs !== undefined,
    numbers: sizes.observed !== undefined && sizes.limit !== undefined,
  };
  return {
    status: firstDefined(parts, statusOf) ?? statusInText(plain),
    plain,
    sentences: [...labelsOf(parts, raw), ...sentencesOf(plain)].filter((sentence) => sentence.trim() !== ''),
    facts: (Object.keys(facts) as (keyof typeof facts)[]).filter((fact) => facts[fact]),
    sizes,
    retryAfterMs,
    resetMs: firstDefined(parts, resetHeader),
    rateTokens:
      firstDefined(parts, (part) => Number(header(part, 'anthropic-ratelimit-input-tokens-limit')) || undefined) ??
      rateText(plain),
    requestId: firstDefined(parts, requestIdOf) ?? /\breq_\w{6,60}/.exec(raw)?.[0],
    path,
  };
}

function firstDefined<T>(parts: readonly unknown[], read: (part: unknown) => T | undefined): T | undefined {
  for (const part of parts) {
    const found = read(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Where the SDK, fetch, AWS, axios and the AI SDK keep the error that they wrap; "0" is the first of a list. */
const WRAPPERS = 'error body response data detail details cause errors responseBody $metadata 0'.split(' ');
/** Wrapped errors may be circular. */
const MAX_PARTS = 16;

/** The error and the errors that it wraps, outermost first. */
function partsOf(error: unknown): unknown[] {
  const parts = [error];
  for (let next = 0; next < parts.length; next += 1) {
    for (const key of WRAPPERS) {
      const child = field(parts[next], key);
      if (child !== undefined && !parts.includes(child) && parts.length < MAX_PARTS) parts.push(child);
    }
  }
  return parts;
}

/** The texts of the error and of those that it wraps, as they were sent; bounded. */
export function textOf(error: unknown): string {
  const texts: string[] = [];
  for (const part of partsOf(error)) {
    for (const text of [part, ...['message', 'description', 'reason', 'msg'].map((key) => field(part, key))]) {
      const head = typeof text === 'string' ? text.slice(0, MAX_TEXT_CHARS) : '';
      if (!texts.some((longer) => longer.includes(head))) texts.push(head);
    }
  }
  return texts.join('\n').slice(0, MAX_TEXT_CHARS);
}

/** Names that any error has, or that only restate the status. */
const SAYS_NOTHING = /^(?:error|(?:API|BadRequest|PermissionDenied|NotFound|ContentTooLarge)?Error)$/;

/** The error's names, types and codes, as plain text. */
function labelsOf(parts: readonly unknown[], raw: string): string[] {
  const stated = parts.flatMap((part) =>
    ['name', 'type', 'code', 'status', 'error_code', '__type'].map((key) => field(part, key)),
  );
  const written = /["']type["'] {0,2}: {0,2}["'](?!error["'])([\w.]{3,60})["']/.exec(raw)?.[1];
  return [...stated, written].flatMap((label) =>
    typeof label === 'string' && label.length <= 80 && !SAYS_NOTHING.test(label) ? [plainText(label)] : [],
  );
}

function requestIdOf(part: unknown): string | undefined {
  const stated = [field(part, 'requestID'), field(part, 'request_id'), header(part, 'request-id')];
  return stated
    .find((id) => typeof id === 'string' && id !== '')
    ?.toString()
    .slice(0, 100);
}

function pathIn(plain: string): Evidence['path'] {
  const found = /messages[.[](\d{1,6})\]?(?:\.content[.[](\d{1,6}))?/.exec(plain);
  if (found === null) return undefined;
  return { message: Number(found[1]), ...(found[2] !== undefined && { block: Number(found[2]) }) };
}

/** "rate limit of 30,000 input tokens per minute", "tokens per min (TPM): Limit 30000" */
function rateText(plain: string): number | undefined {
  const [, before, after] =
    /(?<![\w.,])(\d[\d,]{2,12}) (?:input |prompt )?tokens per min|tokens per min[^.\d]{0,24}limit:? (\d[\d,]{2,12})/.exec(
      plain,
    ) ?? [];
  return Number((before ?? after)?.replaceAll(',', '')) || undefined;
}

/** The field, or undefined where it is null or reading it throws. */
export function field(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined;
  try {
    return Reflect.get(value, key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A header of the answer that an error keeps, in any of the ways in which errors keep headers. */
export function header(part: unknown, name: string): string | undefined {
  for (const headers of [field(part, 'headers'), field(part, 'responseHeaders')]) {
    const get = field(headers, 'get');
    try {
      const value: unknown = typeof get === 'function' ? get.call(headers, name) : field(headers, name);
      if (typeof value === 'string' || typeof value === 'number') return String(value).slice(0, 100);
    } catch {
      // Headers that cannot be read say nothing.
    }
  }
  return undefined;
}

/** The status that an error states in a field of its own. */
function statusOf(part: unknown): number | undefined {
  const stated = ['status', 'statusCode', 'status_code', 'httpStatus', 'httpStatusCode', 'code'];
  const status = stated
    .map((key) => field(part, key))
    .find((value) => /^(?:number|string)$/.test(typeof value) && /^[45]\d\d$/.test(String(value)));
  return status === undefined ? undefined : Number(status);
}

const NOT_A_COUNT =
  '(?![.,]?\\d|[a-z]| ?(?:tokens?|messages?|char|words|px|pixels|mb|kb|bytes|pages|images|ms|sec|requests|days|%))';
const LEADING_STATUS = new RegExp(
  `^[^a-z0-9]{0,3}(?:[a-z /.:()[\\]]{0,60}?\\b(?:error|exception|https?|status|code|failed|failure|post|response|returned|upstream|api)\\b(?:/[\\d.]{1,3})?[^a-z0-9]{0,5})?([45]\\d\\d)${NOT_A_COUNT}`,
);
const NAMED_STATUS = new RegExp(`\\b(?:https?(?:/[\\d.]{1,3})?|status|code)[:= (]{1,4}([45]\\d\\d)${NOT_A_COUNT}`);

/** A status that the text leads with or names as such; a bare number elsewhere is a count or a part of an id. */
function statusInText(plain: string): number | undefined {
  const found = LEADING_STATUS.exec(plain) ?? NAMED_STATUS.exec(plain);
  return found === null ? undefined : Number(found[1]);
}

/** How long a response asks to wait in its header `retry-after`, in ms. */
export function retryAfterHeader(part: unknown): number | undefined {
  const milliseconds = header(part, 'retry-after-ms') ?? '';
  if (/^\d{1,12}(?:\.\d{1,6})?$/.test(milliseconds)) return Math.round(Number(milliseconds));
  const after = header(part, 'retry-after') ?? '';
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(after)) return Math.round(Number(after) * 1000);
  return msUntil(part, after);
}

/** The rate limits of the Messages API ("Rate limits: response headers"). */
const RATE_LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/** How long until the last of the rate limits starts again that a response states as used up, in ms. */
function resetHeader(part: unknown): number | undefined {
  const resets = RATE_LIMITS.flatMap((name) => {
    const [left, reset] = ['remaining', 'reset'].map((what) => header(part, `anthropic-ratelimit-${name}-${what}`));
    return Number(left ?? 0) === 0 ? (msUntil(part, reset ?? '') ?? []) : [];
  });
  return resets.length === 0 ? undefined : Math.max(...resets);
}

/**
 * How long until a time that a response states, in ms. Only the clock that wrote it can tell, so it counts from the
 * response's own `date`; without that it says nothing.
 */
function msUntil(part: unknown, time: string): number | undefined {
  const ms = Date.parse(time) - Date.parse(header(part, 'date') ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const DURATION =
  /(?:again|retry|wait)[^\d\n]{0,24}((?:\d{1,6}(?:\.\d{1,9}|) ?(?:ms|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours)(?![a-z]) ?){1,4})/;
const UNIT_MS = { ms: 1, mil: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** How long the text asks to wait, in ms: "try again in 1.971s", "retry after ms: 250", "Please try again in 6m0s". */
function retryAfterText(plain: string): number | undefined {
  const bare = /retry after( ms)?\W{1,3}(\d{1,7}(?:\.\d{1,3})?)(?![\d.]| ?[a-z])/.exec(plain);
  if (bare !== null) return Math.round(Number(bare[2]) * (bare[1] === undefined ? 1_000 : 1));
  const duration = DURATION.exec(plain);
  if (duration?.[1] === undefined) return undefined;
  const terms = [...duration[1].matchAll(/([\d.]+) ?(ms|mil|s|m|h)/g)];
  const inMs = terms.map(([, count, unit]) => Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  return Math.round(inMs.reduce((sum, ms) => sum + ms, 0));
}

/** No more of an error than this is ever read, so a hostile body costs no time. */
const MAX_TEXT_CHARS = 8_192;
/** An error says what is wrong in its first sentences; each is matched against every rule. */
const MAX_SENTENCES = 64;

/** The frame of a JSON error: its words ("invalid", "request", "message") are never the subject. */
const ENVELOPE_WORDS = /\\{0,4}["'](?:message|type)\\{0,4}["'] ?: ?/g;

/** The text in normalised form: lower case, no quotes and links, `snake_case` and `camelCase` split into words. */
function plainText(text: string): string {
  return text
    .slice(0, MAX_TEXT_CHARS)
    .normalize('NFKC')
    .slice(0, MAX_TEXT_CHARS)
    .replace(/\\{1,4}u([0-9a-fA-F]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\{1,4}[nrt]/g, '\n')
    .replace(ENVELOPE_WORDS, '\n')
    .replace(/https?:\/\/[^\s"'<>)]{1,300}/gi, ' ')
    .replace(/&gt;/g, '>')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[`'"\u2018\u2019\u201c\u201d\\*]/g, '')
    .replace(/(\d)_(?=\d)/g, '$1')
    .replace(/_|(?<=[A-Za-z])-(?=[A-Za-z])/g, ' ')
    .toLowerCase()
    .replace(/[^\S\n]+/g, ' ')
    .slice(0, MAX_TEXT_CHARS);
}

/** Sentences end at a full stop that a space follows: `messages.3.content.1` and `1.971s` are not split. */
function sentencesOf(plain: string): string[] {
  return plain.split(/\n|(?<=[.!?]) |\u3002/, MAX_SENTENCES);
}
