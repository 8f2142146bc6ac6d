import type Anthropic from '@anthropic-ai/sdk';
import { APIError } from '@anthropic-ai/sdk/core/error';
import type { MessageStream } from '@anthropic-ai/sdk/lib/MessageStream';
import { isFields, jsonFields } from '../../../shared/base/fields.ts';
import { clipMiddle, graphemePrefix } from '../../../shared/base/text.ts';
import type { Block } from '../block.ts';
import { tokenizerFactor } from '../catalog.ts';
import { estimateRequest } from '../count.ts';
import { classify } from '../errors/classify.ts';
import type { Failure } from '../errors/failure.ts';
import { estimateText } from '../estimate.ts';
import type { FailedCall, ModelAnswer, ModelRequest, OnText, Usage } from '../port.ts';
import { ownId } from '../rules/blocks.ts';
import type { WireRequest } from '../rules/validate.ts';
import { readUsage, type StatedUsage } from '../usage.ts';
import type { ClaudeOptions } from './adapter.ts';
import { namedTool } from './refusal.ts';
import { openWire, type Wire } from './wire.ts';

/** The result of one call, and what the SDK threw where there is no answer. */
export interface Sent {
  result: { ok: true; answer: ModelAnswer } | FailedCall;
  error?: unknown;
}

/** The part of an answer that has arrived so far. */
interface Draft {
  message: Anthropic.Message | undefined;
  /** All of its output: text, thinking, tool inputs. */
  written: string;
  text: string;
  /** Whether the block that is open is thinking. */
  isThinking: boolean;
}

/** The longest silence within a summary: its user waits, and there is a way on without it. */
const SUMMARY_IDLE_MS = 30_000;

/** A token is four characters on average, and seldom more than this. */
const CHARS_PER_TOKEN_MAX = 16;
const CHARS_BESIDES_MAX = 4_096;
/** An event for each token, with its JSON. */
const BYTES_PER_TOKEN_MAX = 512;
/** The blocks of the provider's own tools in the stream: results of searches, fetched pages and files. */
const BYTES_BESIDES_MAX = 16 * 1024 * 1024;

/** One request in flight, with what its wire shows. */
export class Call {
  readonly #request: ModelRequest;
  readonly #options: ClaudeOptions;
  readonly #signal: AbortSignal;
  readonly #onText: OnText;
  readonly #draft: Draft = { message: undefined, written: '', text: '', isThinking: false };
  readonly #inputs = new ToolInputs();
  #bytes = 0;
  /** Whether it was cut since it wrote more than was asked for. */
  #isOverlong = false;
  /** The error that the reader of the text threw: the call is cut, and this is how it ends. */
  #thrown: { error: unknown } | undefined;

  constructor(request: ModelRequest, options: ClaudeOptions, signal: AbortSignal, onText: OnText = () => {}) {
    this.#request = request;
    this.#options = options;
    this.#signal = signal;
    this.#onText = onText;
  }

