import type { Middleware } from '@anthropic-ai/sdk/core/middleware';

const NO_STREAM = /^(?:application\/(?:\w+\+)?json|text\/html|application\/xhtml)/i;
/** An error stands in the first characters of a body, or the body is not an error. */
const FOREIGN_CHARS_MAX = 8_192;
/** Bound for memory, above every answer: output of 128,000 tokens, an event each, takes 30 MB. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The bytes of one call, below the SDK. The SDK hides pings, waits for ever on a stream that falls silent, and takes any
 * body of a 200 for a stream of events. Every byte counts as a sign of life: a ping, a comment, the middle of an event.
 */
export class Wire {
  /** Whether no byte came for too long, the wait for the headers included. */
  isSilent = false;
  /** Whether the request went out. */
  isSent = false;
  /** Whether the server has taken the call: it has begun a stream. */
  isTaken = false;
  /** The beginning of a body that is a page or plain JSON instead of a stream. */
  foreign: string | undefined;
  /** Aborts when the caller does, after a silence, and when the response is too large. */
  readonly signal: AbortSignal;
  readonly #ended = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onBytes: () => void;
  #bytes = 0;
  #isOpen = true;

  /** `onBytes` is called each time that bytes of the response arrive. */
  constructor(idleMs: number, caller: AbortSignal, onBytes: () => void) {
    this.signal = AbortSignal.any([caller, this.#ended.signal]);
    this.#onBytes = onBytes;
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.#ended.abort();
    }, idleMs);
  }

  /** Stops listening. Must be called once the call has ended, in whatever way. */
  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  /** Goes with the request of this one call. */
  readonly listen: Middleware = async (request, next) => {
    this.isSent = true;
    const response = await next(request);
    this.#hear(0);
    const { body, status, statusText, headers, ok } = response;
    if (ok && NO_STREAM.test(headers.get('content-type') ?? '')) this.foreign = '';
    else this.isTaken = ok;
    const decoder = new TextDecoder();
    const heard = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, out) => {
        this.#hear(chunk.length);
        if (this.foreign !== undefined && this.foreign.length < FOREIGN_CHARS_MAX)
          this.foreign = (this.foreign + decoder.decode(chunk, { stream: true })).slice(0, FOREIGN_CHARS_MAX);
        out.enqueue(chunk);
      },
    });
    return body === null ? response : new Response(body.pipeThrough(heard), { status, statusText, headers });
  };

  #hear(bytes: number): void {
    // A chunk may arrive after the call has ended, and nothing would stop the timer that it starts.
    if (!this.#isOpen) return;
    this.#timer.refresh();
    this.#bytes += bytes;
    if (this.#bytes > RESPONSE_BYTES_MAX) this.#ended.abort();
    this.#onBytes();
  }
}
