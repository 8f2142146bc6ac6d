import type { Config } from '../../shared/base/config.ts';
import { counted } from '../../shared/base/text.ts';
import { type Limit, limitsOf, PER_DOLLAR } from '../../shared/state/spending/limit.ts';
import { dayOfRetirement, type Lifecycle, modelsInUse, windowTokensOf } from '../model/catalog.ts';
import { createClaude } from '../model/claude/adapter.ts';
import { askLifecycle, openClient } from '../model/claude/endpoint.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../model/errors/failure.ts';
import { wordRequest } from '../model/port.ts';
import type { Prices } from '../model/prices.ts';
import { type Fixed, fixedTokens, roomProblem, unpricedModels } from '../settings.ts';
import type { Finding } from './terminal.ts';

const MODEL_DEADLINE_MS = 10_000;
const DAY_MS = 24 * 3600_000;
const CALL_DEADLINE_MS = 30_000;

/**
 * Says what window the endpoint states, and makes one call of a few tokens: its description of itself proves no call.
 */
export async function checkModel(config: Config, asked = askWindow(config)): Promise<Finding> {
  const [stated, called] = [await asked, await call(config)];
  const window = stated.isKnown
    ? `window ${stated.tokens ?? 'not stated'} tokens`
    : 'the endpoint does not say what it is';
  const { CONTEXT_WINDOW_TOKENS: set } = config;
  const isContradicted = set !== undefined && stated.tokens !== undefined && stated.tokens < set;
  const warning = isContradicted
    ? `; CONTEXT_WINDOW_TOKENS is ${set} and wins, so requests above ${stated.tokens} may be refused; lower it or remove it`
    : '';
  const detail = `${config.MODEL}, ${window}; ${called ?? 'a call of a few tokens went through'}${warning}`;
  return { part: 'model', ok: called === undefined, ...(isContradicted && { isAdvice: true as const }), detail };
}

/** The window that the endpoint states, if any; whether it says anything at all. */
export interface StatedWindow {
  isKnown: boolean;
  tokens?: number;
}

/** Asks for the window. Never rejects. */
export async function askWindow(config: Config): Promise<StatedWindow> {
  const client = await openClient({ apiKey: config.ANTHROPIC_API_KEY, baseURL: config.ANTHROPIC_BASE_URL });
  try {
    const { max_input_tokens: tokens } = await client.models.retrieve(config.MODEL, {}, { timeout: MODEL_DEADLINE_MS });
    return { isKnown: true, ...(typeof tokens === 'number' && { tokens }) };
  } catch {
    return { isKnown: false };
  }
}

/** Checks that what every request holds leaves room for a first message, in the window that the endpoint states. */
export async function checkRoom(config: Config, fixed: Fixed, asked: Promise<StatedWindow>): Promise<Finding> {
  const { tokens } = await asked;
  const problem = roomProblem(config, fixed, tokens ?? windowTokensOf(config.MODEL));
  const detail = `the system prompt and the tools take about ${fixedTokens(config, fixed)} tokens`;
  return { part: 'room', ok: problem === undefined, detail: problem ?? detail };
}

/** Asks how long each model lives that a setting names. A retired one fails every call, so it fails the check. */
export async function checkLives(config: Config, nowMs = Date.now()): Promise<Finding[]> {
  const client = await openClient({ apiKey: config.ANTHROPIC_API_KEY, baseURL: config.ANTHROPIC_BASE_URL });
  return Promise.all(
    [...modelsInUse(config)].map(async ([model, settings]) => {
      const life = await askLifecycle(client, model).catch(() => undefined);
      return { part: `lifecycle of ${model}`, ...judgeLife(life, settings.join(', '), nowMs) };
    }),
  );
}

function judgeLife(life: Lifecycle | undefined, settings: string, nowMs: number): Omit<Finding, 'part'> {
  if (life === undefined) return { ok: true, detail: `${settings}; the endpoint does not say` };
  const { stage, retiresAtMs } = life;
  if (stage === 'active') return { ok: true, detail: `${settings}; active` };
  if (stage === 'retired') return { ok: false, detail: `${settings}; retired, calls of it fail; name another model` };
  if (retiresAtMs === undefined)
    return { ok: true, isAdvice: true, detail: `${settings}; deprecated, no date of its retirement is stated` };
  const days = Math.ceil((retiresAtMs - nowMs) / DAY_MS);
  const when = days > 0 ? `in ${counted(days, 'day')}` : 'which has passed';
  const detail = `${settings}; deprecated, to be retired on ${dayOfRetirement(retiresAtMs)}, ${when}`;
  return { ok: true, isAdvice: true, detail };
}

/** Why a call fails; `undefined` when it succeeds, or is refused for something specific to this call. */
async function call(config: Config): Promise<string | undefined> {
  const model = createClaude({
    apiKey: config.ANTHROPIC_API_KEY,
    baseURL: config.ANTHROPIC_BASE_URL,
    statedWindow: undefined,
    idleMs: MODEL_DEADLINE_MS,
    reach: () => {},
  });
  const result = await model.send(wordRequest(config.MODEL), AbortSignal.timeout(CALL_DEADLINE_MS));
  if (result.ok) return undefined;
  const { reason, status } = result.failure;
  const trouble = providerTroubleOf(reason);
  const why = trouble === undefined ? 'refuses a call of a few tokens' : PROVIDER_SAID[trouble];
  const todo =
    trouble === 'auth'
      ? '; check ANTHROPIC_API_KEY'
      : trouble === 'network' || trouble === 'model'
        ? '; check ANTHROPIC_BASE_URL'
        : '';
  return `the endpoint at ${config.ANTHROPIC_BASE_URL} ${why} (${reason}, status ${status ?? 'none'})${todo}`;
}

/** Names the limits of the cost, and the models whose cost no limit in money can count. */
export function checkMoney(config: Config, prices: Prices): Finding {
  const limits = limitsOf(config);
  const settings = limits.map(({ setting }) => setting);
  const ofGuests = limitsOf(config, {}, { isGuest: true }).filter(({ setting }) => !settings.includes(setting));
  const unpriced = unpricedModels(config, prices);
  const isCounted = limits.some(({ unit }) => unit === 'tokens');
  const advice = [
    ...(limits.length === 0 ? ['nothing limits what may be spent; set TOTAL_DAILY_USD'] : []),
    ...(unpriced.length > 0 && !isCounted ? [withoutPrice(unpriced)] : []),
  ];
  const stated = [...limits.map(inWords), ...ofGuests.map((limit) => `${inWords(limit)} for guests`)];
  const detail = [stated.join(', '), ...advice].filter((part) => part !== '').join('; ');
  return { part: 'money', ok: true, ...(advice.length > 0 && { isAdvice: true as const }), detail };
}

function withoutPrice(models: readonly string[]): string {
  return `no price is known of ${models.join(', ')}, so what they cost counts in no limit; name their prices in MODEL_PRICES_FILE, or set TOTAL_DAILY_TOKENS and CHAT_DAILY_TOKENS`;
}

function inWords({ setting, unit, max }: Limit): string {
  return `${setting} ${unit === 'usd' ? max / PER_DOLLAR : max}`;
}
