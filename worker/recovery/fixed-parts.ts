import { createHash } from 'node:crypto';
import { commit } from '../lane/events.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import type { Verdict } from '../lane/verdict.ts';
import { type Failure, isOverBudget } from '../model/errors/failure.ts';
import type { Model } from '../model/port.ts';
import type { ToolSpec } from '../tools/toolbox.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import type { FixedParts, FixedPartsCheck, FixedPartsWord } from './state.ts';

/** Short: a fixed endpoint is asked again soon, and so is one for a chat whose own trouble looks alike. */
const REFUSED_KEEP_MS = 15_000;
const QUESTION = 'This is a test of the connection. Answer with the word "ready".';

/** A check that shares its answers; one serves a whole process. */
export function createFixedPartsCheck(now: () => number = Date.now): FixedPartsCheck {
  const refused = new Map<string, { word: FixedPartsWord; untilMs: number }>();
  const running = new Map<string, Promise<FixedPartsWord>>();
  const next = new Map<string, Promise<FixedPartsWord>>();
  const knownRefusal = (cause: string): FixedPartsWord | undefined => {
    const kept = refused.get(cause);
    return kept && now() < kept.untilMs ? kept.word : undefined;
  };
  return async (model, fixed, failure, signal) => {
    const cause = `${failure.status ?? 'none'} ${failure.reason} ${digestOf(fixed)}`;
    const shared = knownRefusal(cause) ?? next.get(cause);
    if (shared) return shared;
    const asked = (async () => {
      await running.get(cause)?.catch(() => undefined);
      next.delete(cause);
      const known = knownRefusal(cause);
      if (known) return known;
      const call = askFixedParts(model, fixed, signal)
        .then((word) => {
          // Before the call counts as ended: otherwise a caller between the two would make another call.
          if (word.kind === 'refused') refused.set(cause, { word, untilMs: now() + REFUSED_KEEP_MS });
          return word;
        })
        .finally(() => running.delete(cause));
      running.set(cause, call);
      return call;
    })();
    next.set(cause, asked);
    return asked;
  };
}

/** Asks once, whatever was asked before. Contract: as at `FixedPartsCheck`. */
export async function askFixedParts(model: Model, fixed: FixedParts, signal: AbortSignal): Promise<FixedPartsWord> {
  const messages = [{ role: 'user' as const, content: QUESTION }];
  const result = await model.send({ ...fixed, purpose: 'probe', wordsOnly: true, caches: true, messages }, signal);
  if (result.ok && result.answer.stopReason !== 'refusal') return { kind: 'taken' };
  const failure: Failure = result.ok ? { kind: 'refusal', reason: 'refused' } : result.failure;
  // The request was not even sent for a chat whose budget is used up.
  const isUnclear = failure.kind === 'transient' || isOverBudget(failure.reason);
  return { kind: isUnclear ? 'unclear' : 'refused', failure };
}

/** Other tools, another prompt or another model need a new check. */
function digestOf({ model, system, tools, serverTools }: FixedParts): string {
  return createHash('sha1')
    .update(JSON.stringify([model, system, tools, serverTools]))
    .digest('base64');
}

/** The parts of every request with these settings, except its output limit. */
export function fixedPartsOf(settings: TurnSettings, tools: readonly ToolSpec[]): Omit<FixedParts, 'maxTokens'> {
  const { MODEL: model, systemPrompt: system, serverTools, EFFORT: effort } = settings;
  return { model, system, tools, serverTools, ...(effort !== undefined && { effort }) };
}

/**
 * Whether the endpoint takes what every request of this chat holds. A call that another chat began, and ended early, is made
 * once more. Contract: as `FixedPartsCheck`.
 */
export async function takesFixedParts(
  { failure, askedOutputTokens: maxTokens, turn: { env } }: FailedCall,
  signal: AbortSignal,
): Promise<FixedPartsWord> {
  const fixed = { ...fixedPartsOf(env.settings, env.tools.specs()), maxTokens };
  const word = await env.fixedParts(env.model, fixed, failure, signal);
  const isOthersEnd = word.failure?.reason === 'aborted' && !signal.aborted;
  return isOthersEnd ? env.fixedParts(env.model, fixed, failure, signal) : word;
}

/** The API names one tool at a time; more bad tools than that are a broken server. */
const TOOLS_MAX = 20;

/** Excludes the tools that the API names, until it takes the fixed parts. Returns nothing if no tool could be excluded. */
export async function excludeTools(call: FailedCall, named: string, signal: AbortSignal): Promise<Verdict | undefined> {
  const { env } = call.turn;
  const { turn, failure } = call;
  const excluded: string[] = [];
  for (let tool: string | undefined = named; tool !== undefined && excluded.length < TOOLS_MAX; ) {
    if (!env.tools.exclude(tool, failure.reason)) break;
    excluded.push(tool);
    const word = await takesFixedParts(call, signal);
    tool = word.kind === 'refused' ? word.failure?.tool : undefined;
  }
  // Another chat may have excluded the tool since the call began.
  const isExcluded = env.tools.excluded().some(({ tool }) => tool === named);
  if (excluded.length === 0 && !isExcluded) return undefined;
  await commit(turn, {
    step: `recover:${turn.recoveries}`,
    changes: [...changesOfStep(call), turn.clearSuspicion()],
    events: excluded.map((tool) => ({ event: 'tool.excluded', tool })),
  });
  return { kind: 'again' };
}
