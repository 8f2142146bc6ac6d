import { context, SpanKind, trace } from '@opentelemetry/api';
import { failSpan } from '../base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../base/telemetry.ts';
import type { TelegramResult } from './failure.ts';

/** Runs a call of the Bot API, and notes how it went. Contract: returns what the call returns. */
export type ObserveCall = <T>(method: string, call: () => Promise<TelegramResult<T>>) => Promise<TelegramResult<T>>;

/** Notes nothing. */
export const UNOBSERVED: ObserveCall = (_method, call) => call();

/** Counts each call, and makes it a span where it belongs to one; a poll outside any message would be a trace of its own. */
export function observeCalls({ isExporting, span, count }: Telemetry): ObserveCall {
  const counted: ObserveCall = async (method, call) => {
    const result = await call();
    count(METRIC.telegramCalls, { method, result: result.ok ? 'ok' : result.failure.kind });
    return result;
  };
  if (!isExporting) return counted;
  return (method, call) => {
    if (trace.getSpan(context.active()) === undefined) return counted(method, call);
    const attributes = { 'spillway.telegram.method': method };
    const work: Parameters<typeof span>[2] = async (own) => {
      const result = await counted(method, call);
      if (!result.ok) failSpan(own, result.failure.kind);
      return result;
    };
    return span(SPAN.telegram, attributes, work, { kind: SpanKind.CLIENT }) as ReturnType<typeof call>;
  };
}
