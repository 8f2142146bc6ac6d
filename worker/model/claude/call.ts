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
import { uniqueCallId } from '../rules/blocks.ts';
import type { WireRequest } from '../rules/validate.ts';
import { readUsage, type StatedUsage } from '../usage.ts';
import type { ClaudeOptions } from './adapter.ts';
import { namedTool } from './refusal.ts';
import { Wire } from './wire.ts';

/** The result of one call, with the error of the SDK if that error is why there is no answer. */
export interface SendResult {
  result: ModelResult;
  error?: unknown;
}

/** The longest silence in a call for a summary. Short, since a user may wait, and recovery can go on without the summary. */
const SUMMARY_IDLE_MS = 30_000;

/** One request, with the options and callbacks of its call. */
export interface Call {
  request: ModelRequest;
  options: ClaudeOptions;
  signal: AbortSignal;
  onText: OnText | undefined;
}

/** Sends a request and waits for the end of its stream. Returns failures as values. Throws only the errors of `onText`. */
export async function sendCall(client: Anthropic, body: WireRequest, call: Call): Promise<SendResult> {
  const { request, options, signal, onText } = call;
  const draft = new Draft(callIdsIn(request.messages));
  const onTextErrors: unknown[] = [];
  const showText = (): void => {
    try {
      onText?.(draft.text);
    } catch (error) {
      onTextErrors.push(error);
      throw error;
    }
  };
  const { idleMs, summaryIdleMs = SUMMARY_IDLE_MS } = options;
  const longestMs = request.purpose === 'summary' ? Math.min(idleMs, summaryIdleMs) : idleMs;
  // During hidden thinking only pings arrive, so let them count as progress.
  const wire = new Wire(longestMs, signal, () => draft.isThinking && showText());
  const callOptions = {
    openTelemetry: { conversationId: request.session },
    signal: wire.signal,
    middleware: [wire.listen],
  };
  const sentMs = performance.now();
  let firstChunkMs: number | undefined;
  let error: unknown;
  try {
    const streamBody = { ...body, stream: true } as unknown as Anthropic.MessageCreateParamsStreaming;
    for await (const event of await client.messages.create(streamBody, callOptions)) {
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
  if (onTextErrors.length > 0) throw onTextErrors[0];
  const usage = usageOf(call, draft, wire, error);
  const time = firstChunkMs === undefined ? {} : { firstChunkMs };
  if (draft.isWhole && usage) return { result: { ok: true, answer: draft.answer(request.model, usage), ...time } };
  const failure = failureOf(call, draft, wire, error);
  const words = draft.text.trim() === '' ? {} : { partialText: draft.text };
  return { result: { ok: false, failure, ...(usage && { billedUsage: usage }), ...words, ...time }, error };
}

function failureOf({ request, signal }: Call, { hasBegun }: Draft, wire: Wire, error: unknown): Failure {
  if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
  if (wire.isSilent) return { kind: 'transient', reason: 'timeout' };
  if (wire.foreign !== undefined && !hasBegun) return classifyForeign(wire.foreign);
  // A stream that was cut or aborted ends without an error.
  if (error === undefined) return { kind: 'transient', reason: 'cut_stream' };
  const failure = classify(error, { requestBytes: Buffer.byteLength(JSON.stringify(request)) });
  const names = request.tools?.map(({ name }) => name) ?? [];
  const tool = failure.kind === 'unknown' || failure.kind === 'poison' ? namedTool(error, names) : undefined;
  return { ...failure, ...(tool !== undefined && { tool }) };
}

/**
 * The billed usage of a call: the endpoint's figures, and our own estimates of missing figures. `undefined` if the server
 * refused the call, in a status or in its first event, or if the connection broke before the stream began. A server that
 * began a stream bills the input and the output so far. A server that sent nothing before we aborted the call may have
 * accepted the call, so the input counts.
 */
function usageOf({ request, signal }: Call, draft: Draft, wire: Wire, error: unknown): Usage | undefined {
  if (!draft.hasBegun) {
    const isRefused = error instanceof APIError && error.error !== undefined;
    const isAbandoned = wire.isSent && (signal.aborted || wire.isSilent);
    if (isRefused || !(wire.hasStream || isAbandoned)) return undefined;
  }
  const usage = readUsage(draft.usage, draft.read().content);
  const estimatedTokens = draft.hasTotals ? 0 : Math.ceil(estimateText(draft.output) * tokenizerFactor(request.model));
  const outputTokens = Math.max(usage.outputTokens, estimatedTokens);
  if (usage.inputTokens > 0) return { ...usage, outputTokens };
  return { ...usage, inputTokens: estimateRequest(request), outputTokens, passes: 'unstated' };
}

function callIdsIn(messages: ModelRequest['messages']): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return new Set(blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])));
}

