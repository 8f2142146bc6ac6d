/** The frame of a request: that there are messages, whose they are, and that each of them says something. */
import { isServerSide, textBlock } from '../block.ts';
import { type Draft, type Fix, NOTHING_LEFT } from './draft.ts';
import type { RuleName } from './rules.ts';
import { type DraftTurn, isEmpty, liveParts, ourTurn, partOf } from './turn.ts';

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
export function dropOldest(draft: Draft, count: number, rule: RuleName): void {
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
