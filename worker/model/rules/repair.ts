import { type Breach, type ContractFacts, findBreaches, type WireRequest } from './contract.ts';
import { isFields } from './contract-shapes.ts';
import { Renaming } from './renaming.ts';
import { mendBlocks, mendMedia, mendUnicode } from './repair-blocks.ts';
import { mendBreakpoints } from './repair-breakpoints.ts';
import { Draft, type Mend, messagesOf } from './repair-draft.ts';
import {
  mendEmpty,
  mendEnds,
  mendLastWords,
  mendMaxTokens,
  mendNeighbours,
  mendSystem,
  mendTools,
  readTurns,
} from './repair-frame.ts';
import { mendPairs } from './repair-pairs.ts';
import { mendSize } from './repair-size.ts';
import { mendThinking } from './repair-thinking.ts';

/** What was done to mend one breach. */
export interface Repair {
  /** The rule that made it necessary. */
  rule: number;
  /** Where it was done, in the terms of the request as it came. What was added is named by its neighbour. */
  path: string;
  /**
   * `closed_pair`: a call got a result that says that it was interrupted, or its own result was moved to where it must
   * stand. `placeholder`: words of ours stand for something that is not there. `well_formed`: the same thing in a form
   * that the API takes (characters, names, ids, inputs, keys, roles). `lowered_output`: `max_tokens` was brought into its
   * range. `shortened`: head and tail of a text were kept. The others say what was left out.
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
  /** The log entry that the path leads to. Left to the caller, who knows which record became which message. */
  entry?: string;
}

/**
 * What comes first makes room for what comes after it: blocks before messages, messages before pairs, pairs before
 * thinking. Messages are filled before thinking is judged, since to fill one is a change, and again after it.
 */
const MENDS: readonly Mend[] = [
  mendMedia,
  mendNeighbours,
  mendThinking,
  mendEnds,
  mendPairs,
  mendEnds,
  mendEmpty,
  mendSize,
  mendThinking,
  mendEmpty,
  mendLastWords,
  mendBreakpoints,
  mendMaxTokens,
];

/**
 * The request with the smallest change that mends each of its breaches, and what was changed. A sound request comes
 * back as the same object; what is mended shares all that did not change, and the one given is never altered.
 *
 * Guaranteed: what comes back has no breach beyond those in `left`, and nothing is left but what has no remedy (no
 * model named, a system prompt of 30 MB). A second repair changes nothing. The last text of the user's last message is
 * the same, byte for byte, unless `repairs` names its path. Thinking that came after one of these changes is gone where
 * the model binds it; a request that asks for thinking may then be refused, and is best sent without asking. Pure,
 * total, deterministic.
 */
export function repairRequest<R extends WireRequest>(
  request: R,
  facts: ContractFacts,
): { request: R; repairs: Repair[]; left: Breach[] } {
  const breaches = findBreaches(request, facts);
  if (breaches.length === 0 || !isFields(request)) return { request, repairs: [], left: breaches };
  const draft = new Draft(request);
  readTurns(draft);
  mendUnicode(draft, facts);
  mendSystem(draft, facts);
  const names = new Renaming(namesIn(draft));
  mendTools(draft, names);
  mendBlocks(draft, names);
  for (const mend of MENDS) mend(draft, facts);
  if (draft.repairs.length === 0) return { request, repairs: [], left: breaches };
  const mended = { ...draft.top, messages: messagesOf(draft) } as R;
  return { request: mended, repairs: draft.repairs, left: findBreaches(mended, facts) };
}

/** The names that tools and calls have now, valid or not. */
function namesIn(draft: Draft): unknown[] {
  const tools = Array.isArray(draft.top.tools) ? draft.top.tools.filter(isFields) : [];
  const calls = draft.turns.flatMap(({ parts }) =>
    parts.map(({ block }) => block).filter(({ type }) => type === 'tool_use'),
  );
  return [...tools, ...calls].map(({ name }) => name);
}
