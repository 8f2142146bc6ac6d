import type Anthropic from '@anthropic-ai/sdk';
import type { Attributes, Span } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import type { Purpose, Usage } from '../../shared/state/spending/usage-book.ts';
import { type Block, isServerSide } from './block.ts';
import type { Model, ModelResult } from './port.ts';
import { costOf, type Prices } from './prices.ts';

/** The counters of one pass of the model, under the names of the API. Proxies may omit any counter. */
type StatedPass = { [Key in keyof Anthropic.Usage]?: Anthropic.Usage[Key] | null } & { type?: string };

/** The counters of a call. A tool of the provider causes further passes of the model, which not every endpoint states. */
export type StatedUsage = StatedPass & { iterations?: readonly StatedPass[] | null };

/** The passes whose input is the conversation; a compaction or an advisor has another input. */
const OF_CONVERSATION: ReadonlySet<unknown> = new Set([undefined, 'message', 'fallback_message']);

/** A counter above this is implausible, since it exceeds any model's window. */
const COUNT_MAX = 100_000_000;

/** A counter from an endpoint; `undefined` if it is implausible, since one wrong value could use up a budget. */
function counter(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= COUNT_MAX ? Math.round(value) : undefined;
}

/**
 * Reads the usage of a call with the answer `content`. Unstated or implausible counters are absent if optional, otherwise 0;
 * but unstated searches are counted in `content`.
 */
export function readUsage(usage: StatedUsage | null | undefined, content: readonly Block[] = []): Usage {
  const cacheWriteTokens = counter(usage?.cache_creation_input_tokens);
  const forAnHour = counter(usage?.cache_creation?.ephemeral_1h_input_tokens);
  const thinking = counter(usage?.output_tokens_details?.thinking_tokens);
  const searches = counter(usage?.server_tool_use?.web_search_requests) ?? content.filter(isSearchResult).length;
  const passes = passesOf(usage?.iterations, content);
  return {
    inputTokens: inputOf(usage),
    outputTokens: counter(usage?.output_tokens) ?? 0,
    cacheReadTokens: counter(usage?.cache_read_input_tokens) ?? 0,
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(forAnHour !== undefined && { cacheWrite1hTokens: forAnHour }),
    ...(thinking !== undefined && { thinkingTokens: thinking }),
    ...(searches > 0 && { searches }),
    ...(passes && { passes }),
  };
}

function inputOf(pass: StatedPass | null | undefined): number {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = pass ?? {};
  const parts = [input_tokens, cache_read_input_tokens, cache_creation_input_tokens];
  return parts.reduce<number>((sum, part) => sum + (counter(part) ?? 0), 0);
}

function passesOf(iterations: StatedUsage['iterations'], content: readonly Block[]): Usage['passes'] {
  const passes = Array.isArray(iterations) ? iterations.filter(({ type }) => OF_CONVERSATION.has(type)) : [];
  const [first, last] = [passes[0], passes.at(-1)];
  if (first === undefined || last === undefined || inputOf(last) === 0)
    return content.some(isServerSide) ? 'unstated' : undefined;
  return {
    firstInputTokens: inputOf(first),
    lastInputTokens: inputOf(last),
    lastOutputTokens: counter(last.output_tokens) ?? 0,
  };
}

/** Whether a block is the result of a successful search. A failed search returns an error instead of a list, and is free. */
function isSearchResult({ type, content }: Block): boolean {
  return type === 'web_search_tool_result' && Array.isArray(content);
}

/**
 * The sizes of a conversation after an answer, in tokens: of the request, of the input of the last pass, and of the
 * conversation with the answer. Undefined if the usage may be a sum of several passes, because of a provider's tool in the
 * answer `content`, or if the endpoint's figures were missing or implausible (`unstated`). Pure.
 */
