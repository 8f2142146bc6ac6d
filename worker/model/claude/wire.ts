import { setTimeout as delay } from 'node:timers/promises';
import type { Middleware } from '@anthropic-ai/sdk/core/middleware';
import type { Failure } from '../errors/failure.ts';

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
 * middle of an event. `onHeaders` gets the headers of the response, `onBytes` how many bytes of its body came, each time
 * that some did.
 */
export function openWire(
  idleMs: number,
  caller: AbortSignal,
  {
    onHeaders = () => {},
    onBytes = () => {},
  }: { onHeaders?: (headers: Headers) => void; onBytes?: (count: number) => void } = {},
): Wire {
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
    isTaken: () => taken,
    cut: end,
    foreign: () => foreign?.slice(0, FOREIGN_CHARS_MAX),
    close() {
      isOpen = false;
      clearTimeout(timer);
      caller.removeEventListener('abort', end);
    },
    async listen(request, next) {
      const response = await next(request);
      hear(0);
      onHeaders(response.headers);
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

/** One of the provider's rate limits, as a response stated it. It fills up evenly, until `resetMs`. */
interface Stated {
  limit: number;
  remaining: number;
  resetMs: number;
  statedMs: number;
}

/**
 * The limits of one model, as the headers of its responses state them: calls wait for room, in the order in which they
 * came, instead of being refused.
 */
export interface Quota {
  /**
   * Resolves when a call may be made, or with the failure that it would be where that takes too long, or on abort.
   * Contract: never rejects. Every call that may be made must be `ended`.
   */
  pass(signal: AbortSignal): Promise<Failure | undefined>;
  /** Takes what a response states. Anything else than the known headers is ignored. */
  note(headers: Headers): void;
  /** A call that passed has got its response, or never will. */
  ended(): void;
}

/**
 * The least of each that a call needs: of tokens nobody knows it beforehand, as cached ones do not count, so only
 * "none" holds it up.
 */
const KINDS = ['requests', 'input-tokens', 'tokens'] as const;
/** A longer wait would hold a slot for nothing: the message comes back later. */
const WAIT_MS_MAX = 20_000;

const wait = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal });

/** A quota of which nothing is known yet. `pause` waits so long, and rejects on abort. */
export function createQuota(now: () => number = Date.now, pause = wait): Quota {
  const stated = new Map<string, Stated>();
  let inFlight = 0;
  let last: Promise<unknown> = Promise.resolve();
  const waitMs = (): number => Math.max(0, ...[...stated.values()].map((each) => untilRoom(each, inFlight, now())));
  const enter = async (signal: AbortSignal): Promise<Failure | undefined> => {
    for (let leftMs = waitMs(); leftMs > 0; leftMs = waitMs()) {
      if (leftMs > WAIT_MS_MAX) return { kind: 'transient', reason: 'rate_limited', retryAfterMs: Math.ceil(leftMs) };
      await pause(Math.ceil(leftMs), signal).catch(() => undefined);
      if (signal.aborted) return { kind: 'transient', reason: 'aborted' };
    }
    inFlight += 1;
    return undefined;
  };
  return {
    pass(signal) {
      const own = last.then(() => enter(signal));
      last = own;
      return own;
    },
    note(headers) {
      for (const kind of KINDS) {
        const read = statedIn(headers, `anthropic-ratelimit-${kind}`, now());
        if (read) stated.set(kind, read);
      }
    },
    ended() {
      inFlight -= 1;
    },
  };
}

/** How long until there is room for one more. Calls in flight may not be counted yet. */
function untilRoom({ limit, remaining, resetMs, statedMs }: Stated, inFlight: number, nowMs: number): number {
  if (nowMs >= resetMs || resetMs <= statedMs) return 0;
  const perMs = (limit - remaining) / (resetMs - statedMs);
  const left = Math.min(limit, remaining + perMs * (nowMs - statedMs)) - Math.min(inFlight, limit - 1);
  return left >= 1 || perMs <= 0 ? 0 : Math.min((1 - left) / perMs, resetMs - nowMs);
}

function statedIn(headers: Headers, name: string, statedMs: number): Stated | undefined {
  const [limit, remaining] = [
    Number(headers.get(`${name}-limit`) ?? ''),
    Number(headers.get(`${name}-remaining`) ?? ''),
  ];
  const resetMs = Date.parse(headers.get(`${name}-reset`) ?? '');
  const isStated = limit > 0 && headers.has(`${name}-remaining`) && remaining >= 0 && !Number.isNaN(resetMs);
  return isStated ? { limit, remaining, resetMs, statedMs } : undefined;
}
