import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readNamedFile } from '../../shared/base/env-file.ts';
import { jsonValue } from '../../shared/base/fields.ts';
import type { Usage } from '../../shared/state/spending/usage-book.ts';
import { canonicalName } from './catalog.ts';
import type { CacheLifetime } from './port.ts';

const dollars = z
  .number('expected dollars per million tokens, a number of at least 0')
  .nonnegative('expected at least 0');
const fee = z.number('expected dollars per 1,000 searches, a number of at least 0').nonnegative('expected at least 0');
const tokens = z.number('expected a number of tokens').int('expected a whole number').positive('expected at least 1');
/** Dollars per million tokens of each kind; `input` means uncached input. */
const RATES = { input: dollars, output: dollars, cacheRead: dollars, cacheWrite5m: dollars, cacheWrite1h: dollars };
/** The price of a model. Some models have other rates above a given prompt length. */
const PRICE = z.strictObject({
  ...RATES,
  /** Dollars per thousand web searches; the list price if absent. Reading a page has no fee. */
  searches: fee.optional(),
  longPrompt: z.strictObject({ overTokens: tokens, ...RATES }).optional(),
});
/** The price of a transcription model, in dollars per minute of sound. */
const MINUTE = z.strictObject({ minute: dollars });

type Entry = z.infer<typeof PRICE> | z.infer<typeof MINUTE>;

/** Prices by canonical name. */
export type Prices = ReadonlyMap<string, Entry>;

const PER_THOUSAND_SEARCHES = 10;

/**
 * The list prices by canonical name, written by `npm run prices`. Other regions and modes may have other prices:
 * `MODEL_PRICES_FILE` overrides the list prices.
 */
const LIST_PRICES: Prices = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(import.meta.dirname, 'price-list.json'), 'utf8')) as Record<string, Entry>,
  ),
);

/**
 * The cost of a call, in dollars; `undefined` for a model without a known price per token. Missing counters of the usage
 * count as 0. Pure.
 */
export function costOf(model: string, usage: Usage, operatorPrices: Prices = new Map()): number | undefined {
  const price = entryOf(model, operatorPrices);
  if (price === undefined || 'minute' in price) return undefined;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 } = usage;
  const { longPrompt } = price;
  const promptTokens = typeof usage.passes === 'object' ? usage.passes.lastInputTokens : inputTokens;
  const rates = longPrompt && promptTokens > longPrompt.overTokens ? longPrompt : price;
  const cacheWrite5mTokens = Math.max(0, cacheWriteTokens - cacheWrite1hTokens);
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const millionths =
    plain * rates.input +
    cacheReadTokens * rates.cacheRead +
    cacheWrite5mTokens * rates.cacheWrite5m +
    cacheWrite1hTokens * rates.cacheWrite1h +
    outputTokens * rates.output;
  const fees = ((usage.searches ?? 0) * (price.searches ?? PER_THOUSAND_SEARCHES)) / 1_000;
  return millionths / 1_000_000 + fees;
}

/** The price of a transcription model per minute of sound, in dollars; `undefined` if unknown. */
export function costOfMinute(model: string, operatorPrices: Prices = new Map()): number | undefined {
  const price = entryOf(model, operatorPrices);
  return price !== undefined && 'minute' in price ? price.minute : undefined;
}

function entryOf(model: string, operatorPrices: Prices): Entry | undefined {
  const name = canonicalName(model);
  return operatorPrices.get(name) ?? LIST_PRICES.get(name);
}

/** Chooses the schema by the key `minute`, so that the reported problems are those of the intended kind of price. */
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
 * Reads a price list from JSON. The list has for each model the five rates, with an optional fee for searches and optional
 * rates for long prompts, or else the price per minute of sound. Throws an error that lists every problem at once.
 */
export function readPrices(json: string): Prices {
  const value = jsonValue(json);
  const parsed = LIST.safeParse(value);
  if (parsed.success) return new Map(Object.entries(parsed.data).map(([name, price]) => [canonicalName(name), price]));
  const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
  throw new Error(`MODEL_PRICES_FILE is malformed:\n${value === undefined ? 'it is no JSON' : problems.join('\n')}`);
}

/**
 * Loads the operator's prices from `MODEL_PRICES_FILE`; none without a file. Rejects with every problem of the file, so
 * that a typo prevents the start instead of falsifying the costs.
 */
export async function loadPrices(file: string | undefined): Promise<Prices> {
  const json = await readNamedFile('MODEL_PRICES_FILE', file);
  return json === undefined ? new Map() : readPrices(json);
}

/** Prices of Opus 5.5 as multiples of plain input. With other Claude models, reads cost 0.025 to 0.1, which hardly matters. */
const READ = 0.05;
const WRITE: Readonly<Record<CacheLifetime, number>> = { '5m': 1.25, '1h': 2 };
const LASTS_MS: Readonly<Record<CacheLifetime, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 };
/** The part that a turn adds to the prefix, as a share of the prefix. That part is always written. */
const NEW_SHARE = 0.05;
/** The number of newest gaps between messages from which the next gap is predicted. */
const GAPS_MAX = 6;

/**
 * Chooses the cheaper cache lifetime for a chat's prefix from the times of its messages. `turnTimesMs`: the times of the
 * earlier messages, in any order (the newest 20 are enough). `nowMs`: the time of the present message. The expected cost of a
 * turn, in multiples of the price of the prefix as plain input, is `READ + NEW_SHARE * WRITE` if the prefix is still cached,
 * since only the new part is written; otherwise `(1 + NEW_SHARE) * WRITE`, since everything is written again:
 *
 * | gap before the message | lifetime 5m | lifetime 1h |
 * | up to 5 minutes        | 0.11        | 0.15        |
 * | 5 minutes to an hour   | 1.31        | 0.15        |
 * | more than an hour      | 1.31        | 2.1         |
 *
 * So `1h` is cheaper if the share of middle gaps exceeds the sum of 0.68 times the share of longer gaps and 0.03 times the
 * share of shorter gaps. The newest gaps serve as the forecast. The lifetime changes only after the cached prefix has expired,
 * so that a change never rewrites a cached prefix. Pure, total.
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
  const [warm, cold] = [READ + NEW_SHARE * WRITE[lifetime], (1 + NEW_SHARE) * WRITE[lifetime]];
  return gaps.reduce((sum, gap) => sum + (gap <= LASTS_MS[lifetime] ? warm : cold), 0);
}
