import type { Middleware } from '@anthropic-ai/sdk/core/middleware';

/**
 * The signs of life of one call, below the SDK. The SDK hides pings, waits for ever on a stream that falls silent, and
 * takes any body of a 200 for a stream of events.
 */
export interface Wire {
  /** Goes with the request of this one call. */
  readonly listen: Middleware;
  /** Aborts when the caller does, and when no byte came for too long, the wait for the headers included. */
  readonly signal: AbortSignal;
  /** Whether no byte came for too long. */
  isSilent(): boolean;
  /** Whether the request went out. */
  isSent(): boolean;
  /** Whether the server has taken the call: it has begun a stream. */
  isTaken(): boolean;
  /** The beginning of a body that is a page or plain JSON instead of a stream; bounded. */
  foreign(): string | undefined;
  /** Ends the call from our side. */
  cut(): void;
  /** Stops listening. Must be called once the call has ended, in whatever way. */
  close(): void;
}

const NO_STREAM = /^(?:application\/(?:\w+\+)?json|text\/html|application\/xhtml)/i;
/** An error stands in the first lines of a body, or the body is not an error. */
const FOREIGN_CHARS_MAX = 8_192;

/**
 * Opens the wire for one call, which `caller` can abort. Every byte counts as a sign of life: a ping, a comment, the
 * middle of an event. `onBytes` gets how many bytes of the response's body came, each time that some did.
 */
export function openWire(idleMs: number, caller: AbortSignal, onBytes: (count: number) => void = () => {}): Wire {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  if (caller.aborted) end();
  else caller.addEventListener('abort', end);
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    end();
  }, idleMs);
  let isOpen = true;
  let sent = false;
  let taken = false;
  let foreign: string | undefined;
  // A chunk may still arrive after the call has ended, and nothing would stop the timer that it starts.
  const hear = (bytes: number): void => {
    if (!isOpen) return;
    timer.refresh();
    onBytes(bytes);
  };
  const read = (chunk: Uint8Array, decoder: TextDecoder): void => {
    if (foreign !== undefined && foreign.length < FOREIGN_CHARS_MAX) foreign += decoder.decode(chunk, { stream: true });
  };
  return {
    signal: ended.signal,
    isSilent: () => isSilent,
    isSent: () => sent,
    isTaken: () => taken,
    cut: end,
    foreign: () => foreign?.slice(0, FOREIGN_CHARS_MAX),
    close() {
      isOpen = false;
      clearTimeout(timer);
      caller.removeEventListener('abort', end);
    },
    async listen(request, next) {
      sent = true;
      const response = await next(request);
      hear(0);
      if (response.ok && NO_STREAM.test(response.headers.get('content-type') ?? '')) foreign = '';
      else taken = response.ok;
      return overheard(response, hear, read);
    },
  };
}

/** The same response, reporting each chunk of its body before it is read. An abort, a cancel and an error pass through. */
function overheard(
  response: Response,
  hear: (bytes: number) => void,
  read: (chunk: Uint8Array, decoder: TextDecoder) => void,
): Response {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  if (!reader) return response;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(out) {
        const { done, value } = await reader.read();
        if (done) return out.close();
        hear(value.length);
        read(value, decoder);
        out.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
