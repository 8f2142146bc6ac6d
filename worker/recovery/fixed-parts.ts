import { hash } from 'node:crypto';
import { commit } from '../lane/events.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import type { Verdict } from '../lane/verdict.ts';
import { type Failure, isOverBudget } from '../model/errors/failure.ts';
import type { Model } from '../model/port.ts';
import type { ToolSpec } from '../tools/toolbox.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import type { FixedParts, FixedPartsAnswer, FixedPartsCheck } from './state.ts';

/** How long a refusal is cached. Short, so that a repaired endpoint is noticed soon. */
const REFUSED_KEEP_MS = 15_000;
const QUESTION = 'This is a test of the connection. Answer with the word "ready".';

/** Creates the check for a process. Chats that fail for the same cause share calls and cached refusals. */
export function createFixedPartsCheck(now: () => number = Date.now): FixedPartsCheck {
  const refusals = new Map<string, { answer: FixedPartsAnswer; untilMs: number }>();
  const running = new Map<string, Promise<FixedPartsAnswer>>();
  const next = new Map<string, Promise<FixedPartsAnswer>>();
  const knownRefusal = (cause: string): FixedPartsAnswer | undefined => {
    const refusal = refusals.get(cause);
    return refusal && now() < refusal.untilMs ? refusal.answer : undefined;
  };
  return async (model, fixed, failure, signal) => {
    const cause = `${failure.status ?? 'none'} ${failure.reason} ${digestOf(fixed)}`;
    const sharedAnswer = knownRefusal(cause) ?? next.get(cause);
    if (sharedAnswer) return sharedAnswer;
    const answering = (async () => {
      await running.get(cause)?.catch(() => undefined);
      next.delete(cause);
      const refusal = knownRefusal(cause);
      if (refusal) return refusal;
      const call = askFixedParts(model, fixed, signal)
        .then((answer) => {
          // Cache the refusal before the call counts as ended, or a caller in between would make a needless call.
          if (answer.kind === 'refused') refusals.set(cause, { answer, untilMs: now() + REFUSED_KEEP_MS });
          return answer;
        })
        .finally(() => running.delete(cause));
      running.set(cause, call);
      return call;
    })();
    next.set(cause, answering);
    return answering;
  };
}

/** Asks the endpoint in a call of its own, without cached or shared answers. Contract: as `FixedPartsCheck`. */
export async function askFixedParts(model: Model, fixed: FixedParts, signal: AbortSignal): Promise<FixedPartsAnswer> {
  const messages = [{ role: 'user' as const, content: QUESTION }];
  const result = await model.send({ ...fixed, purpose: 'probe', wordsOnly: true, caches: true, messages }, signal);
  if (result.ok && result.answer.stopReason !== 'refusal') return { kind: 'taken' };
  const failure: Failure = result.ok ? { kind: 'refusal', reason: 'refused' } : result.failure;
  // If a budget is used up, the request was not even sent.
  const isUnclear = failure.kind === 'transient' || isOverBudget(failure.reason);
  return { kind: isUnclear ? 'unclear' : 'refused', failure };
}

/** A digest of the model and the fixed parts. Only requests with the same digest share the answer to a check. */
function digestOf({ model, system, tools, serverTools }: FixedParts): string {
  return hash('sha1', JSON.stringify([model, system, tools, serverTools]), 'base64');
}

/** The fixed parts of every request with these settings, without a chat's memory and without the output limit. */
export function fixedPartsOf(settings: TurnSettings, tools: readonly ToolSpec[]): Omit<FixedParts, 'maxTokens'> {
  const { MODEL: model, systemPrompt: system, serverTools, EFFORT: effort } = settings;
  return { model, system, tools, serverTools, ...(effort !== undefined && { effort }) };
}

/**
 * Asks whether the endpoint accepts the fixed parts of this chat's requests. Asks once more if another chat made the shared
 * call and aborted that call. Contract: as `FixedPartsCheck`.
 */
export async function takesFixedParts(
  { failure, askedOutputTokens: maxTokens, turn: { env } }: FailedCall,
  signal: AbortSignal,
): Promise<FixedPartsAnswer> {
  const parts = { ...fixedPartsOf(env.settings, env.tools.specs()), maxTokens };
  const answer = await env.fixedParts(env.model, parts, failure, signal);
  const isAbortedByOther = answer.failure?.reason === 'aborted' && !signal.aborted;
  return isAbortedByOther ? env.fixedParts(env.model, parts, failure, signal) : answer;
}

/** The API names one bad tool at a time. One step excludes at most this many tools: more would mean a broken server. */
const TOOLS_MAX = 20;

/**
 * Excludes the tools that the API names one after another, until it names no further tool or `TOOLS_MAX` are excluded.
 * `undefined` if the first tool could not be excluded, and is not excluded already.
 */
export async function excludeTools(call: FailedCall, tool: string, signal: AbortSignal): Promise<Verdict | undefined> {
  const { turn, failure } = call;
  const excluded: string[] = [];
  for (let next: string | undefined = tool; next !== undefined && excluded.length < TOOLS_MAX; ) {
    if (!turn.env.tools.exclude(next, failure.reason)) break;
    excluded.push(next);
    const answer = await takesFixedParts(call, signal);
    next = answer.kind === 'refused' ? answer.failure?.tool : undefined;
  }
  // Another chat may have excluded the tool since the call began.
  const isExcluded = turn.env.tools.excluded().some((each) => each.tool === tool);
  if (excluded.length === 0 && !isExcluded) return undefined;
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [...changesOfStep(call), turn.clearSuspicion()],
    events: excluded.map((name) => ({ event: 'tool.excluded', tool: name })),
  });
  return { kind: 'again' };
}
