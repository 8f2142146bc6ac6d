import { BoundedMap } from '../../shared/base/bounded-map.ts';
import type { Settings } from '../../shared/base/settings.ts';
import type { LogRecord } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { isSameModel, tokenizerFactor } from './catalog.ts';
import { estimateBlock, estimateContent, estimateMedia, estimateText } from './estimate.ts';
import type { MessageParam, ModelAnswer, ModelRequest } from './port.ts';
import { conversationSize } from './usage.ts';

/** The tokens of a request, as far as they can be known before it is sent. */
export interface Count {
  /** The best guess of the request's input tokens. */
  tokens: number;
  /** The certain part: the real usage of an earlier answer; 0 without one. */
  known: number;
  /** Our estimate of the rest, before calibration, without media; compared with the real figure afterwards. */
  estimated: number;
  /** The pictures and pages in the rest: no calibration applies to them. */
  media: number;
}

/** Everything that is sent but not stored in the window. */
export interface FixedParts {
  system: string;
  tools: readonly object[];
  serverTools: readonly object[];
}

/** Records that change how earlier records are sent. */
const SHAPING: ReadonlySet<LogRecord['t']> = new Set(['compaction', 'seed', 'scrub', 'trim']);
const MESSAGE_TOKENS = 4;
const REQUEST_TOKENS = 8;
/** The comma after a tool. */
const SEPARATOR_TOKENS = 1;
const CALIBRATION_MIN = 0.5;
const CALIBRATION_MAX = 2.5;
/** The most tokens that a provider adds for its own tools. */
const PROVIDER_TOKENS_MAX = 20_000;
/** A stated size differs from our own count by less than this factor. */
const BELIEVED_FACTOR = 3;
/** A smaller request is mostly overhead, and shows nothing about the text. */
const CALIBRATION_TOKENS_MIN = 200;

/** Room that stays free beside the input, whatever the output limit is. */
const RESERVE_TOKENS = 16_000;
/** However large the reserve, this share of the window stays usable: a negative rest would stop every turn. */
const USABLE_MIN = 0.5;

/**
 * The tokens of a window that input may fill: the window less the output, or less the reserve if that is larger. Always
 * positive.
 */
export function usableTokens(limitTokens: number, maxOutputTokens: number): number {
  const rest = limitTokens - Math.max(maxOutputTokens, RESERVE_TOKENS);
  return Math.max(rest, Math.floor(limitTokens * USABLE_MIN));
}

/**
 * Counts a request before it is sent: the real usage of the last valid answer of the same model, when there is one in
 * the window, plus an estimate of only what came after it; otherwise an estimate of the whole. `calibration` turns our
 * estimate into the model's tokens. Pure.
 */
export function countRequest(
  fixed: FixedParts,
  window: Window,
  messages: readonly MessageParam[],
  model: string,
  calibration: number,
): Count {
  const { tokens: sentTokens, media } = sizeOf(messages);
  const estimated = REQUEST_TOKENS + estimateFixed(fixed) + sentTokens - media;
  const own = { tokens: Math.ceil(estimated * calibration + media), known: 0, estimated, media };
  const anchor = anchorOf(window.records, model);
  if (anchor === undefined) return own;
  const { records } = window;
  const after = sizeOf(records.slice(anchor.at + 1).filter((each) => each.t === 'user' || each.t === 'assistant'));
  const estimatedAfter = after.tokens - after.media;
  const tokens = Math.ceil(anchor.tokens + estimatedAfter * calibration + after.media);
  // The records of version 0.3 and before hold usage that was not checked.
  if (!isBelievableSize(tokens, own.tokens)) return own;
  return { tokens, known: anchor.tokens, estimated: estimatedAfter, media: after.media };
}

/**
 * Whether a size that an endpoint states can be that of a request which we count as `ownTokens`. A smaller size leaves out
 * the cached tokens; a larger one is the sum of several passes, or a mistake. Pure.
 */
function isBelievableSize(statedTokens: number, ownTokens: number): boolean {
  const isTooSmall = statedTokens * BELIEVED_FACTOR < ownTokens;
  return !isTooSmall && statedTokens <= ownTokens * BELIEVED_FACTOR + PROVIDER_TOKENS_MAX;
}

/** An answer whose usage states a size only where that can be the size of the request. Pure. */
export function withBelievedSize(answer: ModelAnswer, ownTokens: number): ModelAnswer {
  const size = conversationSize(answer.usage, answer.content);
  if (size === undefined || isBelievableSize(size.sentTokens, ownTokens)) return answer;
  return { ...answer, usage: { ...answer.usage, passes: 'unstated' } };
}

/** The tokens of a conversation with its newest answer: by the answer's usage, or else by our count of the request. */
export function tokensWith(
  { usage, content }: Pick<ModelAnswer, 'usage' | 'content'>,
  { tokens }: Count,
  calibration: number,
): number {
  return conversationSize(usage, content)?.tokens ?? tokens + estimateContent(content) * calibration;
}

/** The input tokens of a message alone. Pure. */
export function countContent(content: unknown, calibration: number): number {
  const media = estimateMedia(content);
  return Math.ceil((MESSAGE_TOKENS + estimateContent(content) - media) * calibration + media);
}

