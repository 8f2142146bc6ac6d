import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/**
 * A server may send as many messages at once as its rate allows in this many seconds, e.g. log messages after its start.
 * Reading and answering 500 small messages takes the event loop some 30 ms.
 */
const BURST_SECONDS = 5;
/** This many bytes count as one more message, because reading them takes about as long. */
const BYTES_PER_MESSAGE = 64 * 1024;
/** Opening a stream takes the event loop about a millisecond, as long as reading this many small messages. */
const MESSAGES_PER_STREAM = 20;
/** The maximum number of the gateway's answers that a server may leave unread. Servers request little, so answers are few. */
const ANSWERS_MAX = 32;
/** The maximum number of lines or events on one connection that are not messages. The SDK hides their length, so count them. */
const NO_MESSAGES_MAX = 20;

/** The bounds of one connection. The first bound that the server breaks ends the connection in both directions. */
export class Guard {
  /** The maximum size of one message, and of all messages together that the server has not read yet. */
  readonly messageBytesMax: number;
  /** The bound that the server broke, as a text without words of the server. */
  brokenBound: string | undefined;
  readonly #messagesPerSecond: number;
  readonly #end: (bound: string) => void;
  #messagesLeft: number;
  #countedAtMs = performance.now();

  /** `messagesPerSecond` bounds the messages that answer no request. `end` is called at most once. */
  constructor(messagesPerSecond: number, messageBytesMax: number, end: (bound: string) => void) {
    this.messageBytesMax = messageBytesMax;
    this.#messagesPerSecond = messagesPerSecond;
    this.#end = end;
    this.#messagesLeft = messagesPerSecond * BURST_SECONDS;
  }

  /** Counts messages and other work that no request of the gateway caused. Ends the connection beyond the rate. */
  count(messages: number, bytes = 0): void {
    const perSecond = this.#messagesPerSecond;
    const nowMs = performance.now();
    const refill = ((nowMs - this.#countedAtMs) / 1_000) * perSecond;
    this.#messagesLeft = Math.min(this.#messagesLeft + refill, perSecond * BURST_SECONDS);
    this.#countedAtMs = nowMs;
    // Check before subtracting: one message of any size passes, and uses up the allowance for later messages.
    if (this.#messagesLeft <= 0) this.breach(`it sent more than ${perSecond} messages a second that answer no request`);
    this.#messagesLeft -= messages + bytes / BYTES_PER_MESSAGE;
  }

  /** Ends the connection: the server sent a message that is too large. */
  breachSize(): void {
    this.breach(`it sent a message of more than ${this.messageBytesMax} bytes`);
  }

  /** Ends the connection: the server broke this bound. */
  breach(bound: string): void {
    if (this.brokenBound !== undefined) return;
    this.brokenBound = bound;
    this.#end(bound);
  }
}

/**
 * Wraps the SDK's transport. Counts every message that answers no open request of the gateway: requests, notifications, and
 * answers with an unknown id. Also bounds the texts that are not messages, and the messages that the server has not read yet.
 */
export function guardTransport(inner: Transport, guard: Guard): Transport {
  const openRequests = new Set<RequestId>();
  let [answers, bytes, noMessages] = [0, 0, 0];
  const countUnread = (message: JSONRPCMessage, size: number) => {
    if ('method' in message && 'id' in message) openRequests.add(message.id);
    if (!('method' in message)) answers += 1;
    bytes += size;
    if (answers > ANSWERS_MAX) guard.breach(`it left more than ${ANSWERS_MAX} answers to its requests unread`);
    if (bytes > guard.messageBytesMax) guard.breach(`it left more than ${guard.messageBytesMax} bytes unread`);
  };
  const outer: Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    get sessionId() {
      return inner.sessionId;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    async send(message, options) {
      const size = JSON.stringify(message).length;
      countUnread(message, size);
      try {
        if (guard.brokenBound !== undefined) throw new Error('the connection is over');
        await inner.send(message, options);
      } finally {
        if (!('method' in message)) answers -= 1;
        bytes -= size;
      }
    },
  };
  inner.onerror = (error) => {
    if (isNoMessage(error)) noMessages += 1;
    if (noMessages > NO_MESSAGES_MAX) guard.breach(`it sent more than ${NO_MESSAGES_MAX} texts that are no messages`);
    if (guard.brokenBound === undefined && !isNoMessage(error)) outer.onerror?.(error);
  };
  inner.onmessage = (message, extra) => {
    if (guard.brokenBound !== undefined) return;
    const isAnswer = !('method' in message) && message.id !== undefined && openRequests.delete(message.id);
    if (!isAnswer) guard.count(1, JSON.stringify(message).length);
    if (guard.brokenBound === undefined) outer.onmessage?.(message, extra);
  };
  return outer;
}

/** Whether the SDK could not read a text as a message. */
function isNoMessage(error: Error): boolean {
  return error instanceof SyntaxError || error.name === 'ZodError';
}

/**
 * A `fetch` for an untrusted server, with bounds, because the SDK's HTTP transport reads messages of any size. The bytes of a
 * stream count against the rate, except the first `messageBytesMax` bytes of a stream that answers a request.
 */
export function boundedFetch(guard: Guard): FetchLike {
  const bytesMax = guard.messageBytesMax;
  return async (url, init) => {
    const isRequest = init?.method === 'POST';
    // The server decides how often the SDK opens the stream again, and can make the SDK open the stream without any pause.
    if (init?.method === 'GET') guard.count(MESSAGES_PER_STREAM);
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    let [bytes, bytesInAll] = [0, 0];
    const limiter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (!isStream && bytesInAll === 0 && isList(chunk))
          guard.breach('it answered a request with a list of messages');
        bytesInAll += chunk.length;
        if (isStream && !(isRequest && bytesInAll <= bytesMax)) guard.count(0, chunk.length);
        const end = isStream ? endOfLastEvent(chunk) : 0;
        bytes = chunk.length - end + (end === 0 ? bytes : 0);
        if (bytes > bytesMax) guard.breachSize();
        const bound = guard.brokenBound;
        if (bound === undefined) controller.enqueue(chunk);
        else controller.error(new Error(bound));
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limiter), { status, statusText, headers });
  };
}

/** Whether JSON begins as a list. The SDK would check all entries of a list, perhaps a million, without a pause. */
function isList(start: Uint8Array): boolean {
  return Buffer.from(start.buffer, start.byteOffset, start.byteLength).toString('latin1').trimStart().startsWith('[');
}

/** The end of the last event in a chunk, after its empty line; 0 if no event ends there. */
function endOfLastEvent(chunk: Uint8Array): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const [lines, crlfLines] = [bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\r\n\r\n')];
  return Math.max(lines === -1 ? 0 : lines + 2, crlfLines === -1 ? 0 : crlfLines + 4);
}
