import type Anthropic from '@anthropic-ai/sdk';
import { APIError } from '@anthropic-ai/sdk/core/error';
import { isFields, jsonFields } from '../../../shared/base/fields.ts';
import { clipMiddle } from '../../../shared/base/text.ts';
import type { Usage } from '../../../shared/state/spending/usage-book.ts';
import type { Block } from '../block.ts';
import { tokenizerFactor } from '../catalog.ts';
import { estimateRequest } from '../count.ts';
import { classify } from '../errors/classify.ts';
import type { Failure } from '../errors/failure.ts';
import { estimateText } from '../estimate.ts';
import type { ModelAnswer, ModelRequest, ModelResult, OnText } from '../port.ts';
import { ownId } from '../rules/blocks.ts';
import type { WireRequest } from '../rules/validate.ts';
import { readUsage, type StatedUsage } from '../usage.ts';
import type { ClaudeOptions } from './adapter.ts';
import { namedTool } from './refusal.ts';
import { Wire } from './wire.ts';

/** The result of one call, and what the SDK threw where there is no answer. */
export interface Sent {
  result: ModelResult;
  error?: unknown;
}

/** The longest silence within a summary: its user waits, and there is a way on without it. */
const SUMMARY_IDLE_MS = 30_000;

/** One request, with what belongs to its call. */
export interface Call {
  request: ModelRequest;
  options: ClaudeOptions;
  signal: AbortSignal;
  onText: OnText | undefined;
}

/** Sends a request and waits for its end; a failure is a value. Throws what `onText` throws. */
export async function sendCall(client: Anthropic, body: WireRequest, call: Call): Promise<Sent> {
  const { request, options, signal, onText } = call;
  const draft = new Draft(callIdsIn(request.messages));
  const thrown: unknown[] = [];
  const showText = (): void => {
    try {
      onText?.(draft.text);
    } catch (error) {
      thrown.push(error);
      throw error;
    }
  };
  const { idleMs, summaryIdleMs = SUMMARY_IDLE_MS } = options;
  const longestMs = request.purpose === 'summary' ? Math.min(idleMs, summaryIdleMs) : idleMs;
  // While the model thinks unseen, nothing arrives but pings.
  const wire = new Wire(longestMs, signal, () => draft.isThinking && showText());
  const about = { openTelemetry: { conversationId: request.session }, signal: wire.signal, middleware: [wire.listen] };
  const sentMs = performance.now();
  let firstChunkMs: number | undefined;
  let error: unknown;
  try {
    const streamed = { ...body, stream: true } as unknown as Anthropic.MessageCreateParamsStreaming;
    for await (const event of await client.messages.create(streamed, about)) {
      draft.add(event);
      if (event.type === 'content_block_delta') {
        firstChunkMs ??= performance.now() - sentMs;
        options.reach('answer streaming');
      }
      showText();
    }
  } catch (caught) {
    error = caught;
  } finally {
    wire.close();
  }
  if (thrown.length > 0) throw thrown[0];
  const usage = usageOf(call, draft, wire, error);
  const timed = firstChunkMs === undefined ? {} : { firstChunkMs };
  if (draft.isWhole && usage) return { result: { ok: true, answer: draft.answer(request.model, usage), ...timed } };
  const failure = failureOf(call, draft, wire, error);
  const said = draft.text.trim() === '' ? {} : { said: draft.text };
  return { result: { ok: false, failure, ...(usage && { spent: usage }), ...said, ...timed }, error };
}

function failureOf({ request, signal }: Call, { hasBegun }: Draft, wire: Wire, error: unknown): Failure {
  if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
  if (wire.isSilent) return { kind: 'transient', reason: 'timeout' };
  if (wire.foreign !== undefined && !hasBegun) return classifyForeign(wire.foreign);
  // The SDK ends a stream that was aborted as one that ended by itself.
  if (error === undefined) return { kind: 'transient', reason: 'cut_stream' };
  const failure = classify(error, { requestBytes: Buffer.byteLength(JSON.stringify(request)) });
  const names = request.tools?.map(({ name }) => name) ?? [];
  const tool = failure.kind === 'unknown' || failure.kind === 'poison' ? namedTool(error, names) : undefined;
  return { ...failure, ...(tool !== undefined && { tool }) };
}

/**
 * The bill of a call: what the endpoint states, and our own count of what it does not state. A server that refused the
 * call, in a status or in its first event, bills nothing, and nor does one whose connection broke before the stream began.
 * A server that began a stream bills the input and the output so far. A server that we left while it was silent may have
 * taken the call, so its input counts.
 */
function usageOf({ request, signal }: Call, draft: Draft, wire: Wire, error: unknown): Usage | undefined {
  if (!draft.hasBegun) {
    const isRefused = error instanceof APIError && error.error !== undefined;
    const isLeft = wire.isSent && (signal.aborted || wire.isSilent);
    if (isRefused || !(wire.isTaken || isLeft)) return undefined;
  }
  const stated = readUsage(draft.usage, draft.read().content);
  const ownTokens = draft.hasTotals ? 0 : Math.ceil(estimateText(draft.written) * tokenizerFactor(request.model));
  const outputTokens = Math.max(stated.outputTokens, ownTokens);
  if (stated.inputTokens > 0) return { ...stated, outputTokens };
  return { ...stated, inputTokens: estimateRequest(request), outputTokens, passes: 'unstated' };
}

