import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnswerUsage, Pinging } from './reaction.ts';
import type { Block } from './request.ts';

/** A complete answer, ready to be sent whole or streamed. */
export interface Answer {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stopReason: string;
  /** Why the model refused; null when it did not. */
  readonly stopDetails: Record<string, unknown> | null;
  readonly usage: AnswerUsage;
}

/** An answer as the body of a call that did not ask for a stream. */
export function messageBody({ id, model, content, stopReason, stopDetails, usage }: Answer): Record<string, unknown> {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: content.map((block) => (typeof block.input === 'string' ? { ...block, input: {} } : block)),
    stop_reason: stopReason,
    stop_sequence: null,
    stop_details: stopDetails,
    usage: { server_tool_use: null, ...usage, service_tier: 'standard' },
  };
}

/** How many pieces a long text comes in, at most, and how short a piece may be. */
const PIECES_MAX = 40;
const PIECE_UNITS_MIN = 16;

/** Cuts a text into the pieces that a stream would bring, never inside a character. */
export function pieces(text: string): string[] {
  const units = Math.max(PIECE_UNITS_MIN, Math.ceil(text.length / PIECES_MAX));
  return text.match(new RegExp(`[\\s\\S]{1,${units}}`, 'gu')) ?? [];
}

type Delta = Record<string, unknown>;

const citationsOf = ({ citations }: Block): unknown[] => (Array.isArray(citations) ? citations : []);

/** The block as it opens, and the deltas that fill it. What is not known to come in deltas comes whole. */
function opening(block: Block): { start: Block; deltas: Delta[] } {
  switch (block.type) {
    case 'text':
      return {
        start: { ...block, text: '', ...(Array.isArray(block.citations) && { citations: [] }) },
        deltas: [
          ...pieces(String(block.text)).map((text) => ({ type: 'text_delta', text })),
          ...citationsOf(block).map((citation) => ({ type: 'citations_delta', citation })),
        ],
      };
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...pieces(String(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block.signature },
        ],
      };
    case 'tool_use':
    case 'server_tool_use': {
      const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input ?? {});
      const deltas = ['', ...pieces(json)].map((partial) => ({ type: 'input_json_delta', partial_json: partial }));
      return { start: { ...block, input: {} }, deltas };
    }
    default:
      return { start: block, deltas: [] };
  }
}

/** How blocks are sent: whether the last one is closed, and how long each thought takes. */
export interface BlockManners {
  readonly last?: 'closed' | 'open';
  readonly pondering?: Pinging | undefined;
}

/** Writes one answer as server-sent events. Every method stops quietly once the client is gone. */
export class ReplyStream {
  readonly #response: ServerResponse;
  readonly #deltaDelayMs: number;
  readonly #gone: AbortSignal;
  #written: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse, deltaDelayMs: number, gone: AbortSignal) {
    this.#response = response;
    this.#deltaDelayMs = deltaDelayMs;
    this.#gone = gone;
  }

  /** Sends the headers. */
  open(headers: Record<string, string>): void {
    if (this.#response.destroyed) return;
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      ...headers,
    });
    this.#response.flushHeaders();
  }

  /** Sends nothing but pings, for so long. */
  async pings({ forMs, everyMs }: Pinging): Promise<void> {
    const until = performance.now() + forMs;
    while (!this.#gone.aborted) {
      const left = until - performance.now();
      if (left <= 0) return;
      await sleep(Math.min(left, everyMs), undefined, { signal: this.#gone }).catch(() => {});
      this.event('ping', {});
    }
  }

  /** Sends `message_start`, with the input counted and the output not yet. */
  start(answer: Answer): void {
    const message = { ...messageBody(answer), content: [], stop_reason: null, stop_details: null };
    const { iterations: _atEnd, ...begun } = answer.usage;
    const usage = { ...begun, output_tokens: 1, output_tokens_details: null };
    this.event('message_start', { message: { ...message, usage } });
  }

  /**
   * Sends blocks one after the other; after the first `content_block_start` comes a ping, as from the API. While a
   * block of thinking is open, nothing comes but pings for the time of `pondering`.
   */
  async blocks(content: readonly Block[], { last = 'closed', pondering }: BlockManners = {}): Promise<void> {
    for (const [index, block] of content.entries()) {
      const { start, deltas } = opening(block);
      const isOpen = last === 'open' && index === content.length - 1;
      if (isOpen && block.type === 'thinking') deltas.pop();
      this.event('content_block_start', { index, content_block: start });
      if (index === 0) this.event('ping', {});
      if (block.type === 'thinking' && pondering !== undefined) await this.pings(pondering);
      for (const delta of deltas) {
        if (this.#deltaDelayMs > 0) await sleep(this.#deltaDelayMs, undefined, { signal: this.#gone }).catch(() => {});
        if (this.#gone.aborted) return;
        this.event('content_block_delta', { index, delta });
      }
      if (!isOpen) this.event('content_block_stop', { index });
    }
    // Whoever cuts the stream now cuts it after all of this has reached the wire.
    await this.#written;
  }

  /** Ends the stream as a complete answer ends. */
  finish({ stopReason, stopDetails, usage: { cache_creation: _atStart, ...usage } }: Answer): void {
    const delta = { stop_reason: stopReason, stop_sequence: null, stop_details: stopDetails };
    this.event('message_delta', { delta, usage });
    this.event('message_stop', {});
    this.end();
  }

  /** Ends the stream where it is. */
  end(): void {
    if (!this.#response.destroyed) this.#response.end();
  }

  /** Sends one event; its data carries the event's own name, as the API has it. */
  event(name: string, data: Record<string, unknown>): void {
    if (this.#response.destroyed) return;
    const event = `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
    this.#written = new Promise((resolve) => {
      this.#response.write(event, () => resolve());
    });
  }
}
