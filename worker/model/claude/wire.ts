import type { Middleware } from '@anthropic-ai/sdk/core/middleware';

const NO_STREAM = /^(?:application\/(?:\w+\+)?json|text\/html|application\/xhtml)/i;
/** The maximum length of `foreign`, which is enough for the text of an error. */
const FOREIGN_CHARS_MAX = 8_192;
/** Limits memory. Larger than any answer: an output of 128,000 tokens, with an event for each token, takes 30 MB. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Watches the bytes of one call below the SDK, since the SDK hides pings, has no limit on silence, and treats any
 * body with status 200 as a stream of events. Every byte is a sign of life, whether of a ping, a comment or an event.
 */
export class Wire {
  /** Whether no byte came for `idleMs`. The wait for the headers counts, too. */
  isSilent = false;
  /** Whether the request was sent. */
  isSent = false;
  /** Whether the server has begun a stream, and so has accepted the call. */
  hasStream = false;
  /** The beginning of a body that is an HTML page or plain JSON instead of a stream. */
  foreign: string | undefined;
  /** Aborts when the caller does, after a silence, and if the response is too large. */
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onBytes: () => void;
  #bytes = 0;
  #isOpen = true;

  /** `onBytes` is called each time that bytes of the response arrive. */
  constructor(idleMs: number, caller: AbortSignal, onBytes: () => void) {
    this.signal = AbortSignal.any([caller, this.#abort.signal]);
    this.#onBytes = onBytes;
    this.#timer = setTimeout(() => {
      this.isSilent = true;
      this.#abort.abort();
    }, idleMs);
  }

  /** Stops watching. Call this after the end of the call, whatever its result. */
  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
  }

  /** The SDK middleware for this one call. */
  readonly listen: Middleware = async (request, next) => {
    this.isSent = true;
    const response = await next(request);
    this.#onChunk(0);
    const { body, status, statusText, headers, ok } = response;
    if (ok && NO_STREAM.test(headers.get('content-type') ?? '')) this.foreign = '';
    else this.hasStream = ok;
    const decoder = new TextDecoder();
    const watchStream = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (chunk, out) => {
        this.#onChunk(chunk.length);
        if (this.foreign !== undefined && this.foreign.length < FOREIGN_CHARS_MAX)
          this.foreign = (this.foreign + decoder.decode(chunk, { stream: true })).slice(0, FOREIGN_CHARS_MAX);
        out.enqueue(chunk);
      },
    });
    return body === null ? response : new Response(body.pipeThrough(watchStream), { status, statusText, headers });
  };

  #onChunk(bytes: number): void {
    // A chunk may arrive after the end of the call, and would restart a timer that nobody would stop any more.
    if (!this.#isOpen) return;
    this.#timer.refresh();
    this.#bytes += bytes;
    if (this.#bytes > RESPONSE_BYTES_MAX) this.#abort.abort();
    this.#onBytes();
  }
}
