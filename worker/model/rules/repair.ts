import { isFields } from '../../../shared/base/fields.ts';
import type { Block } from '../block.ts';
import { fixBlocks, fixUnicode } from './blocks.ts';
import { fixBreakpoints } from './breakpoints.ts';
import { Draft } from './draft.ts';
import { dropEmpty, fixEmpty, fixEnds, fixNeighbours } from './frame.ts';
import { fixMedia, putLastWordsLast } from './media.ts';
import { fixPairs } from './pairs.ts';
import type { RequestFacts, RuleName, WireRequest } from './rules.ts';
import { fixServed } from './served.ts';
import { fixSize } from './size.ts';
import { dropLastThinking, fixThinking } from './thinking.ts';
import { fixTop } from './top.ts';
import { messageOf } from './turn.ts';
import { findViolations, type Violation } from './validate.ts';

/** What was done to heal one violation. */
export interface Repair {
  /** The rule that made it necessary. */
  rule: RuleName;
  /** Where it was done, in the terms of the request as it came. What was added is named by its neighbour. */
  path: string;
  /**
   * `closed_pair`: a call got a result that says that it was interrupted, or its own result was moved to where it must
   * stand. `placeholder`: words of ours stand for something that is not there. `well_formed`: the same thing in a form
   * that the API takes (characters, names, ids, inputs, keys, roles). `lowered_output`: `max_tokens` was brought into
   * its range. `shortened`: head and tail of a text were kept. The others say what was left out.
   */
  what:
    | 'closed_pair'
    | 'dropped_result'
    | 'dropped_call'
    | 'dropped_thinking'
    | 'dropped_block'
    | 'placeholder'
    | 'merged_roles'
    | 'well_formed'
    | 'dropped_breakpoint'
    | 'lowered_output'
    | 'shortened'
    | 'dropped_message';
}

/**
 * What comes first makes room for what comes after it: blocks before messages, messages before pairs, pairs before
 * thinking. Messages are filled before thinking is judged, since to fill one is a change, and again after it.
 */
const BLOCKS = [fixUnicode, fixTop, fixBlocks, fixMedia];
const MESSAGES = [fixNeighbours, fixServed, fixThinking, fixEnds, fixServed, fixPairs, fixEnds, fixEmpty];
const WHOLE = [fixSize, fixThinking, fixEmpty, putLastWordsLast, fixBreakpoints];

/** What a log may hold by right: it was cut anywhere, and its parts were masked and scrubbed. */
const FOR_LOG = [
  fixUnicode,
  fixBlocks,
  dropEmpty,
  fixNeighbours,
  fixServed,
  fixPairs,
  dropLastThinking,
  dropEmpty,
  fixNeighbours,
];

/**
 * The request with the smallest change that heals each of its violations, and what was changed. A sound request comes
 * back as the same object; what is repaired shares all that did not change, and the one given is never altered.
 *
 * Guaranteed: what comes back has no violation beyond those in `left`, and nothing is left but what has no remedy (no
 * model named, a system prompt of 30 MB). A second repair changes nothing. The last text of the user's last message is
 * the same, byte for byte, unless `repairs` names its path. Thinking that came after one of these changes is gone where
 * the model binds it; a request that asks for thinking may then be refused, and is best sent without asking. Pure,
 * total, deterministic.
 */
export function repairRequest<R extends WireRequest>(
  request: R,
  facts: RequestFacts,
): { request: R; repairs: Repair[]; left: Violation[] } {
  if (!isFields(request)) return { request, repairs: [], left: findViolations(request, facts) };
  const draft = new Draft(request);
  for (const fix of [...BLOCKS, ...MESSAGES, ...WHOLE]) fix(draft, facts);
  const repairs = draft.notes.flatMap(({ rule, path, what }) => (what ? [{ rule, path, what }] : []));
  const repaired = repairs.length === 0 ? request : (draft.written() as unknown as R);
  return { request: repaired, repairs, left: draft.notes.length === 0 ? [] : findViolations(repaired, facts) };
}

/** A message of a log, as it is shown. */
export interface LogMessage {
  readonly role: string;
  readonly content: readonly Block[];
}

/**
 * The messages of a log as a request may hold them: blocks that the API takes, turns that alternate and say something,
 * whole pairs. Where they begin and end is the caller's business, and so are media, which may be references here. What
 * is sound stays the same object, and messages that are added at the end change none but the last. `onKept` is told
 * which block each block was before; words of ours come from none. Pure, total, deterministic.
 */
export function repairLog(
  messages: readonly LogMessage[],
  onKept?: (block: Block, came: Block) => void,
): RepairedMessage[] {
  const draft = new Draft({ messages }, { isLog: true });
  for (const fix of FOR_LOG) fix(draft, { bindsThinking: false });
  if (onKept !== undefined)
    for (const { block, came } of draft.liveParts()) if (came?.type === block.type) onKept(block, came);
  return draft.turns.map((turn) => messageOf(turn) as RepairedMessage);
}

/** A message of a log, in a form that a request may hold. */
export interface RepairedMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}
