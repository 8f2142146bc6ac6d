import { BoundedMap } from '../../shared/base/bounded-map.ts';
import type { Settings } from '../../shared/base/settings.ts';
import type { LogRecord } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { isSameModel, tokenizerFactor } from './catalog.ts';
import { estimateBlock, estimateContent, estimateMedia, estimateText } from './estimate.ts';
import type { MessageParam, ModelAnswer, ModelRequest } from './port.ts';
import { conversationSize } from './usage.ts';

/** The tokens of a request, as counted before it is sent. */
export interface Count {
  /** The best guess of the request's input tokens. */
  tokens: number;
  /** The certain part: the real usage of an earlier answer; 0 without such an answer. */
  knownTokens: number;
  /** Our estimate of the rest, before calibration, without media. `calibrate` compares the real figure with the estimate. */
  estimatedTokens: number;
  /** The tokens of pictures and pages in the rest, to which no calibration applies. */
  mediaTokens: number;
}

/** The parts of a request that are not part of the session's window. */
export interface FixedParts {
  system: string;
  tools: readonly object[];
  serverTools: readonly object[];
}

/** The types of records that change how requests show earlier records. */
const SHAPING: ReadonlySet<LogRecord['t']> = new Set(['compaction', 'seed', 'scrub', 'trim']);
const MESSAGE_TOKENS = 4;
const REQUEST_TOKENS = 8;
/** The tokens of the comma after a tool. */
const SEPARATOR_TOKENS = 1;
const CALIBRATION_MIN = 0.5;
const CALIBRATION_MAX = 2.5;
/** The maximum number of tokens that a provider adds for its own tools. */
const PROVIDER_TOKENS_MAX = 20_000;
/** The largest plausible factor between a stated size and our own count; tokens for the provider's tools come on top. */
const PLAUSIBLE_FACTOR = 3;
/** A request whose estimated part is smaller than this is mostly overhead, and does not change the calibration. */
const CALIBRATION_TOKENS_MIN = 200;

/** The part of a window that stays free of input if the output limit is smaller; less in a small window (`USABLE_MIN`). */
const RESERVE_TOKENS = 16_000;
/** Input may fill at least this share of the window; otherwise a large output limit could leave no room for any request. */
const USABLE_MIN = 0.5;

/**
 * The tokens of a window that input may fill: the window less the output limit, or less `RESERVE_TOKENS` if that is more; but
 * at least `USABLE_MIN` of the window.
 */
export function usableTokens(limitTokens: number, maxOutputTokens: number): number {
  const rest = limitTokens - Math.max(maxOutputTokens, RESERVE_TOKENS);
  return Math.max(rest, Math.floor(limitTokens * USABLE_MIN));
}

/**
 * Counts a request before it is sent: the real usage of the newest answer in the window, plus an estimate of only the later
 * records. If that answer is not reliable (`anchorOf`), or if the sum is implausible, estimates the whole request.
 * `calibration` turns our estimate into the model's tokens. Pure.
 */
export function countRequest(
  fixedParts: FixedParts,
  window: Window,
  messages: readonly MessageParam[],
  model: string,
  calibration: number,
): Count {
  const { tokens: messageTokens, media: mediaTokens } = sizeOf(messages);
  const estimatedTokens = REQUEST_TOKENS + estimateFixed(fixedParts) + messageTokens - mediaTokens;
  const tokensByEstimate = Math.ceil(estimatedTokens * calibration + mediaTokens);
  const estimate = { tokens: tokensByEstimate, knownTokens: 0, estimatedTokens, mediaTokens };
  const anchor = anchorOf(window.records, model);
  if (anchor === undefined) return estimate;
  const { records } = window;
  const rest = sizeOf(records.slice(anchor.at + 1).filter((each) => each.t === 'user' || each.t === 'assistant'));
  const restTokens = rest.tokens - rest.media;
  const tokens = Math.ceil(anchor.tokens + restTokens * calibration + rest.media);
  // Versions up to 0.3 recorded the usage of an answer without checking it.
  if (!isPlausibleSize(tokens, estimate.tokens)) return estimate;
  return { tokens, knownTokens: anchor.tokens, estimatedTokens: restTokens, mediaTokens: rest.media };
}

