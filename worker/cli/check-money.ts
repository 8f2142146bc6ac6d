import type { Config } from '../../shared/base/config.ts';
import { type Limit, limitsOf, PER_DOLLAR } from '../../shared/state/spending/limit.ts';
import { modelsInUse } from '../model/lifecycle.ts';
import { costOf, costOfMinute, type Prices } from '../model/prices.ts';
import type { Finding } from './finding.ts';

const NOTHING = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

/** What bounds the cost, and which of the models that the settings name no limit in money can count. */
export function checkMoney(config: Config, prices: Prices): Finding {
  const limits = limitsOf(config);
  const unpriced = unpricedModels(config, prices);
  const isCounted = limits.some(({ unit }) => unit === 'tokens');
  const advice = [
    ...(limits.length === 0 ? ['nothing limits what may be spent; set TOTAL_DAILY_USD'] : []),
    ...(unpriced.length > 0 && !isCounted ? [withoutPrice(unpriced)] : []),
  ];
  const detail = [limits.map(inWords).join(', '), ...advice].filter((part) => part !== '').join('; ');
  return { part: 'money', ok: true, ...(advice.length > 0 && { isAdvice: true as const }), detail };
}

/** A price of 0 is a price. */
function unpricedModels(config: Config, prices: Prices): string[] {
  const { TRANSCRIPTION_MODEL: ear } = config;
  return [
    ...[...modelsInUse(config).keys()].filter((model) => costOf(model, NOTHING, prices) === undefined),
    ...(ear !== undefined && costOfMinute(ear, prices) === undefined ? [ear] : []),
  ];
}

function withoutPrice(models: readonly string[]): string {
  return `no price is known of ${models.join(', ')}, so what they cost counts in no limit; name their prices in MODEL_PRICES_FILE, or set TOTAL_DAILY_TOKENS and CHAT_DAILY_TOKENS`;
}

function inWords({ setting, unit, max }: Limit): string {
  return `${setting} ${unit === 'usd' ? max / PER_DOLLAR : max}`;
}
