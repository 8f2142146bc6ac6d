import type { Attributes, Span } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import type { Model, ModelRequest, ModelResult, Purpose, Usage } from './port.ts';
import { costOf, type Prices } from './prices.ts';

/**
 * The model; each of its calls is a span that says what it was for, how it ended and what it cost, and is counted by model
 * and purpose. Contract: as the model's own.
 */
export function withMeasures(model: Model, telemetry: Telemetry, prices: Prices): Model {
  return {
    limits: (name) => model.limits(name),
    countTokens: (request, signal) => model.countTokens(request, signal),
    send: (request, signal, onText) =>
      telemetry.span(SPAN.call, attributesOf(request), async (span) => {
        const result = await model.send(request, signal, onText);
        const about = { model: request.model, purpose: request.purpose ?? 'answer' };
        note(span, result);
        telemetry.count(METRIC.modelCalls, { ...about, result: result.ok ? 'ok' : result.failure.reason });
        const usage = result.ok ? result.answer.usage : result.spent;
        if (usage) bill({ telemetry, span, prices }, about, usage);
        return result;
      }),
  };
}

function attributesOf({ model, purpose, session }: ModelRequest): Attributes {
  return {
    'gen_ai.request.model': model,
    'spillway.purpose': purpose ?? 'answer',
    ...(session !== undefined && { 'gen_ai.conversation.id': session }),
  };
}

function note(span: Span, result: ModelResult): void {
  if (result.ok) span.setAttribute('gen_ai.response.finish_reasons', [result.answer.stopReason ?? 'unknown']);
  else failSpan(span, result.failure.reason);
}

/** Counts what a call was billed; a model without a known price has no cost. */
function bill(
  { telemetry, span, prices }: { telemetry: Telemetry; span: Span; prices: Prices },
  about: { model: string; purpose: Purpose },
  usage: Usage,
): void {
  const { inputTokens, cacheReadTokens, cacheWriteTokens = 0, outputTokens } = usage;
  const kinds = {
    input: inputTokens - cacheReadTokens - cacheWriteTokens,
    cache_read: cacheReadTokens,
    cache_write: cacheWriteTokens,
    output: outputTokens,
  };
  for (const [kind, tokens] of Object.entries(kinds))
    if (tokens > 0) telemetry.count(METRIC.modelTokens, { ...about, kind }, tokens);
  const dollars = costOf(about.model, usage, prices);
  if (dollars === undefined) return;
  span.setAttribute('spillway.cost.dollars', dollars);
  telemetry.count(METRIC.modelCost, about, dollars);
}
