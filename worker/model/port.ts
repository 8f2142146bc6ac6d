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
  /** Absent if unknown. */
  maxOutputTokens?: number;
}

/** A request to a model, independent of the API's wire format. */
export interface ModelRequest {
  model: string;
  /** The chat and person whose budgets pay for the call; absent for a call on behalf of all chats. Never sent. */
  payer?: Payer;
  /** The session of the request, if any. Never sent. */
  session?: SessionId;
  /** The purpose of the call; an answer if absent. Never sent. */
  purpose?: Purpose;
  maxTokens: number;
  system: string;
  messages: MessageParam[];
  /** The tools in a stable order; absent if the model may call none. */
  tools?: readonly ToolSpec[];
  /** Tools that the provider runs itself, in the API's format and in a stable order. */
  serverTools?: readonly ServerTool[];
  /** Whether the model must answer in text. The tools stay part of the prefix, but the model may call none. */
  wordsOnly?: boolean;
  /** How deeply the model thinks; absent: the model's default. */
  effort?: Effort;
  /** Whether to cache the prefix, e.g. of a conversation that continues. If false, the tools are not sent. */
  caches: boolean;
  /** The lifetime of the cached prefix; 5 minutes if absent. A change of the lifetime rewrites the prefix. */
  cacheLifetime?: CacheLifetime;
}

/** How long the provider caches a prefix after its last use. */
export type CacheLifetime = '5m' | '1h';

/** The model's answer. `content` has all blocks, unknown types included. */
export interface ModelAnswer {
  content: readonly Block[];
  /** The ids of calls whose input was not a JSON object; `content` wraps the input's text. Absent if there are none. */
  unreadable?: readonly string[];
  /** The text blocks, joined. */
  text: string;
  stopReason: string | null;
  model: string;
  usage: Usage;
}

/**
 * A call without an answer. `billedUsage`: the input and the output so far, stated or estimated; absent unless the server may
 * have accepted the call, so that the provider may bill it. `partialText`: the text that had arrived; absent if that is only
 * white space.
 */
export interface FailedCall {
  ok: false;
  failure: Failure;
  billedUsage?: Usage;
  partialText?: string;
}

/** The result of a call. `firstChunkMs` is the time from the request to the first part of the answer; absent if none came. */
export type ModelResult = ({ ok: true; answer: ModelAnswer } | FailedCall) & { firstChunkMs?: number };

/**
 * Called with all the text so far, each time that a part of the answer arrives. Each ping counts as a part during hidden
 * thinking, when only pings arrive. The text is empty or unchanged while the model thinks or writes a tool call.
 */
export type OnText = (text: string) => void;

/**
 * The model. Checks each request against the rules of the API. A request that breaks a rule is a bug of the gateway: it is
 * not sent, and fails with reason `invalid_request`.
 *
 * Contract: no method throws, except that an error of `onText` ends the call and is thrown. `send` does not retry, except once
 * without a feature or an amount of output that the endpoint refused. `send` is not idempotent: each call is billed. On abort
 * it returns a failure with reason `aborted`, and it never calls `onText` after it has settled.
 */
export interface Model {
  send(request: ModelRequest, signal: AbortSignal, onText?: OnText): Promise<ModelResult>;
  /**
   * The endpoint's own count of a request's input tokens, free of charge. Undefined if the endpoint gives no count, or is
   * unavailable.
   */
  countTokens(request: ModelRequest, signal: AbortSignal): Promise<number | undefined>;
  /** The limits of a model as the operator or the endpoint states them. If neither states a window, uses our list of models. */
  limits(model: string): Promise<ModelLimits>;
}

/** Enough output for one word of most models. */
const WORD_TOKENS = 16;

/** A request of a few tokens, to check that address, key, credit and model work. Pure. */
export function wordRequest(model: string): ModelRequest {
  const messages = [{ role: 'user' as const, content: 'Say ok.' }];
  return { model, purpose: 'probe', maxTokens: WORD_TOKENS, system: '', messages, caches: false };
}
