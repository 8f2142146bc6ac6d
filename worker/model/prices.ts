import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { canonicalName } from './catalog.ts';
import type { Usage } from './port.ts';

/** Dollars for a million tokens of each kind. */
interface Rates {
  /** Input that is neither read from the cache nor written to it. */
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite5m: number;
  cacheWrite1h: number;
}

/** What a model costs; some cost more, in all kinds, above a given prompt length. */
interface Price extends Rates {
  /** Dollars for a thousand searches of the web; absent: the list price. A page that is read has no fee. */
  searches?: number;
  longPrompt?: Rates & { overTokens: number };
}

/** What a model costs that turns speech into text, in dollars for a minute of sound. */
interface MinutePrice {
  minute: number;
}

type Entry = Price | MinutePrice;

/** Prices by canonical name. */
export type Prices = ReadonlyMap<string, Entry>;

/** The result of reading a price list: prices that override ours, or every problem at once. */
export type PricesReading = { ok: true; prices: Prices } | { ok: false; problems: readonly string[] };

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
 * What a call cost, in dollars; `undefined` for a model without a known price: it is never guessed. A part of the usage
 * that is not stated counts as 0; input that was neither read from the cache nor written to it has the plain price.
 * Pure.
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

/** What a minute of sound costs with a model that turns speech into text, in dollars; `undefined` where that is not known. */
export function costOfMinute(model: string, own: Prices = new Map()): number | undefined {
  const price = entryOf(model, own);
  return price !== undefined && 'minute' in price ? price.minute : undefined;
}

function entryOf(model: string, own: Prices): Entry | undefined {
  const name = canonicalName(model);
  return own.get(name) ?? LISTED.get(name);
}

const dollars = z
  .number('expected dollars per million tokens, a number of at least 0')
  .nonnegative('expected at least 0');
const RATES = {
  input: dollars,
  output: dollars,
  cacheRead: dollars,
  cacheWrite5m: dollars,
  cacheWrite1h: dollars,
};
const tokens = z.number('expected a number of tokens').int('expected a whole number').positive('expected at least 1');
const fee = z.number('expected dollars per 1,000 searches, a number of at least 0').nonnegative('expected at least 0');
const PRICE = z.strictObject({
  ...RATES,
  searches: fee.optional(),
  longPrompt: z.strictObject({ overTokens: tokens, ...RATES }).optional(),
});
const MINUTE = z.strictObject({ minute: dollars });
/** Each entry is judged by what it is meant to be, so that a problem names its own field. */
const LIST = z.record(
  z.string(),
  z.unknown().transform((entry, context): Entry => {
    const isMinute = typeof entry === 'object' && entry !== null && 'minute' in entry;
    const parsed = (isMinute ? MINUTE : PRICE).safeParse(entry);
    if (parsed.success) return parsed.data as Entry;
    context.issues.push(...parsed.error.issues.map((issue) => ({ ...issue, input: entry }) as never));
    return z.NEVER;
  }),
  'expected an object of prices by model',
);

/**
 * Reads a price list from JSON: by model name all five rates, and its fee for searches; or the price of a minute of
 * sound. Never throws.
 */
export function readPrices(json: string): PricesReading {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { ok: false, problems: ['it is no JSON'] };
  }
  const parsed = LIST.safeParse(value);
  if (!parsed.success)
    return {
      ok: false,
      problems: parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': ')),
    };
  return {
    ok: true,
    prices: new Map(Object.entries(parsed.data).map(([name, price]) => [canonicalName(name), price])),
  };
}
