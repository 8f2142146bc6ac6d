import { context, SpanKind, trace } from '@opentelemetry/api';
import { failSpan } from '../base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../base/telemetry.ts';
import type { TelegramResult } from './failure.ts';

/** Runs a call of the Bot API, and records its result. Contract: returns the result of the call. */
export type ObserveCall = <T>(method: string, call: () => Promise<TelegramResult<T>>) => Promise<TelegramResult<T>>;

/** Records nothing. */
export const UNOBSERVED: ObserveCall = (_method, call) => call();

/** Methods that only show that an answer is coming. Each turn has many of these calls, so only failed ones become spans. */
const SPANS_ON_FAILURE: ReadonlySet<string> = new Set(['sendChatAction', 'sendMessageDraft', 'sendRichMessageDraft']);

/** Counts each call. Records a span only inside another span, because otherwise every poll would be a trace of its own. */
export function observeCalls({ isExporting, span, count, mark }: Telemetry): ObserveCall {
  const countCall: ObserveCall = async (method, call) => {
    const result = await call();
    count(METRIC.telegramCalls, { method, result: result.ok ? 'ok' : result.failure.kind });
    return result;
  };
  const recordFailure: ObserveCall = async (method, call) => {
    const sinceMs = Date.now();
    const result = await countCall(method, call);
    if (!result.ok) {
      const attributes = { 'spillway.telegram.method': method, 'error.type': result.failure.kind };
      mark(SPAN.telegram, attributes, { sinceMs });
    }
    return result;
  };
  if (!isExporting) return countCall;
  return (method, call) => {
    if (trace.getSpan(context.active()) === undefined) return countCall(method, call);
    const attributes = { 'spillway.telegram.method': method };
    if (SPANS_ON_FAILURE.has(method)) return recordFailure(method, call);
    const work: Parameters<typeof span>[2] = async (own) => {
      const result = await countCall(method, call);
      if (!result.ok) failSpan(own, result.failure.kind);
      return result;
    };
    return span(SPAN.telegram, attributes, work, { kind: SpanKind.CLIENT }) as ReturnType<typeof call>;
  };
}
