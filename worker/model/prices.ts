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
export interface Price extends Rates {
  /** Dollars for a thousand searches of the web; absent: the list price. A page that is read has no fee. */
  searches?: number;
  longPrompt?: Rates & { overTokens: number };
}

/** Prices by canonical name. */
export type Prices = ReadonlyMap<string, Price>;

/** The result of reading a price list: prices that override ours, or every problem at once. */
export type PricesReading = { ok: true; prices: Prices } | { ok: false; problems: readonly string[] };

const CACHE_WRITE_5M = 1.25;
const CACHE_WRITE_1H = 2;
const PER_THOUSAND_SEARCHES = 10;

/**
 * The list prices of the API itself, as read in November 2026 on platform.claude.com (pricing, and the models' own
 * pages). The cheaper reads of Sonnet 5.5 and the two bands of Haiku 5.5, both of October 2026, were read in the
 * release notes of tools that follow that page. Other providers, regions and modes may cost something else:
 * MODEL_PRICES_FILE overrides these.
 */
const LISTED: Prices = new Map([
  ...named(rates(10, 50, 0.25), 'claude-fable-5-1', 'claude-mythos-5-1'),
  ...named(rates(10, 50, 1), 'claude-fable-5', 'claude-mythos-5'),
  ...named(rates(4, 20, 0.2), 'claude-opus-5-5'),
  ...named(rates(2, 10, 0.1), 'claude-sonnet-5-5'),
  ...named(
    { ...rates(0.1, 0.5, 0.01), longPrompt: { overTokens: 100_000, ...rates(0.5, 2.5, 0.05) } },
    'claude-haiku-5-5',
  ),
  ...named(rates(2, 10, 0.2), 'claude-sonnet-5'),
  ...named(
    rates(5, 25, 0.5),
    'claude-opus-5',
    'claude-opus-4-8',
    'claude-opus-4-7',
    'claude-opus-4-6',
    'claude-opus-4-5',
  ),
  ...named(rates(15, 75, 1.5), 'claude-opus-4-1', 'claude-opus-4', 'claude-opus-4-0'),
  ...named(rates(3, 15, 0.3), 'claude-sonnet-4-6', 'claude-sonnet-4-5', 'claude-sonnet-4', 'claude-sonnet-4-0'),
  ...named(rates(1, 5, 0.1), 'claude-haiku-4-5'),
]);

function rates(input: number, output: number, cacheRead: number): Rates {
  return { input, output, cacheRead, cacheWrite5m: input * CACHE_WRITE_5M, cacheWrite1h: input * CACHE_WRITE_1H };
}

function named(price: Price, ...models: string[]): [string, Price][] {
  return models.map((model) => [model, price]);
}

/**
 * What a call cost, in dollars; `undefined` for a model without a known price: it is never guessed. A part of the usage
 * that is not stated counts as 0; input that was neither read from the cache nor written to it has the plain price.
 * Pure.
 */
export function costOf(model: string, usage: Usage, own: Prices = new Map()): number | undefined {
  const name = canonicalName(model);
  const price = own.get(name) ?? LISTED.get(name);
  if (price === undefined) return undefined;
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
const LIST = z.record(z.string(), PRICE, 'expected an object of prices by model');

/** Reads a price list from JSON: prices by model name, each with all five rates, and its fee for searches. Never throws. */
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
    prices: new Map(Object.entries(parsed.data).map(([name, price]) => [canonicalName(name), price as Price])),
  };
}
