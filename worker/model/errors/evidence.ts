import { type TokenCounts, tokenCountsIn } from './token-counts.ts';
import type { Fact } from './wordings.ts';

/** The facts that can be read from an error of any shape. */
export interface Evidence {
  status: number | undefined;
  /** The error's text as plain text. */
  plain: string;
  /** The error's names, types and codes, and its sentences, each as plain text. */
  sentences: string[];
  facts: readonly Fact[];
  sizes: TokenCounts;
  /** The wait that the provider asks for. */
  retryAfterMs: number | undefined;
  /** The time until an exhausted rate limit resets. */
  resetMs: number | undefined;
  /** The account's limit of input tokens per minute. */
  rateTokens: number | undefined;
  requestId: string | undefined;
  path: { message: number; block?: number } | undefined;
}

/** Reads a bounded part of an error of any shape. Never throws, even for a hostile getter or proxy. */
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

/** The keys under which the SDK, fetch, AWS, axios and the AI SDK wrap an error; "0" is the first of a list. */
const WRAPPERS = 'error body response data detail details cause errors responseBody $metadata 0'.split(' ');
/** The maximum number of errors to read, the outermost error included. */
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

/** The original texts of the error and of the errors that it wraps; bounded. */
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

/** Names without information, since any error may have them, or since they only repeat the status. */
const EMPTY_NAMES = /^(?:error|(?:API|BadRequest|PermissionDenied|NotFound|ContentTooLarge)?Error)$/;

/** The error's names, types and codes, as plain text. */
function labelsOf(parts: readonly unknown[], raw: string): string[] {
  const fields = parts.flatMap((part) =>
    ['name', 'type', 'code', 'status', 'error_code', '__type'].map((key) => field(part, key)),
  );
  const typeInText = /["']type["'] {0,2}: {0,2}["'](?!error["'])([\w.]{3,60})["']/.exec(raw)?.[1];
  return [...fields, typeInText].flatMap((label) =>
    typeof label === 'string' && label.length <= 80 && !EMPTY_NAMES.test(label) ? [plainText(label)] : [],
  );
}

function requestIdOf(part: unknown): string | undefined {
  const ids = [field(part, 'requestID'), field(part, 'request_id'), header(part, 'request-id')];
  return ids
    .find((id) => typeof id === 'string' && id !== '')
    ?.toString()
    .slice(0, 100);
}

function pathIn(plain: string): Evidence['path'] {
  const found = /messages[.[](\d{1,6})\]?(?:\.content[.[](\d{1,6}))?/.exec(plain);
  if (found === null) return undefined;
  return { message: Number(found[1]), ...(found[2] !== undefined && { block: Number(found[2]) }) };
}

/** A rate limit in a text: "rate limit of 30,000 input tokens per minute", "tokens per min (TPM): Limit 30000". */
function rateText(plain: string): number | undefined {
  const [, first, second] =
    /(?<![\w.,])(\d[\d,]{2,12}) (?:input |prompt )?tokens per min|tokens per min[^.\d]{0,24}limit:? (\d[\d,]{2,12})/.exec(
      plain,
    ) ?? [];
  return Number((first ?? second)?.replaceAll(',', '')) || undefined;
}

/** The field; undefined if it is null, or if reading it throws. */
export function field(value: unknown, key: string): unknown {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return undefined;
  try {
    return Reflect.get(value, key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A response header of an error, in any of the usual representations. */
export function header(part: unknown, name: string): string | undefined {
  for (const headers of [field(part, 'headers'), field(part, 'responseHeaders')]) {
    const get = field(headers, 'get');
    try {
      const value: unknown = typeof get === 'function' ? get.call(headers, name) : field(headers, name);
      if (typeof value === 'string' || typeof value === 'number') return String(value).slice(0, 100);
    } catch {
      // Ignore headers that cannot be read.
    }
  }
  return undefined;
}

function statusOf(part: unknown): number | undefined {
  const keys = ['status', 'statusCode', 'status_code', 'httpStatus', 'httpStatusCode', 'code'];
  const status = keys
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

/** A status at the beginning of the text, or named as such. A bare number elsewhere is a count or a part of an id. */
function statusInText(plain: string): number | undefined {
  const found = LEADING_STATUS.exec(plain) ?? NAMED_STATUS.exec(plain);
  return found === null ? undefined : Number(found[1]);
}

/** The wait in the response header `retry-after-ms` or `retry-after`, in ms. */
export function retryAfterHeader(part: unknown): number | undefined {
  const milliseconds = header(part, 'retry-after-ms') ?? '';
  if (/^\d{1,12}(?:\.\d{1,6})?$/.test(milliseconds)) return Math.round(Number(milliseconds));
  const secondsOrDate = header(part, 'retry-after') ?? '';
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(secondsOrDate)) return Math.round(Number(secondsOrDate) * 1000);
  return msUntil(part, secondsOrDate);
}

/** The rate limits of the Messages API ("Rate limits: response headers"). */
const RATE_LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/** The time until all exhausted rate limits that a response states have reset, in ms. */
function resetHeader(part: unknown): number | undefined {
  const resets = RATE_LIMITS.flatMap((name) => {
    const [remaining, reset] = ['remaining', 'reset'].map((what) =>
      header(part, `anthropic-ratelimit-${name}-${what}`),
    );
    return Number(remaining ?? 0) === 0 ? (msUntil(part, reset ?? '') ?? []) : [];
  });
  return resets.length === 0 ? undefined : Math.max(...resets);
}

/**
 * The time until a date in a response, in ms. Counts from the response's own header `date`, since the server's clock may
 * differ from ours; undefined without that header.
 */
function msUntil(part: unknown, time: string): number | undefined {
  const ms = Date.parse(time) - Date.parse(header(part, 'date') ?? '');
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const DURATION =
  /(?:again|retry|wait)[^\d\n]{0,24}((?:\d{1,6}(?:\.\d{1,9}|) ?(?:ms|milliseconds|s|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours)(?![a-z]) ?){1,4})/;
const UNIT_MS = { ms: 1, mil: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** The wait that the text asks for, in ms: "try again in 1.971s", "retry after ms: 250", "Please try again in 6m0s". */
function retryAfterText(plain: string): number | undefined {
  const bare = /retry after( ms)?\W{1,3}(\d{1,7}(?:\.\d{1,3})?)(?![\d.]| ?[a-z])/.exec(plain);
  if (bare !== null) return Math.round(Number(bare[2]) * (bare[1] === undefined ? 1_000 : 1));
  const duration = DURATION.exec(plain);
  if (duration?.[1] === undefined) return undefined;
  const terms = [...duration[1].matchAll(/([\d.]+) ?(ms|mil|s|m|h)/g)];
  const inMs = terms.map(([, count, unit]) => Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]);
  return Math.round(inMs.reduce((sum, ms) => sum + ms, 0));
}

/** The maximum number of characters that are read of an error, so that a hostile body costs little time. */
const MAX_TEXT_CHARS = 8_192;
/** The maximum number of sentences of an error that are matched against the wordings. */
const MAX_SENTENCES = 64;

/** The frame of a JSON error, whose words ("message", "type") are not part of the error's sentences. */
const ENVELOPE_WORDS = /\\{0,4}["'](?:message|type)\\{0,4}["'] ?: ?/g;

/** The text in normalised form: in lower case, without quotes or links, with `snake_case` and `camelCase` split into words. */
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

/** Splits a text at line breaks and after sentences. A full stop without a space, as in `1.971s`, does not end a sentence. */
function sentencesOf(plain: string): string[] {
  return plain.split(/\n|(?<=[.!?]) |\u3002/, MAX_SENTENCES);
}
