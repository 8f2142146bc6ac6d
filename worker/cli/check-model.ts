import type { Settings } from '../../shared/base/settings.ts';
import { counted } from '../../shared/base/text.ts';
import { type Limit, limitsOf, PER_DOLLAR } from '../../shared/state/spending/limit.ts';
import { dayOfRetirement, modelsInUse, windowTokensOf } from '../model/catalog.ts';
import { createClaude } from '../model/claude/adapter.ts';
import { askLifecycle, openClient } from '../model/claude/endpoint.ts';
import { PROVIDER_SAID, providerTroubleOf } from '../model/errors/failure.ts';
import { wordRequest } from '../model/port.ts';
import { type Fixed, fixedTokens, roomProblem, unpricedModels } from '../setting-files.ts';
import { type CheckContext, type EndpointWindow, type Finding, failed, passed, withAdvice } from './finding.ts';

const ASK_TIMEOUT_MS = 10_000;
const DAY_MS = 24 * 3600_000;
const CALL_DEADLINE_MS = 30_000;

const clientOf = ({ ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL }: Settings) =>
  openClient({ apiKey, baseURL });

/** Asks the endpoint for the window of `MODEL`. An error counts as an unknown window; never rejects. */
export async function askWindow(settings: Settings): Promise<EndpointWindow> {
  const client = await clientOf(settings);
  try {
    const { max_input_tokens: tokens } = await client.models.retrieve(settings.MODEL, {}, { timeout: ASK_TIMEOUT_MS });
    return { isKnown: true, ...(typeof tokens === 'number' && { tokens }) };
  } catch {
    return { isKnown: false };
  }
}

/** Reports the window that the endpoint states, and makes one call of a few tokens to prove that calls work. */
export async function checkModel({ settings, window }: Pick<CheckContext, 'settings' | 'window'>): Promise<[Finding]> {
  const { isKnown, tokens } = await window;
  const problem = await callProblem(settings);
  const windowText = isKnown ? `window ${tokens ?? 'not stated'} tokens` : 'the endpoint does not say what it is';
  const detail = `${settings.MODEL}, ${windowText}; ${problem ?? 'a call of a few tokens went through'}`;
  if (problem !== undefined) return [failed('model', detail)];
  const { CONTEXT_WINDOW_TOKENS: setTokens } = settings;
  if (setTokens === undefined || tokens === undefined || tokens >= setTokens) return [passed('model', detail)];
  const risk = `wins, so requests above ${tokens} may be refused; lower it or remove it`;
  return [withAdvice('model', `${detail}; CONTEXT_WINDOW_TOKENS is ${setTokens} and ${risk}`)];
}

const SETTING_OF: Readonly<Record<string, string>> = {
  auth: 'ANTHROPIC_API_KEY',
  network: 'ANTHROPIC_BASE_URL',
  model: 'ANTHROPIC_BASE_URL',
};

async function callProblem(settings: Settings): Promise<string | undefined> {
  const model = createClaude({
    apiKey: settings.ANTHROPIC_API_KEY,
    baseURL: settings.ANTHROPIC_BASE_URL,
    statedWindow: undefined,
    idleMs: ASK_TIMEOUT_MS,
    reach: () => {},
  });
  const result = await model.send(wordRequest(settings.MODEL), AbortSignal.timeout(CALL_DEADLINE_MS));
  if (result.ok) return undefined;
  const { reason, status = 'none' } = result.failure;
  const trouble = providerTroubleOf(reason);
  const why = trouble === undefined ? 'refuses a call of a few tokens' : PROVIDER_SAID[trouble];
  const setting = trouble && SETTING_OF[trouble];
  const advice = setting === undefined ? '' : `; check ${setting}`;
  return `the endpoint at ${settings.ANTHROPIC_BASE_URL} ${why} (${reason}, status ${status})${advice}`;
}

/**
 * Checks that the fixed parts leave room for a first message in the window that a setting, the endpoint or the catalog states.
 */
export async function checkRoom({ settings, window }: CheckContext, fixedParts: Fixed): Promise<Finding> {
  const { tokens } = await window;
  const problem = roomProblem(settings, fixedParts, tokens ?? windowTokensOf(settings.MODEL));
  if (problem !== undefined) return failed('room', problem);
  return passed('room', `the system prompt and the tools take about ${fixedTokens(settings, fixedParts)} tokens`);
}

/** Asks the endpoint for the lifecycle of each configured model. A retired model fails the check, because its calls fail. */
export async function checkLives({ settings }: CheckContext): Promise<Finding[]> {
  const client = await clientOf(settings);
  return Promise.all(
    [...modelsInUse(settings)].map(async ([model, names]) => {
      const life = await askLifecycle(client, model).catch(() => undefined);
      const [part, settingNames] = [`lifecycle of ${model}`, names.join(', ')];
      if (life === undefined) return passed(part, `${settingNames}; the endpoint does not say`);
      const { stage, retiresAtMs } = life;
      if (stage === 'active') return passed(part, `${settingNames}; active`);
      if (stage === 'retired') return failed(part, `${settingNames}; retired, calls of it fail; name another model`);
      if (retiresAtMs === undefined)
        return withAdvice(part, `${settingNames}; deprecated, no date of its retirement is stated`);
      const days = Math.ceil((retiresAtMs - Date.now()) / DAY_MS);
      const when = days > 0 ? `in ${counted(days, 'day')}` : 'which has passed';
      return withAdvice(part, `${settingNames}; deprecated, to be retired on ${dayOfRetirement(retiresAtMs)}, ${when}`);
    }),
  );
}

/** Lists the limits on spending, and the models without a price, whose calls no limit in money can count. */
export function checkMoney({ settings, files: { prices } }: CheckContext): Finding[] {
  const limits = limitsOf(settings);
  const names = limits.map(({ setting }) => setting);
  const guestLimits = limitsOf(settings, {}, { isGuest: true }).filter(({ setting }) => !names.includes(setting));
  const limitsText = [...limits.map(inWords), ...guestLimits.map((limit) => `${inWords(limit)} for guests`)].join(', ');
  const modelsWithoutPrice = unpricedModels(settings, prices);
  const advice: string[] = limitsText === '' ? [] : [limitsText];
  if (limits.length === 0) advice.push('nothing limits what may be spent; set TOTAL_DAILY_USD');
  if (modelsWithoutPrice.length > 0 && !limits.some(({ unit }) => unit === 'tokens'))
    advice.push(
      `no price is known of ${modelsWithoutPrice.join(', ')}, so what they cost counts in no limit; name their prices in MODEL_PRICES_FILE, or set TOTAL_DAILY_TOKENS and CHAT_DAILY_TOKENS`,
    );
  const isFine = advice.length <= 1 && limits.length > 0;
  return [isFine ? passed('money', limitsText) : withAdvice('money', advice.join('; '))];
}

function inWords({ setting, unit, max }: Limit): string {
  return `${setting} ${unit === 'usd' ? max / PER_DOLLAR : max}`;
}
