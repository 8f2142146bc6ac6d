/**
 * What one call shows below the SDK. The SDK hides pings, waits for ever on a stream that falls silent, and takes any
 * body of a 200 for a stream of events.
 */
export interface Wire {
  /** Passed to the SDK for this one call. */
  readonly fetch: typeof fetch;
  /** Aborts when no byte came for too long, the wait for the headers included. */
  readonly silent: AbortSignal;
  /** Whether the server has taken the call: it has begun a stream. */
  isTaken(): boolean;
  /** The beginning of a body that is a page or plain JSON instead of a stream; bounded. */
  foreign(): string | undefined;
  /** Stops listening. Must be called once the call has ended, in whatever way. */
  close(): void;
}

const NO_STREAM = /^(?:application\/(?:\w+\+)?json|text\/html|application\/xhtml)/i;
/** An error stands in the first lines of a body, or the body is not an error. */
const FOREIGN_CHARS_MAX = 8_192;

/**
 * Opens the wire for one call. Every byte counts as a sign of life: a ping, a comment, the middle of an event.
 * `onHeaders` gets the headers of the response.
 */
export function openWire(idleMs: number, onHeaders: (headers: Headers) => void = () => {}): Wire {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), idleMs);
  let isOpen = true;
  let taken = false;
  let foreign: string | undefined;
  const hear = (): void => {
    clearTimeout(timer);
    // A chunk may still arrive after the call has ended, and nothing would stop the timer that it starts.
    if (isOpen) timer = setTimeout(() => silence.abort(), idleMs);
  };
  const read = (chunk: Uint8Array, decoder: TextDecoder): void => {
    if (foreign !== undefined && foreign.length < FOREIGN_CHARS_MAX) foreign += decoder.decode(chunk, { stream: true });
  };
  return {
    silent: silence.signal,
    isTaken: () => taken,
    foreign: () => foreign?.slice(0, FOREIGN_CHARS_MAX),
    close() {
      isOpen = false;
      clearTimeout(timer);
    },
    async fetch(input, init) {
      const response = await fetch(input, init);
      hear();
      onHeaders(response.headers);
      if (response.ok && NO_STREAM.test(response.headers.get('content-type') ?? '')) foreign = '';
      else taken = response.ok;
      return overheard(response, hear, read);
    },
  };
}

/** The same response, reporting each chunk of its body before it is read. An abort and an error pass through. */
function overheard(
  response: Response,
  hear: () => void,
  read: (chunk: Uint8Array, decoder: TextDecoder) => void,
): Response {
  const decoder = new TextDecoder();
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, out) {
        hear();
        read(chunk, decoder);
        out.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return body ? new Response(body, { status, statusText, headers }) : response;
}
