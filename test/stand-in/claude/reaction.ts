import type { MessagesRequest } from './request.ts';
import type { AnswerUsage } from './usage.ts';
import type { Violation } from './violation.ts';

/** A time in which a stream carries nothing but `ping` events. */
export interface Pinging {
  forMs: number;
  everyMs: number;
}

/** The beginning of an answer: `content` (raw blocks) wins over `text`. `everyMs`: the time that each piece takes. */
export interface Begun {
  text: string;
  content?: unknown[];
  everyMs?: number;
}

/** A message, which is streamed. See `Reaction`. */
export interface AnswerReaction extends Partial<Begun> {
  do: 'answer';
  stopReason?: string;
  after?: Promise<unknown>;
  afterMs?: number;
  pondering?: Pinging;
  usage?: Partial<AnswerUsage>;
  headers?: Record<string, string>;
}

/**
 * What the stand-in does with a call. It streams every answer: a gateway asks for nothing else.
 *
 * - `answer`: a message; `content` (raw blocks, sent as they are) wins over `text`. A tool_use whose `input` is a
 *   string streams that string as its JSON, so that a cut call can be shown. Text over the limits is cut.
 *   `after` is awaited, and `afterMs` passes, before the headers; `pondering` passes inside each thinking block.
 *   `everyMs`: the time that each piece takes.
 * - `error`: an error envelope. `overflow`: the 400 of a prompt that is too long.
 * - `hang`: no headers, ever. `silent`: some deltas, and then nothing while the socket stays open, or nothing but a ping
 *   every `pingEveryMs`.
 * - `truncate`: the stream ends cleanly but early. `cut`: the socket dies in the middle of the stream.
 *   What these three begin is not finished: the last block stays open, and a thought in it has no signature.
 * - `errorEvent`: an SSE error event after a 200, and behind `text`, if there is one. `raw`: any status, headers and body.
 */
export type Reaction =
  | AnswerReaction
  | { do: 'error'; status: number; type: string; message: string; headers?: Record<string, string> }
  | { do: 'overflow'; observedTokens?: number; limitTokens?: number }
  | { do: 'hang' }
  | ({ do: 'silent'; pingEveryMs?: number } & Begun)
  | ({ do: 'truncate' } & Begun)
  | ({ do: 'cut' } & Begun)
  | { do: 'errorEvent'; type: string; message: string; text?: string }
  | { do: 'raw'; status: number; headers?: Record<string, string>; body: string };

/** One `POST /v1/messages`, kept from its arrival on. `status`, `endedAt` and `aborted` are filled in as it goes. */
export interface ClaudeCall {
  index: number;
  at: number;
  kind: 'main' | 'compaction';
  /** What was sent. When `violation` is set it may lack what a request needs; it is empty when it could not be read. */
  body: MessagesRequest;
  inputTokens: number;
  /** The last text block of the last user message. */
  pendingText: string;
  /** What was done: a reaction's name, `violation`, `window` (really too long), `retired` or `unauthorized`. */
  reaction: string;
  /** Where the text stands that a guard found guilty, as `messages.3.content.0.text`. */
  guilty?: string;
  /** The HTTP status, 0 as long as none was sent. */
  status: number;
  /** The rule that the request broke. Being too long for the window (rule 19) is not counted as one. */
  violation?: Violation;
  requestId: string;
  /** What a complete answer said that it cost. */
  usage?: AnswerUsage;
  /** What the provider bills, in US dollars: also for an answer that was cut, or that its client left. */
  usd?: number;
  traceparent?: string;
  /** When the last byte was sent, or the connection ended. */
  endedAt?: number;
  /** Whether the client went away before the answer was complete. */
  aborted?: boolean;
}

/** Decides about a call; undefined leaves it to the rule installed before, and at last to the default answer. */
export type ReactionRule = (call: ClaudeCall) => Reaction | undefined;

/** The reactions that a test may force on a request which is refused otherwise. */
export const FORCED: readonly Reaction['do'][] = ['raw', 'error', 'hang'];
