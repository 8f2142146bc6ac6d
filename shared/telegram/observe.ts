import { context, SpanKind, trace } from '@opentelemetry/api';
import { failSpan } from '../base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../base/telemetry.ts';
import type { TelegramResult } from './failure.ts';

/** Runs a call of the Bot API, and notes how it went. Contract: returns what the call returns. */
export type ObserveCall = <T>(method: string, call: () => Promise<TelegramResult<T>>) => Promise<TelegramResult<T>>;

/** Notes nothing. */
export const UNOBSERVED: ObserveCall = (_method, call) => call();

/** What only shows that an answer is coming: many in each turn, and of interest when they fail. */
const SHOWN_WHEN_FAILED: ReadonlySet<string> = new Set(['sendChatAction', 'sendMessageDraft', 'sendRichMessageDraft']);

/** Counts each call, and makes it a span where it belongs to one; a poll outside any message would be a trace of its own. */
export function observeCalls({ isExporting, span, count, mark }: Telemetry): ObserveCall {
  const counted: ObserveCall = async (method, call) => {
    const result = await call();
    count(METRIC.telegramCalls, { method, result: result.ok ? 'ok' : result.failure.kind });
    return result;
  };
  const failuresOnly: ObserveCall = async (method, call) => {
    const sinceMs = Date.now();
    const result = await counted(method, call);
    if (!result.ok) {
      const attributes = { 'spillway.telegram.method': method, 'error.type': result.failure.kind };
      mark(SPAN.telegram, attributes, { sinceMs });
    }
    return result;
  };
  if (!isExporting) return counted;
  return (method, call) => {
    if (trace.getSpan(context.active()) === undefined) return counted(method, call);
    const attributes = { 'spillway.telegram.method': method };
    if (SHOWN_WHEN_FAILED.has(method)) return failuresOnly(method, call);
    const work: Parameters<typeof span>[2] = async (own) => {
      const result = await counted(method, call);
      if (!result.ok) failSpan(own, result.failure.kind);
      return result;
    };
    return span(SPAN.telegram, attributes, work, { kind: SpanKind.CLIENT }) as ReturnType<typeof call>;
  };
}
