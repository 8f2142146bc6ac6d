import { windowTokensOf } from './catalog.ts';
import type { ModelLimits } from './port.ts';

/** What an endpoint states about a model, in part or in whole, and how long that stays valid. */
export interface Stated {
  limits: Partial<ModelLimits>;
  keepMs: number;
}

/** The limits of the models that were asked about. */
export interface LimitsMemory {
  /** Asks once for as long as the answer is valid; concurrent callers share the answer. Never rejects. */
  of(model: string): Promise<ModelLimits>;
  /** What is known without asking, stale or not. */
  known(model: string): ModelLimits | undefined;
}

/** A window that the operator states for one model, whatever its endpoint says. */
export interface StatedWindow {
  model: string;
  tokens: number;
}

interface Kept {
  limits: ModelLimits;
  untilMs: number;
}

const FAILED_KEEP_MS = 60_000;

/**
 * Caches limits. `ask` rejects when the endpoint cannot be asked just now: then the last known limits hold for another
 * minute, or else the table's. The table also supplies whatever is not stated. A window smaller than what is known would
 * cost conversations, so it is asked for twice, and of two different ones the larger holds.
 */
export function rememberLimits(
  ask: (model: string) => Promise<Stated>,
  stated: StatedWindow | undefined,
  now: () => number = Date.now,
): LimitsMemory {
  const kept = new Map<string, Kept>();
  const asking = new Map<string, Promise<ModelLimits>>();
  const learn = async (model: string): Promise<ModelLimits> => {
    const before = kept.get(model)?.limits ?? { windowTokens: windowTokensOf(model) };
    const answer = await askTwice(ask, model, before).catch((): Stated => ({ limits: before, keepMs: FAILED_KEEP_MS }));
    const limits = { windowTokens: windowTokensOf(model), ...answer.limits };
    if (stated?.model === model) limits.windowTokens = stated.tokens;
    kept.set(model, { limits, untilMs: now() + answer.keepMs });
    asking.delete(model);
    return limits;
  };
  return {
    known: (model) => kept.get(model)?.limits,
    async of(model) {
      const known = kept.get(model);
      if (known && now() < known.untilMs) return known.limits;
      const asked = asking.get(model) ?? learn(model);
      asking.set(model, asked);
      return asked;
    },
  };
}

async function askTwice(
  ask: (model: string) => Promise<Stated>,
  model: string,
  { windowTokens }: ModelLimits,
): Promise<Stated> {
  const windowOf = ({ limits }: Stated) => limits.windowTokens ?? windowTokens;
  const first = await ask(model);
  if (windowOf(first) >= windowTokens) return first;
  const second = await ask(model);
  return windowOf(second) > windowOf(first) ? second : first;
}