export function conversationSize(
  { inputTokens, outputTokens, passes }: Pick<Usage, 'inputTokens' | 'outputTokens' | 'passes'>,
  content: string | readonly Block[],
) {
  const isSum = passes === undefined && typeof content !== 'string' && content.some(isServerSide);
  if (isSum || passes === 'unstated') return undefined;
  if (passes === undefined) return { sentTokens: inputTokens, inputTokens, tokens: inputTokens + outputTokens };
  const { firstInputTokens: sentTokens, lastInputTokens, lastOutputTokens } = passes;
  return { sentTokens, inputTokens: lastInputTokens, tokens: lastInputTokens + lastOutputTokens };
}

/** The endpoint's attributes according to the telemetry conventions: only the host and the port of its address. */
export function serverAttributes(baseURL: string): Attributes {
  const { hostname, port, protocol } = new URL(baseURL);
  const defaultPort = protocol === 'http:' ? 80 : 443;
  return { 'server.address': hostname.replace(/^\[|\]$/g, ''), 'server.port': Number(port || defaultPort) };
}

/**
 * Wraps a model: exports a span with the purpose, result and cost of each call, and counts calls by model, purpose and result.
 */
export function withMeasures(model: Model, telemetry: Telemetry, prices: Prices, server: Attributes): Model {
  return {
    ...model,
    send(request, signal, onText) {
      const about = { model: request.model, purpose: request.purpose ?? 'answer' };
      const labels = { ...server, 'gen_ai.request.model': request.model };
      // No gen_ai attributes, since the SDK's own span inside this one has them, and each call should count once.
      const attributes = { 'spillway.model': about.model, 'spillway.purpose': about.purpose };
      return telemetry.span(SPAN.call, attributes, async (span) => {
        const sinceMs = performance.now();
        const result = await model.send(request, signal, onText);
        if (result.ok) span.setAttribute('spillway.stop_reason', result.answer.stopReason ?? 'unknown');
        else failSpan(span, result.failure.reason);
        telemetry.count(METRIC.modelCalls, { ...about, result: result.ok ? 'ok' : result.failure.reason });
        const usage = result.ok ? result.answer.usage : result.billedUsage;
        if (usage) bill({ telemetry, span, prices }, about, usage);
        measure(telemetry, labels, performance.now() - sinceMs, result, usage);
        return result;
      });
    },
  };
}

/** Measures a call according to the gen_ai conventions. A call that was not billed has 0 tokens. */
function measure({ count, record }: Telemetry, labels: Attributes, tookMs: number, result: ModelResult, usage?: Usage) {
  const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', ...labels };
  const call = result.ok ? chat : { ...chat, 'error.type': result.failure.reason };
  if (result.firstChunkMs !== undefined) record(METRIC.firstChunk, result.firstChunkMs / 1_000, chat);
  record(METRIC.callDuration, tookMs / 1_000, call);
  record(METRIC.oldCallDuration, tookMs / 1_000, call);
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  record(METRIC.callInput, inputTokens, call);
  record(METRIC.callOutput, outputTokens, call);
  // The modality is unknown, because the endpoint does not state how many of the tokens come from pictures.
  const tokens = { ...chat, 'gen_ai.token.modality': 'unknown' };
  count(METRIC.inputTokens, tokens, inputTokens);
  count(METRIC.outputTokens, tokens, outputTokens);
  count(METRIC.cacheRead, tokens, usage?.cacheReadTokens ?? 0);
  count(METRIC.cacheWrite, tokens, usage?.cacheWriteTokens ?? 0);
  count(METRIC.thinking, tokens, usage?.thinkingTokens ?? 0);
  if (!usage) return;
  record(METRIC.oldCallTokens, inputTokens, { ...chat, 'gen_ai.token.type': 'input' });
  record(METRIC.oldCallTokens, outputTokens, { ...chat, 'gen_ai.token.type': 'output' });
}

/** Counts the billed tokens of a call and, if the model's price is known, their cost. */
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