  /** Sends the request and waits for its end; a failure is a value. Throws what `onText` throws. */
  async send(client: Anthropic, request: WireRequest): Promise<Sent> {
    const wire = openWire(this.#idleMs(), this.#signal, (count) => this.#count(wire, count));
    try {
      const { messages } = client;
      const body = request as unknown as Parameters<typeof messages.stream>[0];
      const about = { openTelemetry: { conversationId: this.#request.session } };
      const stream = messages.stream(body, { ...about, signal: wire.signal, middleware: [wire.listen] });
      this.#listen(stream, wire);
      const message = await stream.finalMessage();
      // One event may have held all of it.
      if (this.#isOverlong || this.#thrown) throw new Error('more was written than asked for');
      return { result: { ok: true, answer: this.#answerOf(message) } };
    } catch (error) {
      if (this.#thrown) throw this.#thrown.error;
      const spent = this.#spent(wire, error);
      const cut = spent && this.#cutAnswer(spent);
      if (cut) return { result: { ok: true, answer: cut } };
      const said = this.#draft.text.trim() === '' ? undefined : this.#draft.text;
      const failure = this.#failureOf(wire, error);
      return { result: { ok: false, failure, ...(spent && { spent }), ...(said !== undefined && { said }) }, error };
    } finally {
      wire.close();
    }
  }

  #idleMs(): number {
    const { idleMs, summaryIdleMs = SUMMARY_IDLE_MS } = this.#options;
    return this.#request.purpose === 'summary' ? Math.min(idleMs, summaryIdleMs) : idleMs;
  }

  #listen(stream: MessageStream<unknown>, wire: Wire): void {
    stream.on('streamEvent', (event, message) => {
      this.#draft.message = message;
      // The SDK adds to the counters of the first event, which some proxies omit.
      message.usage ??= {} as Anthropic.Usage;
      if (event.type === 'message_delta') keepPasses(message.usage, event.usage);
      this.#inputs.hear(event, message.content);
      if (event.type === 'content_block_start') this.#draft.isThinking = event.content_block.type === 'thinking';
      if (event.type === 'content_block_stop') this.#draft.isThinking = false;
      if (event.type === 'content_block_delta') this.#take(event.delta);
      if (this.#draft.written.length > this.#charsMax()) this.#cut(wire);
      this.#tell(wire);
    });
  }

  #take(delta: Anthropic.RawContentBlockDelta): void {
    this.#options.reach('answer streaming');
    this.#draft.written += wordsOf(delta);
    if (delta.type === 'text_delta') this.#draft.text += delta.text;
  }

  #count(wire: Wire, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > BYTES_BESIDES_MAX + this.#request.maxTokens * BYTES_PER_TOKEN_MAX) this.#cut(wire);
    // Within thinking that is not shown, nothing arrives but pings.
    if (this.#draft.isThinking) this.#tell(wire);
  }

  #tell(wire: Wire): void {
    if (this.#thrown) return;
    try {
      this.#onText(this.#draft.text);
    } catch (error) {
      this.#thrown = { error };
      wire.cut();
    }
  }

  #cut(wire: Wire): void {
    this.#isOverlong = true;
    wire.cut();
  }

  #answerOf(message: Anthropic.Message): ModelAnswer {
    const usedIds = callIdsIn(this.#request.messages);
    const own = message.content.map((block) =>
      block.type === 'tool_use' ? { ...block, id: ownId(block.id, usedIds) } : block,
    );
    return answerOf(message, this.#inputs.readIn(own));
  }

  /** The answer of an endpoint that went on beyond `max_tokens`: it ends where it should have. */
  #cutAnswer(spent: Usage): ModelAnswer | undefined {
    const { message } = this.#draft;
    if (!this.#isOverlong || !message || this.#signal.aborted) return undefined;
    const within = <T extends object>(of: T): T =>
      'text' in of && typeof of.text === 'string' ? { ...of, text: graphemePrefix(of.text, this.#charsMax()) } : of;
    const answer = this.#answerOf(message);
    return { ...within(answer), content: answer.content.map(within), stopReason: 'max_tokens', usage: spent };
  }

  #charsMax(): number {
    return CHARS_BESIDES_MAX + this.#request.maxTokens * CHARS_PER_TOKEN_MAX;
  }

  #failureOf(wire: Wire, error: unknown): Failure {
    if (this.#signal.aborted) return { kind: 'transient', reason: 'aborted' };
    if (this.#isOverlong) return { kind: 'transient', reason: 'cut_stream' };
    if (wire.isSilent()) return { kind: 'transient', reason: 'timeout' };
    const foreign = wire.foreign();
    if (foreign !== undefined && !this.#draft.message) return classifyForeign(foreign);
    const failure = classify(error);
    const names = this.#request.tools?.map(({ name }) => name) ?? [];
    const tool = failure.kind === 'unknown' || failure.kind === 'poison' ? namedTool(error, names) : undefined;
    return { ...failure, ...(tool !== undefined && { tool }) };
  }

  /**
   * The bill of a call without an answer. A server that refused it, in a status or in its first event, bills
   * nothing, and nor does one whose connection broke before it had begun. One that had taken it bills the input, and the
   * output that it wrote; one that we left while it was silent may have taken it, so its input counts.
   */
  #spent(wire: Wire, error: unknown): Usage | undefined {
    const { message, written } = this.#draft;
    const model = this.#request.model;
    if (message) {
      const stated = readUsage(message.usage, message.content as unknown as Block[]);
      const outputTokens = Math.max(stated.outputTokens, Math.ceil(estimateText(written) * tokenizerFactor(model)));
      return { ...stated, inputTokens: stated.inputTokens || estimateRequest(this.#request), outputTokens };
    }
    const isRefused = error instanceof APIError && error.error !== undefined;
    const isLeft = wire.isSent() && (this.#signal.aborted || wire.isSilent());
    if (isRefused || !(wire.isTaken() || isLeft)) return undefined;
    return { inputTokens: estimateRequest(this.#request), outputTokens: 0, cacheReadTokens: 0 };
  }
}

function wordsOf(delta: Anthropic.RawContentBlockDelta): string {
  if (delta.type === 'text_delta') return delta.text;
  if (delta.type === 'thinking_delta') return delta.thinking;
  return delta.type === 'input_json_delta' ? delta.partial_json : '';
}

/** The SDK knows nothing of them, and leaves them out of what it adds up. */
function keepPasses(usage: StatedUsage, { iterations }: StatedUsage): void {
  if (iterations !== undefined) usage.iterations = iterations;
}

function answerOf(message: Anthropic.Message, { content, unreadable }: ReadContent): ModelAnswer {
  return {
    content,
    ...(unreadable.length > 0 && { unreadable }),
    text: message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''),
    stopReason: message.stop_reason,
    model: message.model,
    usage: readUsage(message.usage, content),
  };
}

function callIdsIn(messages: ModelRequest['messages']): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return new Set(blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])));
}

/** Enough to see what went wrong. */
const SHOWN_CHARS = 2_000;

/** A call as it began, and what was written of its input. */
interface Written {
  readonly begun: Anthropic.ContentBlock;
  json: string;
}

/** The blocks that a model wrote, with the input of each call read. */
export interface ReadContent {
  content: readonly Block[];
  /** The ids of the calls whose input is no JSON object: it stands in the call as a text. */
  unreadable: readonly string[];
}

/**
 * The inputs of an answer's calls, while they are written. The SDK would parse each of them when it ends, and throw away
 * the whole answer because of one that is no JSON; so they are kept from it.
 */
export class ToolInputs {
  readonly #written = new Map<number, Written>();

  /** Takes an event, after the SDK has added it to `content`. */
  hear(event: Anthropic.RawMessageStreamEvent, content: Anthropic.ContentBlock[]): void {
    if (event.type === 'content_block_start' && event.content_block.type.endsWith('tool_use'))
      this.#written.set(event.index, { begun: event.content_block, json: '' });
    if (event.type !== 'content_block_delta' || event.delta.type !== 'input_json_delta') return;
    const written = this.#written.get(event.index);
    if (written === undefined) return;
    written.json += event.delta.partial_json;
    content[event.index] = { ...written.begun };
  }

  /** The content of the ended answer: copies, with their inputs. */
  readIn(content: readonly Anthropic.ContentBlock[]): ReadContent {
    const unreadable: string[] = [];
    const read = content.map((block, at): Block => {
      // An endpoint may give all of an input at once, and as a text.
      const atOnce = block.type === 'tool_use' && !isFields(block.input) ? String(block.input ?? '{}') : '';
      const json = this.#written.get(at)?.json || atOnce;
      if (json === '') return { ...block } as unknown as Block;
      const input = jsonFields(json);
      if (input === undefined && block.type === 'tool_use') unreadable.push(block.id);
      return { ...block, input: input ?? { unreadable: clipMiddle(json, SHOWN_CHARS) } } as unknown as Block;
    });
    return { content: read, unreadable };
  }
}

/**
 * A page or plain JSON instead of a stream: an error that came with a 200, or the wrong server. The text is classified
 * only where it is shaped like an error, since a message holds what people and models wrote.
 */
export function classifyForeign(body: string): Failure {
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