/** The maximum length of the stored text of an input that is not a JSON object. */
const UNREADABLE_CHARS_MAX = 2_000;

/** The part of an answer that has arrived so far. */
class Draft {
  /** Whether an event of an answer has arrived. */
  hasBegun = false;
  /** Whether the answer's stop reason or its end has arrived. */
  isWhole = false;
  /** Whether the current block is thinking. */
  isThinking = false;
  /** The text of all blocks. */
  text = '';
  /** All output: text, thinking, tool inputs. */
  output = '';
  usage: StatedUsage = {};
  /** Whether the endpoint has stated the output tokens of the whole answer. */
  hasTotals = false;
  readonly #usedIds: ReadonlySet<string>;
  #model: string | undefined;
  #stopReason: string | null = null;
  /** The blocks by their index, each with the JSON of its input so far. */
  readonly #blocks = new Map<number, { block: Block; json: string }>();

  /** `usedIds` are the ids of the calls in the request, which a new call must not repeat. */
  constructor(usedIds: ReadonlySet<string>) {
    this.#usedIds = usedIds;
  }

  /** Adds an event. Tolerates missing envelope fields, since some endpoints omit them. */
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

  /** Updates the usage. Counters are totals, so those of a later event replace the earlier ones. All other counters stay. */
  #state(usage: StatedUsage | null | undefined): void {
    const counters = Object.entries(usage ?? {}).filter(([, count]) => count !== null);
    this.usage = { ...this.usage, ...Object.fromEntries(counters) };
  }

  #begin(index: number, block: Block): { block: Block; json: string } {
    const draftBlock = { block, json: '' };
    if (block.type === 'tool_use') {
      block.id = uniqueCallId(block.id, this.#usedIds);
      // An endpoint may send a whole input at once, as a text.
      if (!isFields(block.input)) draftBlock.json = String(block.input ?? '');
    }
    this.#blocks.set(index, draftBlock);
    return draftBlock;
  }

  #write(index: number, delta: Anthropic.RawContentBlockDelta): void {
    const draftBlock = this.#blocks.get(index) ?? this.#begin(index, { type: 'text' });
    const { block } = draftBlock;
    if (delta.type === 'text_delta') {
      block.text = `${block.text ?? ''}${delta.text}`;
      this.text += delta.text;
      this.output += delta.text;
    } else if (delta.type === 'thinking_delta') {
      block.thinking = `${block.thinking ?? ''}${delta.thinking}`;
      this.output += delta.thinking;
    } else if (delta.type === 'input_json_delta') {
      draftBlock.json += delta.partial_json;
      this.output += delta.partial_json;
    } else if (delta.type === 'signature_delta') block.signature = delta.signature;
    else if (delta.type === 'citations_delta') block.citations = [...((block.citations ?? []) as []), delta.citation];
  }

  /**
   * The blocks with their inputs. Wraps an input that is not a JSON object; `unreadable` lists the calls with such an input,
   * except calls to the provider's own tools.
   */
  read(): Pick<ModelAnswer, 'content' | 'unreadable'> {
    const unreadable: string[] = [];
    const content = [...this.#blocks.values()].map(({ block, json }) => {
      if (json === '') return block;
      const input = jsonFields(json);
      if (input === undefined && block.type === 'tool_use') unreadable.push(String(block.id));
      return { ...block, input: input ?? { unreadable: clipMiddle(json, UNREADABLE_CHARS_MAX) } };
    });
    return { content, ...(unreadable.length > 0 && { unreadable }) };
  }

  answer(requestModel: string, usage: Usage): ModelAnswer {
    const read = this.read();
    const text = read.content.flatMap((block) => (block.type === 'text' ? [String(block.text ?? '')] : [])).join('');
    return { ...read, text, stopReason: this.#stopReason, model: this.#model ?? requestModel, usage };
  }
}

/**
 * Classifies a body that is a page or plain JSON instead of a stream, from an endpoint that reports errors with status 200, or
 * from the wrong server. Ignores the text unless the body looks like an error: other JSON may quote people who talk of errors.
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
