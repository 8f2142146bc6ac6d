import { usableTokens } from './count.ts';

/** What decides how a window is shared between input and output. */
export interface RoomSettings {
  /** The output that is wanted, in tokens, thinking included. */
  maxOutputTokens: number;
  /** Share of the window at which a session is compacted after a reply. */
  compactAt: number;
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
  keptTokens: number;
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
export function budgetFor<S extends { contextBudgetTokens: number }>(settings: S, messageTokens: number): S {
  const { contextBudgetTokens } = settings;
  const excess = Math.max(0, messageTokens - Math.floor(contextBudgetTokens * MESSAGE_SHARE));
  return excess === 0 ? settings : { ...settings, contextBudgetTokens: contextBudgetTokens + excess };
}

/** The room of a chat: the model's window, as far as errors have shown it and the operator allows it. Pure. */
export function chatRoom(
  windowTokens: number,
  learntTokens: number | undefined,
  settings: RoomSettings & { contextBudgetTokens: number },
): Room {
  return roomOf(Math.min(windowTokens, learntTokens ?? windowTokens, settings.contextBudgetTokens), settings);
}

/** Divides a window. Pure; every figure is positive for a window of at least 16 tokens. */
export function roomOf(limitTokens: number, { maxOutputTokens, compactAt }: RoomSettings): Room {
  const usable = usableTokens(limitTokens, maxOutputTokens);
  const fullTokens = Math.floor(Math.min(limitTokens * compactAt, usable * FULL_SHARE_MAX));
  return {
    limitTokens,
    usableTokens: usable,
    fullTokens,
    outputTokens: Math.min(maxOutputTokens, limitTokens - usable),
    keptTokens: Math.floor(Math.min(usable * KEPT_SHARE, fullTokens * RETAINED_SHARE * RETAINED_SHARE)),
    retainedTokens: Math.floor(fullTokens * RETAINED_SHARE),
  };
}
