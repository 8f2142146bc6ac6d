import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { SessionId } from '../../shared/redis/keys.ts';
import type { Payer } from '../../shared/state/spending/limit.ts';
import type { Purpose, Usage } from '../../shared/state/spending/usage-book.ts';
import type { ServerTool } from '../tools/server-tools.ts';
import type { ToolSpec } from '../tools/toolbox.ts';
import type { Block } from './block.ts';
import type { Failure } from './errors/failure.ts';

/** One message of a request, in the Messages API's own shape. */
export type { MessageParam };

/** How deeply a model thinks. */
export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** The limits of a model's input and output, in tokens. */
export interface ModelLimits {
  windowTokens: number;
  /** Absent where it is not stated. */
  maxOutputTokens?: number;
}

/** A request as the flow builds it; the adapter adds what the wire needs. */
export interface ModelRequest {
  model: string;
  /** Whose budget pays for the call; absent where the call serves all chats. Never sent. */
  payer?: Payer;
  /** The session that it continues, if any. Never sent. */
  session?: SessionId;
  /** The purpose of the call; absent: an answer. Never sent. */
  purpose?: Purpose;
  maxTokens: number;
  system: string;
  messages: MessageParam[];
  /** In a stable order; absent where no tool may be called. */
  tools?: readonly ToolSpec[];
  /** Tools that the provider runs itself, in its own words; in a stable order. */
  serverTools?: readonly ServerTool[];
  /** Whether the model must answer in text: the tools stay part of the prefix, but none may be called. */
  wordsOnly?: boolean;
  /** How deeply the model thinks; absent: the model's default. */
  effort?: Effort;
  /** Whether the conversation continues, so that its prefix is worth keeping at the provider. */
  caches: boolean;
  /** How long the prefix is kept there; absent: 5 minutes. Changing it rewrites the prefix. */
  cacheLifetime?: CacheLifetime;
}

/** How long the provider keeps a prefix after it was last read. */
export type CacheLifetime = '5m' | '1h';

/** The model's answer. `content` is verbatim, unknown block types included. */
export interface ModelAnswer {
  content: readonly Block[];
  /** The ids of calls whose input was no JSON object; `content` holds it as a text. Absent for none. */
  unreadable?: readonly string[];
  /** The text blocks, joined. */
  text: string;
  stopReason: string | null;
  model: string;
  usage: Usage;
}

/**
 * A call without an answer. `spent` is present when the provider bills it even so, since the server had taken it before
 * it was cut, fell silent or was aborted: the input as stated, else as estimated, and the output so far. `said` is the
 * text that had arrived; absent where that is nothing but whitespace.
 */
export interface FailedCall {
  ok: false;
  failure: Failure;
  spent?: Usage;
  said?: string;
}

/** An expected failure is a value. `firstChunkMs` is the time from the request to the first chunk; absent where none came. */
export type ModelResult = ({ ok: true; answer: ModelAnswer } | FailedCall) & { firstChunkMs?: number };

/**
 * Called while an answer is written, each time that something of it arrived: all text so far, which is empty or
 * unchanged while the model thinks or writes a call. A ping is no part of an answer, except within hidden thinking, of
 * which it is the only sign.
 */
export type OnText = (text: string) => void;

/**
 * The model.
 *
 * Every request is checked against the rules of the API before it is sent. One that breaks a rule is not sent: it fails
 * with reason `invalid_request`, since a request of ours is valid by construction.
 *
 * Contract: no method throws, but what `onText` throws ends the call and comes out as itself. `send` is one request without
 * retries (the queue owns those) and is not idempotent: each call is billed. On abort it returns a failure with reason
 * `aborted`. `onText` is not called after it has settled.
 */
export interface Model {
  send(request: ModelRequest, signal: AbortSignal, onText?: OnText): Promise<ModelResult>;
  /**
   * The input tokens of a request, as the endpoint itself counts them: free of charge. Absent where the endpoint does
   * not offer it, or cannot be asked just now.
   */
  countTokens(request: ModelRequest, signal: AbortSignal): Promise<number | undefined>;
  /** The limits of a model, as the endpoint states them; its window else from a table, else 200,000. */
  limits(model: string): Promise<ModelLimits>;
}

/** Enough for a word of most models. */
const WORD_TOKENS = 16;

/** A call of a few tokens: it shows that address, key, credit and model work. Pure. */
export function wordRequest(model: string): ModelRequest {
  const messages = [{ role: 'user' as const, content: 'Say ok.' }];
  return { model, purpose: 'probe', maxTokens: WORD_TOKENS, system: '', messages, caches: false };
}