/**
 * Whether a size that an endpoint states is plausible for a request of `ownTokens` by our count. A much smaller size omits
 * the cached tokens; a much larger one is the sum of several passes, or a mistake. Pure.
 */
function isPlausibleSize(statedTokens: number, ownTokens: number): boolean {
  const isTooSmall = statedTokens * PLAUSIBLE_FACTOR < ownTokens;
  return !isTooSmall && statedTokens <= ownTokens * PLAUSIBLE_FACTOR + PROVIDER_TOKENS_MAX;
}

/** Marks the size in the answer's usage as unstated if it is not plausible for a request of `ownTokens`. Pure. */
export function withPlausibleSize(answer: ModelAnswer, ownTokens: number): ModelAnswer {
  const size = conversationSize(answer.usage, answer.content);
  if (size === undefined || isPlausibleSize(size.sentTokens, ownTokens)) return answer;
  return { ...answer, usage: { ...answer.usage, passes: 'unstated' } };
}

/** The tokens of a conversation with its newest answer: by the answer's usage or, if that is unusable, by our own count. */
export function tokensWith(
  { usage, content }: Pick<ModelAnswer, 'usage' | 'content'>,
  { tokens }: Count,
  calibration: number,
): number {
  return conversationSize(usage, content)?.tokens ?? tokens + estimateContent(content) * calibration;
}

/** Our count of the input tokens of one message. Pure. */
export function countContent(content: unknown, calibration: number): number {
  const media = estimateMedia(content);
  return Math.ceil((MESSAGE_TOKENS + estimateContent(content) - media) * calibration + media);
}

/** Estimates the fixed parts. Pure. */
export function estimateFixed({ system, tools, serverTools }: FixedParts): number {
  const systemTokens = promptTokens.getOrInsertComputed(system, () => estimateText(system));
  return [...tools, ...serverTools].reduce((sum, tool) => sum + estimateBlock(tool) + SEPARATOR_TOKENS, systemTokens);
}

/** A cache of estimates, since many chats share a system prompt. */
const promptTokens = new BoundedMap<string, number>(100);

/** An estimate of a whole request's input tokens, without a chat's calibration. Pure. */
export function estimateRequest({ model, system, messages, tools = [] }: ModelRequest): number {
  const fixedTokens = estimateFixed({ system, tools, serverTools: [] });
  const { tokens, media } = sizeOf(messages);
  return Math.ceil((REQUEST_TOKENS + fixedTokens + tokens - media) * tokenizerFactor(model) + media);
}

/** A cache of sizes: the messages of a request never change, and are counted for the window and for the cost. */
const sizes = new WeakMap<readonly object[], { tokens: number; media: number }>();

function sizeOf(messages: readonly { content?: unknown }[]): { tokens: number; media: number } {
  const cached = sizes.get(messages);
  if (cached !== undefined) return cached;
  const tokens = messages.reduce((sum, { content }) => sum + MESSAGE_TOKENS + estimateContent(content), 0);
  const media = messages.reduce((sum, { content }) => sum + estimateMedia(content), 0);
  sizes.set(messages, { tokens, media });
  return { tokens, media };
}

/**
 * The calibration after a request: the mean of the previous value, if any, and the observed value, within bounds. Returns
 * the previous value if the estimated part is too small, or the request's real size is unknown or implausible.
 */
export function calibrate(
  previous: number | undefined,
  { knownTokens, estimatedTokens, mediaTokens }: Count,
  { usage, content }: Pick<ModelAnswer, 'usage' | 'content'>,
): number | undefined {
  const realTokens = conversationSize(usage, content)?.sentTokens;
  if (realTokens === undefined) return previous;
  const rest = realTokens - knownTokens - mediaTokens;
  if (estimatedTokens < CALIBRATION_TOKENS_MIN || rest <= 0) return previous;
  const factor = Math.min(CALIBRATION_MAX, Math.max(CALIBRATION_MIN, rest / estimatedTokens));
  return previous === undefined ? factor : (previous + factor) / 2;
}

