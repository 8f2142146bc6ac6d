import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** The bounds of what a server may send and ask for. */
export interface Bounds {
  /** Messages a second that answer none of our requests. */
  messagesPerSecond: number;
  /** Bytes of one message, and of all messages that wait until the server takes them. */
  messageBytesMax: number;
}

/**
 * Holds one connection to its bounds, whatever its transport. The first bound that the server breaks ends the connection.
 */
export interface Guard {
  readonly bounds: Bounds;
  /** The bound that the server broke, in our own words; `undefined` as long as it keeps all. */
  broken(): string | undefined;
  /** Counts what the server sends or makes us do without a request of ours. Returns whether the connection goes on. */
  count(messages: number, bytes?: number): boolean;
  /** Ends the connection, since the server broke this bound. */
  breach(bound: string): void;
}

/** The size of a message, which our own transports pass on with the message. */
export interface Weighed extends MessageExtraInfo {
  bytes: number;
}

/**
 * A server may send this many seconds' worth of messages at once, e.g. its log after the start. Reading and answering 500
 * small messages takes the event loop some 30 ms.
 */
const BURST_SECONDS = 5;
/** This many bytes count as one more message: reading them takes about as long. */
const BYTES_PER_MESSAGE = 64 * 1024;
/** Our answers that the server has not taken yet. A client that offers nothing is only ever asked for single pings. */
const ANSWERS_MAX = 32;

/** `end` is called once, with the first bound that was broken. */
export function createGuard(bounds: Bounds, end: (bound: string) => void): Guard {
  const { messagesPerSecond } = bounds;
  let left = messagesPerSecond * BURST_SECONDS;
  let countedAtMs = performance.now();
  let broken: string | undefined;
  const breach = (bound: string) => {
    if (broken !== undefined) return;
    broken = bound;
    end(bound);
  };
  return {
    bounds,
    broken: () => broken,
    count(messages, bytes = 0) {
      const nowMs = performance.now();
      const regained = ((nowMs - countedAtMs) / 1_000) * messagesPerSecond;
      left = Math.min(left + regained, messagesPerSecond * BURST_SECONDS);
      countedAtMs = nowMs;
      // The check precedes the charge: one message of any size passes, and the messages after it pay for it.
      if (left <= 0) breach(`it sent more than ${messagesPerSecond} messages a second that answer no request`);
      left -= messages + bytes / BYTES_PER_MESSAGE;
      return broken === undefined;
    },
    breach,
  };
}

/** Why a connection that sends too much at once ends. */
export function tooLarge(bytesMax: number): string {
  return `it sent a message of more than ${bytesMax} bytes`;
}

/**
 * A transport between the SDK's protocol and the real transport. It counts every message that answers no request of ours:
 * requests, notifications, answers with an unknown id, and text that is no message. It also bounds the messages that wait
 * until the server takes them. After a breach nothing passes in either direction.
 */
export function guarded(inner: Transport, guard: Guard): Transport {
  const asked = new Set<RequestId>();
  let [answers, bytes] = [0, 0];
  const wait = (message: JSONRPCMessage, size: number) => {
    if ('method' in message && 'id' in message) asked.add(message.id);
    if (!('method' in message)) answers += 1;
    bytes += size;
    if (answers > ANSWERS_MAX) guard.breach(`it left more than ${ANSWERS_MAX} answers to its requests unread`);
    const { messageBytesMax } = guard.bounds;
    if (bytes > messageBytesMax) guard.breach(`it left more than ${messageBytesMax} bytes unread`);
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
      wait(message, size);
      try {
        if (guard.broken() !== undefined) throw new Error('the connection is over');
        await inner.send(message, options);
      } finally {
        if (!('method' in message)) answers -= 1;
        bytes -= size;
      }
    },
  };
  inner.onclose = () => outer.onclose?.();
  inner.onerror = (error) => {
    if (guard.count(1)) outer.onerror?.(error);
  };
  inner.onmessage = (message, extra) => {
    const isAnswer = !('method' in message) && message.id !== undefined && asked.delete(message.id);
    const { bytes = 0 } = (extra ?? {}) as Partial<Weighed>;
    if (isAnswer ? guard.broken() === undefined : guard.count(1, bytes)) outer.onmessage?.(message, extra);
  };
  return outer;
}
