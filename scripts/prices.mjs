/**
 * Prints worker/model/price-list.json: the list prices, in dollars by canonical model name, which MODEL_PRICES_FILE can
 * override. Most come from the package @pydantic/genai-prices. Only this script loads the package, which would take 17 MB of a
 * gateway's memory for the prices of some eighty models.
 */
import { isDeepStrictEqual } from 'node:util';
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { canonicalName } from '../worker/model/catalog.ts';

/** The providers that have an endpoint with Anthropic's Messages API, and the providers of speech recognition. */
const CHAT_PROVIDERS = ['anthropic', 'deepseek', 'moonshotai', 'zai', 'minimax'];
const SPEECH_PROVIDERS = ['openai', 'groq'];
/** The hours at which to compare prices. Some models cost more at some hours, and the printed list has the highest price. */
const TIMES = [3, 9, 15, 21].map((hour) => new Date(Date.UTC(2026, 10, 25, hour)));

/**
 * Prices that the package lacks or states differently: those of platform.claude.com in November 2026, and OpenAI's own
 * estimates for speech models that it bills by tokens. The script fails once the package has the same price; then remove the
 * entry.
 */
const OWN = {
  'claude-haiku-5-5': { ...claude(0.1, 0.5, 0.01), longPrompt: { overTokens: 100_000, ...claude(0.5, 2.5, 0.05) } },
  'claude-sonnet-5-5': claude(2, 10, 0.1),
  'claude-mythos-5': claude(10, 50, 1),
  'claude-mythos-5-1': claude(10, 50, 0.25),
  'gpt-4o-transcribe': { minute: 0.006 },
  'gpt-4o-mini-transcribe': { minute: 0.003 },
};

const packaged = Object.fromEntries([...CHAT_PROVIDERS, ...SPEECH_PROVIDERS].flatMap(pricesOf));
for (const [name, price] of Object.entries(OWN))
  if (isDeepStrictEqual(packaged[name], price)) throw new Error(`${name} is in the package: drop it here`);
const sorted = Object.entries({ ...packaged, ...OWN }).sort(([one], [other]) => (one < other ? -1 : 1));
process.stdout.write(JSON.stringify(Object.fromEntries(sorted)));

function claude(input, output, cacheRead) {
  return { input, output, cacheRead, cacheWrite5m: input * 1.25, cacheWrite1h: input * 2 };
}

function pricesOf(providerId) {
  const { models } = findProvider({ providerId });
  return models.flatMap(({ id, match }) =>
    namesIn(match, id).flatMap((name) => {
      const [price] = TIMES.flatMap((timestamp) =>
        priceOf(calcPrice({ input_tokens: 0 }, name, { providerId, timestamp })?.model_price),
      ).sort((one, other) => other.input - one.input);
      const isListed = price !== undefined && (CHAT_PROVIDERS.includes(providerId) || 'minute' in price);
      return isListed ? [[canonicalName(name), price]] : [];
    }),
  );
}

/** The model's id and the names in the package's rule for matching it, without Claude names that do not end in a version. */
function namesIn({ or = [], equals, starts_with: start }, id) {
  const names = [id, equals, start, ...or.flatMap((each) => namesIn(each, undefined))];
  return names.filter((name) => name !== undefined && !/^claude(?:-.*\D)?$/.test(canonicalName(name)));
}

/** At most one price. One-hour cache writes default to the rate of five-minute ones, other cache rates to the input rate. */
function priceOf({ audio_hours: hour, input_mtok: input, output_mtok: output, ...cacheRates } = {}) {
  if (hour !== undefined) return [{ minute: Number((hour / 60).toFixed(6)) }];
  if (input === undefined || output === undefined) return [];
  const { cache_read_mtok: read, cache_write_mtok: write = input, cache_write_1h_mtok: hourly = write } = cacheRates;
  const rates = { input, output, cacheRead: read ?? input, cacheWrite5m: write, cacheWrite1h: hourly };
  const each = (of) => Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, of(rate)]));
  const base = each((rate) => rate.base ?? rate);
  const [tier] = input.tiers ?? [];
  if (tier === undefined) return [base];
  return [{ ...base, longPrompt: { overTokens: tier.start, ...each((rate) => rate.tiers?.[0].price ?? rate) } }];
}