function callIdsIn(messages: ModelRequest['messages']): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return new Set(blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])));
}

/** Enough to see what went wrong. */
const SHOWN_CHARS = 2_000;

/** The part of an answer that has arrived so far. */
class Draft {
  /** Whether an event of an answer has arrived. */
  hasBegun = false;
  /** Whether the answer is whole: its stop reason has arrived, or its end. */
  isWhole = false;
  /** Whether the block that is open is thinking. */
  isThinking = false;
  /** The text that was written, of all blocks. */
  text = '';
  /** All of the output: text, thinking, tool inputs. */
  written = '';
  usage: StatedUsage = {};
  /** Whether the output of the whole answer is stated. */
  hasTotals = false;
  readonly #usedIds: ReadonlySet<string>;
  #model: string | undefined;
  #stopReason: string | null = null;
  /** The blocks by their index, each with the JSON of its input as far as it is written. */
  readonly #blocks = new Map<number, { block: Block; json: string }>();

  /** `usedIds` are those of the calls in the request: another call needs an id of its own. */
  constructor(usedIds: ReadonlySet<string>) {
    this.#usedIds = usedIds;
  }

  /** Adds an event. A field that the endpoint leaves out of the envelope is not missed. */
  add(event: Anthropic.RawMessageStreamEvent): void {
    this.hasBegun = true;
    if (event.type === 'message_start') {
      this.#model = event.message?.model;
      this.#state(event.message?.usage);
    } else if (event.type === 'content_block_start') {
      this.#begin(event.index, { ...event.content_block } as unknown as Block);
      this.isThinking = event.content_block.type === 'thinking';
    } else if (event.type === 'content_block_delta') this.#write(event.index, event.delta);
    else if (event.type === 'content_block_stop') this.isThinking = false;
    else if (event.type === 'message_delta') {
      this.#stopReason = event.delta?.stop_reason ?? this.#stopReason;
      this.isWhole ||= this.#stopReason !== null;
      this.hasTotals ||= (event.usage?.output_tokens ?? 0) > 0;
      this.#state(event.usage);
    } else if (event.type === 'message_stop') this.isWhole = true;
  }

  /** The counters of a later event are totals, and it leaves out those that do not apply. */
  #state(usage: StatedUsage | null | undefined): void {
    const stated = Object.entries(usage ?? {}).filter(([, count]) => count !== null);
    this.usage = { ...this.usage, ...Object.fromEntries(stated) };
  }

  #begin(index: number, block: Block): { block: Block; json: string } {
    const begun = { block, json: '' };
    if (block.type === 'tool_use') {
      block.id = ownId(block.id, this.#usedIds);
      // An endpoint may give all of an input at once, and as a text.
      if (!isFields(block.input)) begun.json = String(block.input ?? '');
    }
    this.#blocks.set(index, begun);
    return begun;
  }

  #write(index: number, delta: Anthropic.RawContentBlockDelta): void {
    const written = this.#blocks.get(index) ?? this.#begin(index, { type: 'text' });
    const { block } = written;
    if (delta.type === 'text_delta') {
      block.text = `${block.text ?? ''}${delta.text}`;
      this.text += delta.text;
      this.written += delta.text;
    } else if (delta.type === 'thinking_delta') {
      block.thinking = `${block.thinking ?? ''}${delta.thinking}`;
      this.written += delta.thinking;
    } else if (delta.type === 'input_json_delta') {
      written.json += delta.partial_json;
      this.written += delta.partial_json;
    } else if (delta.type === 'signature_delta') block.signature = delta.signature;
    else if (delta.type === 'citations_delta') block.citations = [...((block.citations ?? []) as []), delta.citation];
  }

  /** The blocks with their inputs. An input that is no JSON object is kept as a text, and its call is named. */
  read(): Pick<ModelAnswer, 'content' | 'unreadable'> {
    const unreadable: string[] = [];
    const content = [...this.#blocks.values()].map(({ block, json }) => {
      if (json === '') return block;
      const input = jsonFields(json);
      if (input === undefined && block.type === 'tool_use') unreadable.push(String(block.id));
      return { ...block, input: input ?? { unreadable: clipMiddle(json, SHOWN_CHARS) } };
    });
    return { content, ...(unreadable.length > 0 && { unreadable }) };
  }

  answer(asked: string, usage: Usage): ModelAnswer {
    const read = this.read();
    const text = read.content.flatMap((block) => (block.type === 'text' ? [String(block.text ?? '')] : [])).join('');
    return { ...read, text, stopReason: this.#stopReason, model: this.#model ?? asked, usage };
  }
}

/**
 * A page or plain JSON instead of a stream: an error that came with a 200, or the wrong server. The text is classified
 * only where it is shaped like an error, since a message holds what people and models wrote.
 */
function classifyForeign(body: string): Failure {
  const fields = jsonFields(body) ?? {};
  const failure = isErrorBody(fields) ? classify(fields) : undefined;
  return failure === undefined || failure.reason === 'unknown'
    ? { kind: 'transient', reason: 'server_error' }
    : failure;
}

function isErrorBody({ error, detail, message, content, choices }: Record<string, unknown>): boolean {
  const isWorded = error !== undefined || typeof detail === 'string' || typeof message === 'string';
  return isWorded && content === undefined && choices === undefined;
}
