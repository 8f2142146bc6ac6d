import { createHash } from 'node:crypto';
import type { Settings } from '../lane/settings.ts';
import { type Failure, isOverBudget } from '../model/errors/failure.ts';
import type { Model, ModelRequest } from '../model/port.ts';
import type { ToolSpec } from '../tools/toolbox.ts';

/** Whether the endpoint takes what every request holds: system prompt and tools, without anything from a chat. */
export type FixedPartsVerdict =
  /** Then the chat's history or its message caused the refusal. */
  | { kind: 'taken'; wasAsked: boolean }
  /** Then no chat is to blame, and none is changed. */
  | { kind: 'refused'; wasAsked: boolean; failure: Failure }
  /** The endpoint was in trouble, so nothing is known. */
  | { kind: 'unclear'; wasAsked: boolean; failure: Failure };

/**
 * Asks the endpoint, with one short request, whether it takes the fixed parts alone. One call serves all chats of the
 * process that fail for the same cause. What blames a chat is younger than the failure that it judges: callers share
 * only a call that begins after they asked. That the fixed parts are refused blames none, and is cached for a while.
 *
 * Contract: never throws. Not idempotent: a call is billed. On abort the verdict is `unclear`.
 */
export type FixedPartsCheck = (
  model: Model,
  fixed: FixedParts,
  failure: Failure,
  signal: AbortSignal,
) => Promise<FixedPartsVerdict>;

/** The parts of every request, for all chats with the same settings. */
export type FixedParts = Pick<ModelRequest, 'model' | 'system' | 'tools' | 'serverTools' | 'maxTokens' | 'effort'>;

/**
 * An operator who has fixed the endpoint should not have to wait, and neither should a chat whose own trouble looks
 * alike.
 */
const REFUSED_KEEP_MS = 15_000;
const QUESTION = 'This is a test of the connection. Answer with the word "ready".';

/** A check that shares its answers; one serves a whole process. */
export function createFixedPartsCheck(now: () => number = Date.now): FixedPartsCheck {
  const refused = new Map<string, { verdict: FixedPartsVerdict; untilMs: number }>();
  const running = new Map<string, Promise<FixedPartsVerdict>>();
  const next = new Map<string, Promise<FixedPartsVerdict>>();
  const knownRefusal = (cause: string): FixedPartsVerdict | undefined => {
    const kept = refused.get(cause);
    return kept && now() < kept.untilMs ? { ...kept.verdict, wasAsked: false } : undefined;
  };
  const ask = async (cause: string, model: Model, fixed: FixedParts, signal: AbortSignal) => {
    const verdict = await askFixedParts(model, fixed, signal);
    if (verdict.kind === 'refused') refused.set(cause, { verdict, untilMs: now() + REFUSED_KEEP_MS });
    return verdict;
  };
  return async (model, fixed, failure, signal) => {
    const cause = `${failure.status ?? 'none'} ${failure.reason} ${digestOf(fixed)}`;
    const kept = knownRefusal(cause);
    if (kept) return kept;
    const shared = next.get(cause);
    if (shared) return { ...(await shared), wasAsked: false };
    const asked = (async () => {
      await running.get(cause)?.catch(() => undefined);
      next.delete(cause);
      const known = knownRefusal(cause);
      if (known) return known;
      const call = ask(cause, model, fixed, signal).finally(() => running.delete(cause));
      running.set(cause, call);
      return call;
    })();
    next.set(cause, asked);
    return asked;
  };
}

/** Asks once, whatever was asked before. Contract: as at `FixedPartsCheck`. */
export async function askFixedParts(model: Model, fixed: FixedParts, signal: AbortSignal): Promise<FixedPartsVerdict> {
  const request = {
    ...fixed,
    purpose: 'probe' as const,
    wordsOnly: true,
    caches: true,
    messages: [{ role: 'user' as const, content: QUESTION }],
  };
  return verdictOf(await model.send(request, signal));
}

/** Other tools, another prompt or another model need a new check. */
function digestOf({ model, system, tools, serverTools }: FixedParts): string {
  return createHash('sha1')
    .update(JSON.stringify([model, system, tools, serverTools]))
    .digest('base64');
}

function verdictOf(result: Awaited<ReturnType<Model['send']>>): FixedPartsVerdict {
  if (result.ok && result.answer.stopReason !== 'refusal') return { kind: 'taken', wasAsked: true };
  const failure: Failure = result.ok ? { kind: 'refusal', reason: 'refused' } : result.failure;
  // The request was not even sent for a chat whose budget is used up.
  const isUnclear = failure.kind === 'transient' || isOverBudget(failure.reason);
  return { kind: isUnclear ? 'unclear' : 'refused', wasAsked: true, failure };
}

/** The parts of every request with these settings, except its output limit. */
export function fixedPartsOf(
  { modelName, systemPrompt, serverTools, effort }: Settings,
  tools: readonly ToolSpec[],
): Omit<FixedParts, 'maxTokens'> {
  return { model: modelName, system: systemPrompt, tools, serverTools, ...(effort !== undefined && { effort }) };
}
