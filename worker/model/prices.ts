import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { jsonValue } from '../../shared/base/fields.ts';
import type { Usage } from '../../shared/state/spending/usage-book.ts';
import { canonicalName } from './catalog.ts';
import type { CacheLifetime } from './port.ts';

const dollars = z
  .number('expected dollars per million tokens, a number of at least 0')
  .nonnegative('expected at least 0');
const fee = z.number('expected dollars per 1,000 searches, a number of at least 0').nonnegative('expected at least 0');
const tokens = z.number('expected a number of tokens').int('expected a whole number').positive('expected at least 1');
/** Dollars for a million tokens of each kind; `input` is neither read from the cache nor written to it. */
const RATES = { input: dollars, output: dollars, cacheRead: dollars, cacheWrite5m: dollars, cacheWrite1h: dollars };
/** The price of a model; some cost more, in all kinds, above a given prompt length. */
const PRICE = z.strictObject({
  ...RATES,
  /** Dollars for a thousand searches of the web; absent: the list price. A page that is read has no fee. */
  searches: fee.optional(),
  longPrompt: z.strictObject({ overTokens: tokens, ...RATES }).optional(),
});
/** The price of a model that turns speech into text, in dollars for a minute of sound. */
const MINUTE = z.strictObject({ minute: dollars });

type Entry = z.infer<typeof PRICE> | z.infer<typeof MINUTE>;

/** Prices by canonical name. */
export type Prices = ReadonlyMap<string, Entry>;

const PER_THOUSAND_SEARCHES = 10;

/**
 * The list prices that `npm run prices` takes from a list that is kept for the purpose, by canonical name. Other regions
 * and modes may cost something else: MODEL_PRICES_FILE overrides these.
 */
const LISTED: Prices = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(import.meta.dirname, 'price-list.json'), 'utf8')) as Record<string, Entry>,
  ),
);

/**
 * The cost of a call, in dollars; `undefined` for a model without a known price: it is never guessed. A part of the
 * usage that is not stated counts as 0; input that was neither read from the cache nor written to it has the plain
 * price. Pure.
 */
export function costOf(model: string, usage: Usage, own: Prices = new Map()): number | undefined {
  const price = entryOf(model, own);
  if (price === undefined || 'minute' in price) return undefined;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  const { longPrompt } = price;
  const promptTokens = typeof usage.passes === 'object' ? usage.passes.lastInputTokens : inputTokens;
  const paid = longPrompt && promptTokens > longPrompt.overTokens ? longPrompt : price;
  const written5m = Math.max(0, cacheWriteTokens - cacheWrite1hTokens);
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const millionths =
    plain * paid.input +
    cacheReadTokens * paid.cacheRead +
    written5m * paid.cacheWrite5m +
    cacheWrite1hTokens * paid.cacheWrite1h +
    outputTokens * paid.output;
  const fees = ((usage.searches ?? 0) * (price.searches ?? PER_THOUSAND_SEARCHES)) / 1_000;
  return millionths / 1_000_000 + fees;
}

/** The price of a minute of sound with a model that turns speech into text, in dollars; `undefined` where not known. */
export function costOfMinute(model: string, own: Prices = new Map()): number | undefined {
  const price = entryOf(model, own);
  return price !== undefined && 'minute' in price ? price.minute : undefined;
}

function entryOf(model: string, own: Prices): Entry | undefined {
  const name = canonicalName(model);
  return own.get(name) ?? LISTED.get(name);
}

/** Each entry is judged by what it is meant to be, so that a problem names its own field. */
const LIST = z.record(
  z.string(),
  z.unknown().transform((entry, context): Entry => {
    const isMinute = typeof entry === 'object' && entry !== null && 'minute' in entry;
    const parsed = (isMinute ? MINUTE : PRICE).safeParse(entry);
    if (parsed.success) return parsed.data;
    context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: entry }) as never));
    return z.NEVER;
  }),
  'expected an object of prices by model',
);

/**
 * Reads a price list from JSON: by model name all five rates, and its fee for searches; or the price of a minute of
 * sound. Throws an error that names every problem at once.
 */
export function readPrices(json: string): Prices {
  const value = jsonValue(json);
  const parsed = LIST.safeParse(value);
  if (parsed.success) return new Map(Object.entries(parsed.data).map(([name, price]) => [canonicalName(name), price]));
  const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new Error(`MODEL_PRICES_FILE is malformed:\n${value === undefined ? 'it is no JSON' : problems.join('\n')}`);
}

/**
 * The operator's own prices from the file that MODEL_PRICES_FILE names; none without a file. Rejects with every problem
 * of the file at once, so a typo is found at the start and not in a bill.
 */
export async function loadPrices(file: string | undefined): Promise<Prices> {
  if (file === undefined || file.trim() === '') return new Map();
  const json = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (json === '') throw new Error('MODEL_PRICES_FILE names a file that is empty or cannot be read.');
  return readPrices(json);
}

/** Prices as multiples of plain input (Opus 5.5; on others reading costs 0.025 to 0.1, which changes no choice). */
const READ = 0.05;
const WRITE: Readonly<Record<CacheLifetime, number>> = { '5m': 1.25, '1h': 2 };
const LASTS_MS: Readonly<Record<CacheLifetime, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 };
/** The share of its prefix that a turn adds to it: this is written in any case. */
const ADDED = 0.05;
/** How many of the newest gaps predict the next one. */
const GAPS_MAX = 6;

/**
 * How long a chat's prefix is worth keeping at the provider, by the chat's rhythm: `turnTimesMs` are the times of its
 * user's messages before this one, in any order (the newest 20 are plenty), `nowMs` is the time of this one.
 *
 * The expected cost of a turn, in multiples of the prefix as plain input: when the message comes while the prefix is
 * kept, it is read and only what is new is written, `READ + ADDED * WRITE`; else all of it is written again, `(1 +
 * ADDED) * WRITE`. For a gap of up to 5 minutes that is 0.11 with 5 minutes and 0.15 with an hour; between 5 minutes
 * and an hour 1.31 against 0.15; beyond, 1.31 against 2.1. So an hour pays when the share of gaps between 5 minutes and
 * an hour is more than 0.68 of the share beyond and 0.03 of the share below. The latest gaps predict the next ones.
 *
 * The choice is repeated only when nothing is kept any more: a change of lifetime never costs a prefix, and a chat
 * whose prefix is warm keeps its lifetime. Pure, and total.
 */
export function cacheLifetime(turnTimesMs: readonly number[], nowMs: number): CacheLifetime {
  const times = [...turnTimesMs.filter((time) => time < nowMs), nowMs].sort((one, other) => one - other);
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  let lifetime: CacheLifetime = '5m';
  for (const [at, gap] of gaps.entries())
    if (gap > LASTS_MS[lifetime]) lifetime = cheaperFor(gaps.slice(Math.max(0, at + 1 - GAPS_MAX), at + 1));
  return lifetime;
}

function cheaperFor(gaps: readonly number[]): CacheLifetime {
  return costOfGaps(gaps, '1h') < costOfGaps(gaps, '5m') ? '1h' : '5m';
}

function costOfGaps(gaps: readonly number[], lifetime: CacheLifetime): number {
  const [warm, cold] = [READ + ADDED * WRITE[lifetime], (1 + ADDED) * WRITE[lifetime]];
  return gaps.reduce((sum, gap) => sum + (gap <= LASTS_MS[lifetime] ? warm : cold), 0);
}
