import { isFields } from '../../../shared/base/fields.ts';
import type { Block } from '../block.ts';
import { fixBlocks, fixTop, fixUnicode } from './blocks.ts';
import { Draft, type Fix, messageOf, type Note } from './draft.ts';
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

/** The rules of the Messages API that a request alone shows: each with its name, and the fix that also finds it. */

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

export interface Rule {
  /** The number that the rule has in the contract's table, and in the stand-in. */
  readonly number: number;
  /** The condition that a request must satisfy. */
  readonly demands: string;
  /** Finds what violates the rule, notes it, and heals it; rules that are seen together share one. */
  readonly fix: Fix;
}

/**
 * Every rule but 18 (a history of at most 28 MB is sent, see `HISTORY_BYTES_MAX`), 19 and 20, which need a tokenizer, and
 * 29, which needs the original. The key is the rule's name in repairs, the audit and the docs.
 */
export const RULES = {
  'messages-present': { number: 1, fix: fixEnds, demands: 'there are messages, 100,000 at most' },
  'user-first': { number: 2, fix: fixEnds, demands: 'roles are user and assistant, and the user begins' },
  'roles-alternate': { number: 3, fix: fixNeighbours, demands: 'no two messages of one role in a row' },
  'user-last': { number: 4, fix: fixEnds, demands: 'the user has the last word, unless a server tool paused' },
  'message-not-empty': { number: 5, fix: fixEmpty, demands: 'each message has content' },
  'text-not-blank': { number: 6, fix: fixBlocks, demands: 'no text is empty or only white space' },
  'tool-pairs': { number: 7, fix: fixPairs, demands: 'each call has its result in the next message' },
  'result-has-call': { number: 8, fix: fixPairs, demands: 'each result answers a call of the message before' },
  'one-result': { number: 9, fix: fixPairs, demands: 'each call has one result' },
  'call-id-unique': { number: 10, fix: fixPairs, demands: 'no two calls have one id' },
  'results-first': { number: 11, fix: fixPairs, demands: 'results stand before anything else in their message' },
  'block-side': { number: 12, fix: fixBlocks, demands: 'calls and thinking are the model’s, results the user’s' },
  'name-legal': { number: 13, fix: fixBlocks, demands: 'legal names and ids, tools of two names, inputs are objects' },
  'breakpoints-few': { number: 14, fix: fixBreakpoints, demands: 'four cache breakpoints at most, no blank one' },
  'thinking-leads': { number: 15, fix: fixThinking, demands: 'thinking never ends a message' },
  'thinking-sealed': { number: 16, fix: fixBlocks, demands: 'thinking is sealed, and stands where it was written' },
  'unicode-whole': { number: 17, fix: fixUnicode, demands: 'a JSON text without half a surrogate pair' },
  'output-tokens': { number: 21, fix: fixTop, demands: 'max_tokens is whole, and in the model’s range' },
  'media-readable': { number: 22, fix: fixMedia, demands: 'a picture is what it says, of a known kind, 5 MB at most' },
  'image-size': {
    number: 23,
    fix: fixMedia,
    demands: '8000 px a side, 2000 px among over 20 images, 100 images (600 in a long window)',
  },
  'pdf-pages': { number: 24, fix: fixMedia, demands: 'a PDF of 100 pages at most (600 in a long window), not locked' },
  'known-shape': { number: 25, fix: fixBlocks, demands: 'the keys and types that the API knows, and no others' },
  'error-in-words': { number: 26, fix: fixBlocks, demands: 'the result of a call that failed is text alone' },
  'server-pairs': {
    number: 27,
    fix: fixServed,
    demands: 'a server’s call has its result, unless it still waits for it',
  },
  'citations-given': { number: 28, fix: fixBlocks, demands: 'citations have the keys that the API takes' },
} as const satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;

/** One place where a request violates a rule. It holds nothing of what people or models wrote. */
export interface Violation {
  rule: RuleName;
  /** Where, such as `messages.3.content.1`; empty for the request as a whole. */
  path: string;
  problem: string;
}

const FIXES = new Set(Object.values(RULES).map(({ fix }) => fix));

/**
 * Every violation that a request alone shows. Empty means that the API takes the request. Each fix of the table looks
 * at the request as it came, so that none hides what another one would find. Thinking is judged by its seal and its
 * place: whether something before it was edited cannot be seen here, and `repairRequest` answers for its own edits.
 * Pure, total, and linear in the request's size.
 */
export function findViolations(request: WireRequest, facts: RequestFacts): Violation[] {
  if (!isFields(request)) return [violation({ rule: 'unicode-whole', path: '' })];
  let draft = new Draft(request);
  const found = [...draft.notes];
  const read = found.length;
  for (const fix of FIXES) {
    fix(draft, facts);
    if (draft.notes.length === read) continue;
    found.push(...draft.notes.slice(read));
    draft = new Draft(request);
  }
  return found.map(violation);
}

function violation({ rule, path, problem = `not so: ${RULES[rule].demands}` }: Note): Violation {
  return { rule, path, problem };
}

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
 * Guaranteed: what comes back has no violation beyond those in `left`, and nothing is left but what has no remedy (no
 * model named). A second repair changes nothing. The last text of the user's last message is
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
