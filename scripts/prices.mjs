/**
 * Writes worker/model/price-list.json, the list prices that a gateway without MODEL_PRICES_FILE knows, from the list
 * that @pydantic/genai-prices keeps. Only this script loads that package: in a gateway it would take 17 MB for the prices
 * of some dozen models. To refresh them: `npm install -D -E @pydantic/genai-prices@latest && npm run prices`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { canonicalName } from '../worker/model/catalog.ts';

/** Who offers an endpoint that speaks Anthropic's Messages API, and who turns speech into text. */
const PROVIDERS = ['anthropic', 'deepseek', 'moonshotai', 'zai', 'minimax', 'openai', 'groq'];
const TALKS = new Set(PROVIDERS.slice(0, 5));
/** Some cost more at some hours. */
const HOURS = [3, 9, 15, 21];

/**
 * What the package does not have yet, or has otherwise, as platform.claude.com stated it in November 2026; and OpenAI's
 * own estimates for models of speech that it bills by tokens. An entry must go once the package says the same.
 */
const BESIDES = {
  'claude-haiku-5-5': { ...claude(0.1, 0.5, 0.01), longPrompt: { overTokens: 100_000, ...claude(0.5, 2.5, 0.05) } },
  'claude-sonnet-5-5': claude(2, 10, 0.1),
  'claude-mythos-5': claude(10, 50, 1),
  'claude-mythos-5-1': claude(10, 50, 0.25),
  'gpt-4o-transcribe': { minute: 0.006 },
  'gpt-4o-mini-transcribe': { minute: 0.003 },
};

/** The price list: dollars by canonical name, in the form of MODEL_PRICES_FILE. Throws when an own entry is not needed. */
export function listedPrices() {
  const kept = Object.fromEntries(PROVIDERS.flatMap(pricesOf));
  for (const [name, price] of Object.entries(BESIDES))
    if (JSON.stringify(kept[name]) === JSON.stringify(price))
      throw new Error(`${name} is in the package: drop it here`);
  return Object.fromEntries(Object.entries({ ...kept, ...BESIDES }).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function claude(input, output, cacheRead) {
  return { input, output, cacheRead, cacheWrite5m: input * 1.25, cacheWrite1h: input * 2 };
}

function pricesOf(providerId) {
  const models = findProvider({ providerId })?.models ?? [];
  return models.flatMap(({ id, match }) =>
    namesIn(match, id).flatMap((name) => {
      const price = dearest(name, providerId);
      return price === undefined || (!TALKS.has(providerId) && price.minute === undefined)
        ? []
        : [[canonicalName(name), price]];
    }),
  );
}

/** The names by which a model is asked, as far as they are whole ones. */
function namesIn({ or = [], equals, starts_with: start }, id) {
  const names = [id, equals, start, ...or.flatMap((each) => namesIn(each, undefined))];
  return names.filter((name) => name !== undefined && !/^claude(?:-.*\D)?$/.test(canonicalName(name)));
}

function dearest(name, providerId) {
  const at = (hour) =>
    calcPrice({ input_tokens: 0 }, name, { providerId, timestamp: new Date(Date.UTC(2026, 10, 25, hour)) });
  const prices = HOURS.map((hour) => priceOf(at(hour)?.model_price)).filter((price) => price !== undefined);
  return prices.sort((one, other) => other.input - one.input)[0];
}

/** Where a rate is not stated, its tokens are plain input. */
function priceOf(stated) {
  if (stated?.audio_hours !== undefined) return { minute: Number((stated.audio_hours / 60).toFixed(6)) };
  if (stated?.input_mtok === undefined || stated.output_mtok === undefined) return undefined;
  const rate = (name, other, of) => of(stated[name] ?? stated[other]);
  const rates = (of) => ({
    input: rate('input_mtok', undefined, of),
    output: rate('output_mtok', undefined, of),
    cacheRead: rate('cache_read_mtok', 'input_mtok', of),
    cacheWrite5m: rate('cache_write_mtok', 'input_mtok', of),
    cacheWrite1h: of(stated.cache_write_1h_mtok ?? stated.cache_write_mtok ?? stated.input_mtok),
  });
  const base = rates((value) => value.base ?? value);
  const [tier] = stated.input_mtok.tiers ?? [];
  if (tier === undefined) return base;
  return { ...base, longPrompt: { overTokens: tier.start, ...rates((value) => value.tiers?.[0].price ?? value) } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = Object.entries(listedPrices()).map(
    ([name, price]) => `  ${JSON.stringify(name)}: ${JSON.stringify(price)}`,
  );
  writeFileSync(join(import.meta.dirname, '..', 'worker', 'model', 'price-list.json'), `{\n${lines.join(',\n')}\n}\n`);
}