/** Estimates the fixed parts. Pure. */
export function estimateFixed({ system, tools, serverTools }: FixedParts): number {
  const systemTokens = promptTokens.getOrInsertComputed(system, () => estimateText(system));
  return [...tools, ...serverTools].reduce((sum, tool) => sum + estimateBlock(tool) + SEPARATOR_TOKENS, systemTokens);
}

/** Many chats share a system prompt, and each request of a chat has the same. */
const promptTokens = new BoundedMap<string, number>(100);

/** The most input tokens of a whole request, without knowing its chat. Pure. */
export function estimateRequest({ model, system, messages, tools = [] }: ModelRequest): number {
  const fixed = estimateFixed({ system, tools, serverTools: [] });
  const { tokens, media } = sizeOf(messages);
  return Math.ceil((REQUEST_TOKENS + fixed + tokens - media) * tokenizerFactor(model) + media);
}

/** The messages of a request never change, and are counted for the window and for what they may cost. */
const sizes = new WeakMap<readonly object[], { tokens: number; media: number }>();

function sizeOf(messages: readonly { content?: unknown }[]): { tokens: number; media: number } {
  const known = sizes.get(messages);
  if (known !== undefined) return known;
  const tokens = messages.reduce((sum, { content }) => sum + MESSAGE_TOKENS + estimateContent(content), 0);
  const media = messages.reduce((sum, { content }) => sum + estimateMedia(content), 0);
  sizes.set(messages, { tokens, media });
  return { tokens, media };
}

/**
 * The calibration after a request: the mean of the old value and the observed one; bounded. A request that is too small,
 * or whose real size is not known, changes nothing.
 */
export function calibrate(
  before: number | undefined,
  { known, estimated, media }: Count,
  { usage, content }: Pick<ModelAnswer, 'usage' | 'content'>,
): number | undefined {
  const realTokens = conversationSize(usage, content)?.sentTokens;
  if (realTokens === undefined) return before;
  const rest = realTokens - known - media;
  if (estimated < CALIBRATION_TOKENS_MIN || rest <= 0) return before;
  const seen = Math.min(CALIBRATION_MAX, Math.max(CALIBRATION_MIN, rest / estimated));
  return before === undefined ? seen : (before + seen) / 2;
}

/**
 * The newest answer whose usage can be trusted, and the size of the conversation with it. A later compaction, scrub or
 * trim changed what is sent; another model's answer was counted by another tokenizer; an answer without usage was cut or
 * failed. Of one for which several passes were added up, the answer before it still knows.
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

/** The factor between our estimates and the tokens of a model: learnt in the chat, or else the usual one. */
export function calibrationFor(model: string, learnt: number | undefined): number {
  return learnt ?? tokenizerFactor(model);
}

/** How far a chat may fill its window, in tokens. At every size `fullTokens` lies below `usableTokens`. */
export interface Room {
  /** The window, as far as it is known. */
  limitTokens: number;
  /** The most input that is sent: above it, a session is compacted before the call. */
  usableTokens: number;
  /** Above it, a session is compacted after a reply. The range between the two is room for an ordinary exchange. */
  fullTokens: number;
  /** The output that a request may ask for: it fits beside the most input that is sent. */
  outputTokens: number;
  /** The most that is kept verbatim of the newest turns when a session is compacted. */
  verbatimTokens: number;
  /** The most that everything left after a compaction may take, the pending message aside. */
  retainedTokens: number;
}

/** However late an operator wants compaction, a fifth of the usable window is left for the next exchange. */
const FULL_SHARE_MAX = 0.8;
const KEPT_SHARE = 0.2;
/** Half of the level at which a session is full, so the next compaction is many exchanges away. */
const RETAINED_SHARE = 0.5;

/** The newest message counts towards the budget up to this share of it: a large file is no reason to forget a chat. */
const MESSAGE_SHARE = 0.25;

/** The settings with a budget that the newest message may exceed where the model's window allows it. Pure. */
export function budgetFor<S extends Budget>(settings: S, messageTokens: number): S {
  const { CONTEXT_BUDGET_TOKENS: budgetTokens } = settings;
  const excess = Math.max(0, messageTokens - Math.floor(budgetTokens * MESSAGE_SHARE));
  return excess === 0 ? settings : { ...settings, CONTEXT_BUDGET_TOKENS: budgetTokens + excess };
}

/** The room of a chat: the model's window, as far as errors have shown it and the operator allows it. Pure. */
export function chatRoom(
  windowTokens: number,
  learntTokens: number | undefined,
  settings: RoomSettings & Budget,
): Room {
  return roomOf(Math.min(windowTokens, learntTokens ?? windowTokens, settings.CONTEXT_BUDGET_TOKENS), settings);
}

/** Divides a window. Pure; every figure is positive for a window of at least 16 tokens. */
export function roomOf(limitTokens: number, { MAX_OUTPUT_TOKENS, COMPACT_AT }: RoomSettings): Room {
  const usable = usableTokens(limitTokens, MAX_OUTPUT_TOKENS);
  const fullTokens = Math.floor(Math.min(limitTokens * COMPACT_AT, usable * FULL_SHARE_MAX));
  return {
    limitTokens,
    usableTokens: usable,
    fullTokens,
    outputTokens: Math.min(MAX_OUTPUT_TOKENS, limitTokens - usable),
    verbatimTokens: Math.floor(Math.min(usable * KEPT_SHARE, fullTokens * RETAINED_SHARE * RETAINED_SHARE)),
    retainedTokens: Math.floor(fullTokens * RETAINED_SHARE),
  };
}
