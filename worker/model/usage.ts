import type Anthropic from '@anthropic-ai/sdk';
import type { Attributes, Span } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { METRIC, SPAN, type Telemetry } from '../../shared/base/telemetry.ts';
import type { Purpose, Usage } from '../../shared/state/spending/usage-book.ts';
import { type Block, isServerSide } from './block.ts';
import type { Model, ModelResult } from './port.ts';
import { costOf, type Prices } from './prices.ts';

/** The counters of one pass of the model as the API names them; proxies omit any of them. */
type StatedPass = { [Key in keyof Anthropic.Usage]?: Anthropic.Usage[Key] | null } & { type?: string };

/** The counters of a call; a tool of the provider makes further passes, which not every endpoint states. */
export type StatedUsage = StatedPass & { iterations?: readonly StatedPass[] | null };

/** Passes that saw the conversation; a compaction or an advisor saw something else. */
const OF_CONVERSATION: ReadonlySet<unknown> = new Set([undefined, 'message', 'fallback_message']);

/** No window holds more. */
const COUNT_MAX = 100_000_000;

/** A counter as an endpoint may state it: what cannot be one is not stated. One lie would use up what may be spent. */
function counter(stated: unknown): number | undefined {
  return typeof stated === 'number' && stated >= 0 && stated <= COUNT_MAX ? Math.round(stated) : undefined;
}

/**
 * Reads what a call cost, and how large the conversation was, where `content` is what the model wrote. What is not
 * stated is absent, or 0 where a number must be.
 */
export function readUsage(stated: StatedUsage | null | undefined, content: readonly Block[] = []): Usage {
  const written = counter(stated?.cache_creation_input_tokens);
  const forAnHour = counter(stated?.cache_creation?.ephemeral_1h_input_tokens);
  const thinking = counter(stated?.output_tokens_details?.thinking_tokens);
  const searches = counter(stated?.server_tool_use?.web_search_requests) ?? content.filter(isSearchResult).length;
  const passes = passesOf(stated?.iterations, content);
  return {
    inputTokens: inputOf(stated),
    outputTokens: counter(stated?.output_tokens) ?? 0,
    cacheReadTokens: counter(stated?.cache_read_input_tokens) ?? 0,
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(forAnHour !== undefined && { cacheWrite1hTokens: forAnHour }),
    ...(thinking !== undefined && { thinkingTokens: thinking }),
    ...(searches > 0 && { searches }),
    ...(passes && { passes }),
  };
}

function inputOf(stated: StatedPass | null | undefined): number {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = stated ?? {};
  const parts = [input_tokens, cache_read_input_tokens, cache_creation_input_tokens];
  return parts.reduce<number>((sum, part) => sum + (counter(part) ?? 0), 0);
}

function passesOf(stated: StatedUsage['iterations'], content: readonly Block[]): Usage['passes'] {
  const passes = Array.isArray(stated) ? stated.filter(({ type }) => OF_CONVERSATION.has(type)) : [];
  const [first, last] = [passes[0], passes.at(-1)];
  if (first === undefined || last === undefined || inputOf(last) === 0)
    return content.some(isServerSide) ? 'unstated' : undefined;
  return {
    firstInputTokens: inputOf(first),
    lastInputTokens: inputOf(last),
    lastOutputTokens: counter(last.output_tokens) ?? 0,
  };
}

/** A search that failed has an error instead of a list, and no fee. */
function isSearchResult({ type, content }: Block): boolean {
  return type === 'web_search_tool_result' && Array.isArray(content);
}

/**
 * The size of a conversation after an answer, in tokens: of the request as it was sent, the most input that the model had in
 * one pass, and of the conversation with the answer, which is that of its last pass. Undefined where a tool of the provider made further
 * passes and only their sum is stated, or may be: `content` is what the model wrote, and older records do not say. Pure.
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

/** Where the endpoint is, in the words of the conventions; of its address only the host and the port. */
export function serverAttributes(baseURL: string): Attributes {
  const { hostname, port, protocol } = new URL(baseURL);
  const usual = protocol === 'http:' ? 80 : 443;
  return { 'server.address': hostname.replace(/^\[|\]$/g, ''), 'server.port': Number(port || usual) };
}

/**
 * The model; each of its calls is a span that says what it was for, how it ended and what it cost, and is counted by model
 * and purpose. Contract: as the model's own.
 */
export function withMeasures(model: Model, telemetry: Telemetry, prices: Prices, server: Attributes): Model {
  return {
    ...model,
    send(request, signal, onText) {
      const about = { model: request.model, purpose: request.purpose ?? 'answer' };
      const asked = { ...server, 'gen_ai.request.model': request.model };
      // Nothing of gen_ai: the SDK's own span inside is the `chat`, and one call is to be counted once.
      const attributes = { 'spillway.model': about.model, 'spillway.purpose': about.purpose };
      return telemetry.span(SPAN.call, attributes, async (span) => {
        const sinceMs = performance.now();
        const result = await model.send(request, signal, onText);
        if (result.ok) span.setAttribute('spillway.stop_reason', result.answer.stopReason ?? 'unknown');
        else failSpan(span, result.failure.reason);
        telemetry.count(METRIC.modelCalls, { ...about, result: result.ok ? 'ok' : result.failure.reason });
        const usage = result.ok ? result.answer.usage : result.spent;
        if (usage) bill({ telemetry, span, prices }, about, usage);
        measure(telemetry, asked, performance.now() - sinceMs, result, usage);
        return result;
      });
    },
  };
}

/** Measures a call by the gen_ai conventions: 0 tokens where none were billed. */
function measure({ count, record }: Telemetry, asked: Attributes, tookMs: number, result: ModelResult, usage?: Usage) {
  const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'anthropic', ...asked };
  const call = result.ok ? chat : { ...chat, 'error.type': result.failure.reason };
  if (result.firstChunkMs !== undefined) record(METRIC.firstChunk, result.firstChunkMs / 1_000, chat);
  record(METRIC.callDuration, tookMs / 1_000, call);
  record(METRIC.oldCallDuration, tookMs / 1_000, call);
  const { inputTokens = 0, outputTokens = 0 } = usage ?? {};
  record(METRIC.callInput, inputTokens, call);
  record(METRIC.callOutput, outputTokens, call);
  // The endpoint does not say how many tokens were pictures.
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
