import { tokenizerFactor } from '../model/catalog.ts';
import { type Count, countRequest, type FixedParts, usableTokens } from '../model/count.ts';
import type { MessageParam, Model, ModelRequest, ModelResult, OnText, Usage } from '../model/port.ts';
import { trimOf } from '../recovery/effects.ts';
import { view, type Window } from '../session/view.ts';

/** What a request was made of, and who receives its text as it streams. */
export interface Sending {
  window: Window;
  fixed: FixedParts;
  fill: FillMessages;
  /** Absent when nothing streams the text. */
  onText: OnText | undefined;
}

/** Fills stored files into messages. */
export type FillMessages = (messages: MessageParam[]) => Promise<MessageParam[]>;

/** The result that counts, and what the other call cost where two were made and both are billed. */
export type Fetched = ModelResult & {
  byFallback: boolean;
  silences: number;
  besides?: { model: string; usage: Usage };
  /** Whether both models declined. */
  isSeconded?: true;
};

/**
 * Sends a request, and sends it to the fallback model once when the first is overloaded, broken or unreachable, or
 * declines. Thinking is omitted for the fallback, since it belongs to another model. If the fallback gives no answer, or
 * declines as well, the first result stands. `silences` says how many of the calls fell silent after they had said
 * something. Contract: as `Model.send`, plus whatever `fill` rejects with.
 */
export async function sendOrFallBack(
  model: Model,
  fallbackModel: string | undefined,
  request: ModelRequest,
  { window, fixed, fill, onText }: Sending,
  signal: AbortSignal,
): Promise<Fetched> {
  const result = await model.send(request, signal, onText);
  const first = { ...result, byFallback: false, silences: silencesIn(result) };
  if (fallbackModel === undefined || fallbackModel === request.model || signal.aborted || !helpsAnother(first))
    return first;
  const messages = view({ ...window, records: [...window.records, trimOf('thinking', window.records)] });
  const count: Count = countRequest(fixed, window, messages, fallbackModel, tokenizerFactor(fallbackModel));
  const { windowTokens } = await model.limits(fallbackModel);
  if (count.tokens > usableTokens(windowTokens, request.maxTokens)) return first;
  const again = { ...request, model: fallbackModel, messages: await fill(messages) };
  const second = await model.send(again, signal, onText);
  if (second.ok && !isRefusal(second))
    return { ...second, byFallback: true, silences: first.silences, ...billed(request.model, first) };
  return {
    ...first,
    silences: first.silences + silencesIn(second),
    ...billed(fallbackModel, second),
    ...(second.ok && first.ok && { isSeconded: true as const }),
  };
}

/** Whether another model may do what this one did not. */
function helpsAnother(result: ModelResult): boolean {
  return result.ok ? isRefusal(result) : result.failure.kind === 'transient';
}

function isRefusal(result: Extract<ModelResult, { ok: true }>): boolean {
  return result.answer.stopReason === 'refusal';
}

function billed(model: string, result: ModelResult): Pick<Fetched, 'besides'> {
  const usage = result.ok ? result.answer.usage : result.spent;
  return usage === undefined ? {} : { besides: { model, usage } };
}

/** The endpoint's own timeouts are no silence: there, nothing was said. */
function silencesIn(result: ModelResult): number {
  return !result.ok && result.failure.reason === 'timeout' && result.said !== undefined ? 1 : 0;
}
