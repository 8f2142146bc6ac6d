import { tokenizerFactor } from '../model/catalog.ts';
import { type Count, countRequest, type FixedParts, usableTokens } from '../model/count.ts';
import type { MessageParam, Model, ModelRequest, ModelResult, OnText } from '../model/port.ts';
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

/**
 * Sends a request, and sends it to the fallback model when the first is overloaded, broken or unreachable. Thinking is
 * omitted for the fallback, since it belongs to another model. If the fallback gives no answer, the first failure
 * stands. `silences` says how many of the calls fell silent after they had said something. Contract: as `Model.send`,
 * plus whatever `fill` rejects with.
 */
export async function sendOrFallBack(
  model: Model,
  fallbackModel: string | undefined,
  request: ModelRequest,
  { window, fixed, fill, onText }: Sending,
  signal: AbortSignal,
): Promise<ModelResult & { byFallback: boolean; silences: number }> {
  const result = await model.send(request, signal, onText);
  const first = { ...result, byFallback: false, silences: silencesIn(result) };
  if (first.ok || fallbackModel === undefined || signal.aborted || first.failure.kind !== 'transient') return first;
  const messages = view({ ...window, records: [...window.records, trimOf('thinking', window.records)] });
  const count: Count = countRequest(fixed, window, messages, fallbackModel, tokenizerFactor(fallbackModel));
  const { windowTokens } = await model.limits(fallbackModel);
  if (count.tokens > usableTokens(windowTokens, request.maxTokens)) return first;
  const again = { ...request, model: fallbackModel, messages: await fill(messages) };
  const second = await model.send(again, signal, onText);
  if (second.ok) return { ...second, byFallback: true, silences: first.silences };
  return { ...first, silences: first.silences + silencesIn(second) };
}

/** The endpoint's own timeouts are no silence: there, nothing was said. */
function silencesIn(result: ModelResult): number {
  return !result.ok && result.failure.reason === 'timeout' && result.said !== undefined ? 1 : 0;
}
