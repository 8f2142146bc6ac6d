import { isFields } from '../../../shared/base/fields.ts';
import type { Block } from '../block.ts';
import { fixBlocks, fixTop, fixUnicode } from './blocks.ts';
import { Draft, messageOf } from './draft.ts';
import {
  dropEmpty,
  dropLastThinking,
  dropUnsettledThinking,
  fixBreakpoints,
  fixEmpty,
  fixEnds,
  fixNeighbours,
  fixThinking,
} from './frame.ts';
import { fixMedia, putLastWordsLast } from './media.ts';
import { fixPairs, fixServed } from './pairs.ts';

/** The rules of the Messages API that a request alone shows, and the repair of what violates them. */

/** A request as it goes over the wire. It may hold anything: that is what is checked here. */
export interface WireRequest {
  model: string;
  max_tokens: number;
  system?: string | Block[];
  tools?: unknown[];
  output_config?: { effort: string };
  messages: { role: string; content: string | Block[] }[];
}

/** Facts beyond the request itself that it is judged by. */
export interface RequestFacts {
  /** The model's own limit of `max_tokens`; unchecked when it is not known. */
  maxOutputTokens?: number;
  /** Whether the model binds its thinking to everything that stood before it. */
  bindsThinking: boolean;
  /** The context window, on which the number of pictures and of pages of a PDF depends; a short one is assumed. */
  windowTokens?: number;
}

/**
 * Every rule but 18 (a history of at most 28 MB is sent, see `HISTORY_BYTES_MAX`), 19 and 20, which need a tokenizer, and
 * 29, which needs the original: its name in repairs, the audit and the docs, and its number in the contract's table and
 * the stand-in. `docs/context-management.md` says what each demands.
 */
export const RULES = {
  'messages-present': 1,
  'user-first': 2,
  'roles-alternate': 3,
  'user-last': 4,
  'message-not-empty': 5,
  'text-not-blank': 6,
  'tool-pairs': 7,
  'result-has-call': 8,
  'one-result': 9,
  'call-id-unique': 10,
  'results-first': 11,
  'block-side': 12,
  'name-legal': 13,
  'breakpoints-few': 14,
  'thinking-leads': 15,
  'thinking-sealed': 16,
  'unicode-whole': 17,
  'output-tokens': 21,
  'media-readable': 22,
  'image-size': 23,
  'pdf-pages': 24,
  'known-shape': 25,
  'error-in-words': 26,
  'server-pairs': 27,
  'citations-given': 28,
} as const;

export type RuleName = keyof typeof RULES;

/** The change that healed one violation. */
export interface Repair {
  /** The rule that made it necessary. */
  rule: RuleName;
  /** Where it was done, in the terms of the request as it came. What was added is named by its neighbour. */
  path: string;
  /**
   * `closed_pair`: a call got a result that says that it was interrupted, or its own result was moved to where it must
   * stand. `placeholder`: words of ours stand for something that is not there. `well_formed`: the same thing in a form
   * that the API takes (characters, names, ids, inputs, keys, roles). `lowered_output`: `max_tokens` was brought into
   * its range. The others say what was left out.
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
    | 'dropped_message';
}

/**
 * Each makes room for those after it: blocks before messages, messages before pairs, pairs before
 * thinking. Messages are filled before thinking is judged, since to fill one is a change, and again after it.
 */
const BLOCKS = [fixUnicode, fixTop, fixBlocks, fixMedia];
const MESSAGES = [fixNeighbours, fixServed, fixThinking, fixEnds, fixServed, fixPairs, fixEnds, fixEmpty];
const WHOLE = [fixThinking, fixEmpty, putLastWordsLast, fixBreakpoints];

/** For a log, which may have been cut anywhere, and whose parts may have been masked and scrubbed. */
const FOR_LOG = [
  fixUnicode,
  fixBlocks,
  dropEmpty,
  fixNeighbours,
  fixServed,
  fixPairs,
  dropUnsettledThinking,
  dropLastThinking,
  dropEmpty,
  fixNeighbours,
];

/**
 * The request with the smallest change that heals each of its violations, and what was changed. A sound request comes
 * back as the same object; what is repaired shares all that did not change, and the one given is never altered.
 *
 * Guaranteed: what comes back has no violation but what has no remedy (no model named). A second repair changes nothing. The last text of the user's last message is
 * the same, byte for byte, unless `repairs` names its path. Thinking that came after one of these changes is gone where
 * the model binds it; a request that asks for thinking may then be refused, and is best sent without asking. Pure,
 * total, deterministic.
 */
export function repairRequest<R extends WireRequest>(
  request: R,
  facts: RequestFacts,
): { request: R; repairs: Repair[] } {
  if (!isFields(request)) return { request, repairs: [] };
  const draft = new Draft(request);
  for (const fix of [...BLOCKS, ...MESSAGES, ...WHOLE]) fix(draft, facts);
  const repairs = draft.notes;
  return { request: repairs.length === 0 ? request : (draft.written() as unknown as R), repairs };
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
