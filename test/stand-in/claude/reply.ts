import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pinging } from './reaction.ts';
import type { Block } from './request.ts';
import type { AnswerUsage } from './usage.ts';

export interface Answer {
  readonly id: string;
  readonly model: string;
  readonly content: readonly Block[];
  readonly stopReason: string;
  readonly usage: AnswerUsage;
}

/** How many pieces a long text comes in, at most, and how short a piece may be. */
const PIECES_MAX = 40;
const PIECE_UNITS_MIN = 16;

type Delta = Record<string, unknown>;

/** The deltas that a stream would bring a text in, cut never inside a character. */
function deltasOf(text: unknown, type: string, key: string): Delta[] {
  const units = Math.max(PIECE_UNITS_MIN, Math.ceil(String(text).length / PIECES_MAX));
  const pieces = String(text).match(new RegExp(`[\\s\\S]{1,${units}}`, 'gu')) ?? [];
  return pieces.map((piece) => ({ type, [key]: piece }));
}

/** The block as it opens, and the deltas that fill it. What is not known to come in deltas comes whole. */
function opening(block: Block): { start: Block; deltas: Delta[] } {
  switch (block.type) {
    case 'text': {
      const citations = Array.isArray(block.citations) ? block.citations : undefined;
      const cited = (citations ?? []).map((citation) => ({ type: 'citations_delta', citation }));
      const start = { ...block, text: '', ...(citations && { citations: [] }) };
      return { start, deltas: [...deltasOf(block.text, 'text_delta', 'text'), ...cited] };
    }
    case 'thinking': {
      const signed = { type: 'signature_delta', signature: block.signature };
      const deltas = [...deltasOf(block.thinking, 'thinking_delta', 'thinking'), signed];
      return { start: { ...block, thinking: '', signature: '' }, deltas };
    }
    case 'tool_use':
    case 'server_tool_use': {
      const json = typeof block.input === 'string' ? block.input : JSON.stringify(block.input ?? {});
      const first = { type: 'input_json_delta', partial_json: '' };
      return { start: { ...block, input: {} }, deltas: [first, ...deltasOf(json, first.type, 'partial_json')] };
    }
    default:
      return { start: block, deltas: [] };
  }
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
  start({ id, model, usage: { iterations: _atEnd, ...begun } }: Answer): void {
    const usage = { server_tool_use: null, ...begun, output_tokens: 1, output_tokens_details: null };
    const stops = { stop_reason: null, stop_sequence: null, stop_details: null };
    const message = { id, type: 'message', role: 'assistant', model, content: [], ...stops };
    this.event('message_start', { message: { ...message, usage: { ...usage, service_tier: 'standard' } } });
  }

  /** Sends blocks, with a ping behind the first start, as from the API, and pings while a thought is open. */
  async blocks(content: readonly Block[], last: 'closed' | 'open', pondering?: Pinging): Promise<void> {
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

  finish({ stopReason, usage: { cache_creation: _atStart, ...usage } }: Answer): void {
    const refused = { type: 'refusal', category: 'general_harms', explanation: null };
    const stop_details = stopReason === 'refusal' ? refused : null;
    const delta = { stop_reason: stopReason, stop_sequence: null, stop_details };
    this.event('message_delta', { delta, usage });
    this.event('message_stop', {});
    this.#response.end();
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
