import { type Block, isServerSide, textBlock } from '../block.ts';
import { type Draft, type DraftTurn, type Fix, isEmpty, liveParts, NOTHING_LEFT, ourTurn, partOf } from './draft.ts';
import type { RuleName } from './repair.ts';
import { isMarked, isThinking, unmarked } from './shapes.ts';

/** The frame of a request: that there are messages, whose they are, and that each of them says something. */

const MESSAGES_MAX = 100_000;
const NO_BEGINNING = '[The beginning of this conversation is not shown here.]';
const GO_ON = '[Please go on.]';

/** `roles-alternate`: neighbours of one role become one message, as the API itself would do it. */
export const fixNeighbours: Fix = (draft) => {
  const merged: DraftTurn[] = [];
  for (const turn of draft.turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role) {
      for (const part of turn.parts) last.parts.push(part);
      last.suspect ||= turn.suspect;
      draft.note('roles-alternate', turn.path, 'merged_roles');
    } else merged.push(turn);
  }
  draft.turns = merged;
};

/**
 * `messages-present`, `user-first`, `user-last`: the user begins and ends. An answer of which nothing is left is
 * dropped at both ends, so that the newest words of the user stay the last. Expects roles to alternate.
 */
export const fixEnds: Fix = (draft) => {
  const { turns } = draft;
  const isEmptyAnswer = (turn: DraftTurn | undefined): boolean =>
    turn?.role === 'assistant' && isEmpty(turn) && turns.length > 1;
  if (isEmptyAnswer(turns.at(-1))) draft.note('message-not-empty', turns.pop()?.path ?? '', 'dropped_message');
  if (isEmptyAnswer(turns[0])) dropOldest(draft, 1, 'message-not-empty');
  const [first] = draft.turns;
  if (first?.role !== 'user') {
    const path = first?.path ?? 'messages';
    draft.turns.unshift(ourTurn(path, NO_BEGINNING));
    draft.note(first ? 'user-first' : 'messages-present', path, 'placeholder');
  }
  endWithUser(draft);
  const excess = Math.max(0, draft.turns.length - MESSAGES_MAX);
  dropOldest(draft, excess + (excess % 2), 'messages-present');
};

/** A turn that a server tool paused goes on by itself, unless it waits for a result of ours too. */
function endWithUser(draft: Draft): void {
  const last = draft.turns.at(-1);
  if (last === undefined || last.role === 'user') return;
  const parts = liveParts(last);
  const end = parts.at(-1);
  const waits = parts.some(({ block }) => block.type === 'tool_use');
  if (end !== undefined && isServerSide(end.block) && !waits) return;
  // The pairs put the results into this message, so that words of ours are only needed where nothing waits.
  draft.turns.push(waits ? ourTurn(last.path) : ourTurn(last.path, GO_ON));
  if (!waits) draft.note('user-last', last.path, 'placeholder');
}

/** Drops so many of the oldest messages. What stood in front of the rest is gone, and the rest knows it. */
function dropOldest(draft: Draft, count: number, rule: RuleName): void {
  if (count <= 0) return;
  for (const { path } of draft.turns.slice(0, count)) draft.note(rule, path, 'dropped_message');
  draft.turns = draft.turns.slice(count);
  for (const turn of draft.turns.slice(0, 1)) turn.suspect = true;
}

/** `message-not-empty`: a message of which nothing is left says so. */
export const fixEmpty: Fix = (draft) => {
  for (const turn of draft.turns) {
    if (!isEmpty(turn)) continue;
    turn.parts.push(partOf(textBlock(NOTHING_LEFT), turn.path));
    draft.note('message-not-empty', turn.path, 'placeholder');
  }
};

/** `message-not-empty` in a log, which holds messages that were never meant to be shown. */
export const dropEmpty: Fix = (draft) => {
  draft.turns = draft.turns.filter((turn) => !isEmpty(turn));
};

export const BREAKPOINTS_MAX = 4;

/**
 * `breakpoints-few`: the oldest breakpoints go, since each covers what stands before it. Nothing that thinking is bound
 * to changes by that, so no part is marked as changed.
 */
export const fixBreakpoints: Fix = (draft) => {
  const { top } = draft;
  const blocks = draft.blocks(isMarked);
  const above = [top.tools, top.system].flat().filter(isMarked);
  let excess = Number(isMarked(top)) + above.length + blocks.length - BREAKPOINTS_MAX;
  const lighter = (holder: unknown, path: string): unknown => {
    if (excess <= 0 || !isMarked(holder)) return holder;
    excess -= 1;
    draft.note('breakpoints-few', path, 'dropped_breakpoint');
    return unmarked(holder);
  };
  for (const key of ['tools', 'system']) {
    const holders = top[key];
    if (Array.isArray(holders)) top[key] = holders.map((holder, at) => lighter(holder, `${key}.${at}`));
  }
  for (const place of blocks.slice(0, Math.max(0, excess))) place.block = lighter(place.block, place.path) as Block;
};

/**
 * `thinking-leads` and `thinking-sealed`: drops thinking that ends a message and, where the model binds it, thinking
 * that something was changed before. The latest answer keeps all of its thinking or none.
 */
export const fixThinking: Fix = (draft, facts) => {
  dropLastThinking(draft, facts);
  if (facts.bindsThinking) dropBehindChanges(draft);
  const latest = draft.turns.findLast(({ role }) => role === 'assistant');
  if (!latest?.parts.some(({ block, out }) => out && isThinking(block))) return;
  for (const part of liveParts(latest))
    if (isThinking(part.block)) draft.takeOut(part, 'thinking-leads', 'dropped_thinking');
};

/** `thinking-leads` alone: what it does to a message does not depend on the messages behind it. */
export const dropLastThinking: Fix = (draft) => {
  for (const { parts, role } of draft.turns) {
    if (role !== 'assistant') continue;
    const last = parts.findLastIndex(({ block, out }) => !out && !isThinking(block));
    for (const part of parts.slice(last + 1).reverse())
      if (!part.out) draft.takeOut(part, 'thinking-leads', 'dropped_thinking');
  }
};

/**
 * `thinking-sealed` in a log: an answer in which thinking stands behind a change loses all of it. Other answers keep
 * theirs, since the model wrote those after what the log shows.
 */
export const dropUnsettledThinking: Fix = (draft) => {
  for (const turn of draft.turns) {
    const last = turn.parts.findLastIndex(({ block, out }) => !out && isThinking(block));
    if (!turn.parts.slice(0, Math.max(0, last)).some(({ changed }) => changed)) continue;
    for (const part of liveParts(turn))
      if (isThinking(part.block)) draft.takeOut(part, 'thinking-sealed', 'dropped_thinking');
  }
};

function dropBehindChanges(draft: Draft): void {
  let changed = draft.topChanged;
  for (const { parts, suspect } of draft.turns) {
    changed ||= suspect;
    for (const part of parts) {
      if (changed && !part.out && isThinking(part.block)) draft.takeOut(part, 'thinking-sealed', 'dropped_thinking');
      changed ||= part.changed;
    }
  }
}

/**
 * Which rule thinking violates that the model did not seal, or that lacks a part: an aborted stream leaves such blocks.
 */
export function thinkingFault({
  data,
  signature,
  thinking,
  type,
}: Block): 'known-shape' | 'thinking-sealed' | undefined {
  const parts = type === 'thinking' ? [thinking, signature] : [data];
  if (!parts.every((part) => typeof part === 'string')) return 'known-shape';
  const isSealed = type === 'thinking' ? /^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(String(signature)) : data !== '';
  return isSealed ? undefined : 'thinking-sealed';
}