/**
 * The index of the newest answer, and the size of the conversation with that answer. `undefined` without an answer, if a later
 * record changed the request (`SHAPING`), if another model wrote the answer, or if its usage is missing, as after a cut.
 * Skips an answer whose usage may be the sum of several passes.
 */
function anchorOf(records: readonly LogRecord[], model: string): { at: number; tokens: number } | undefined {
  for (let at = records.length - 1; at >= 0; at--) {
    const record = records[at];
    if (record === undefined || SHAPING.has(record.t)) return undefined;
    if (record.t !== 'assistant') continue;
    const { usage, content, model: by } = record;
    if (usage === undefined || by === undefined || !isSameModel(model, by)) return undefined;
    const size = conversationSize(usage, content);
    if (size !== undefined) return { at, tokens: size.tokens };
  }
  return undefined;
}

/** The settings that decide how a window is shared between input and output. */
type RoomSettings = Pick<Settings, 'MAX_OUTPUT_TOKENS' | 'COMPACT_AT'>;

type Budget = Pick<Settings, 'CONTEXT_BUDGET_TOKENS'>;

/** The factor that turns our estimates into a model's tokens: the chat's own or, without one, the model's default. */
export function calibrationFor(model: string, chatFactor: number | undefined): number {
  return chatFactor ?? tokenizerFactor(model);
}

/** The limits for filling a chat's window, in tokens. `fullTokens` is always below `usableTokens`. */
export interface Room {
  /** The window. */
  limitTokens: number;
  /** The maximum input of a request. A larger session is compacted before the call. */
  usableTokens: number;
  /** A larger session is compacted after a reply. The range up to `usableTokens` is room for an ordinary exchange. */
  fullTokens: number;
  /** The maximum output of a request. It fits into the window together with `usableTokens` of input. */
  outputTokens: number;
  /** The maximum size of the turns that a compaction keeps verbatim. Only the newest turn may be larger. */
  verbatimTokens: number;
  /** The maximum size of the session after a compaction, without the newest question, answer and batch of tool results. */
  retainedTokens: number;
}

/** At least a fifth of the usable window is room for the next exchange, even with a high `COMPACT_AT`. */
const FULL_SHARE_MAX = 0.8;
const VERBATIM_SHARE = 0.2;
/** A compaction retains at most this share of `fullTokens`, so that the next compaction is many exchanges away. */
const RETAINED_SHARE = 0.5;

/** The newest message counts as at most this share of the budget, so that a large file does not cause a compaction. */
const MESSAGE_SHARE = 0.25;

/** The settings with a budget that is raised for a large newest message. The model's window stays a limit. Pure. */
export function budgetFor<S extends Budget>(settings: S, messageTokens: number): S {
  const { CONTEXT_BUDGET_TOKENS: budgetTokens } = settings;
  const excess = Math.max(0, messageTokens - Math.floor(budgetTokens * MESSAGE_SHARE));
  return excess === 0 ? settings : { ...settings, CONTEXT_BUDGET_TOKENS: budgetTokens + excess };
}

/** The room of a chat within the smallest of the model's stated window, the learnt window and the operator's budget. Pure. */
export function chatRoom(
  windowTokens: number,
  learntTokens: number | undefined,
  settings: RoomSettings & Budget,
): Room {
  return roomOf(Math.min(windowTokens, learntTokens ?? windowTokens, settings.CONTEXT_BUDGET_TOKENS), settings);
}

/** Divides a window into input and output. Pure; every figure is positive for a window of at least 16 tokens. */
export function roomOf(limitTokens: number, { MAX_OUTPUT_TOKENS, COMPACT_AT }: RoomSettings): Room {
  const usable = usableTokens(limitTokens, MAX_OUTPUT_TOKENS);
  const fullTokens = Math.floor(Math.min(limitTokens * COMPACT_AT, usable * FULL_SHARE_MAX));
  return {
    limitTokens,
    usableTokens: usable,
    fullTokens,
    outputTokens: Math.min(MAX_OUTPUT_TOKENS, limitTokens - usable),
    verbatimTokens: Math.floor(Math.min(usable * VERBATIM_SHARE, fullTokens * RETAINED_SHARE * RETAINED_SHARE)),
    retainedTokens: Math.floor(fullTokens * RETAINED_SHARE),
  };
}
