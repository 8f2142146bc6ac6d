/** Every call with its own result, in the next message, before anything else. Server tools answer themselves. */
import { isServerResult, isServerSide } from '../block.ts';
import type { Draft, Fix } from './draft.ts';
import { Renaming } from './renaming.ts';
import { isName } from './shapes.ts';
import { type DraftTurn, liveParts, ourTurn, type Part, partOf } from './turn.ts';

const INTERRUPTED = 'No result: the call was interrupted.';

/** The calls of an answer that wait for their results, by the ids that they came with. */
interface Asked {
  caller: DraftTurn | undefined;
  /** Where each call stood, and the id that it has now. */
  calls: ReadonlyMap<unknown, { id: string; path: string }>;
}

const NOTHING_ASKED: Asked = { caller: undefined, calls: new Map() };

/**
 * `tool-pairs`, `result-has-call`, `one-result`, `call-id-unique`, `results-first`, and `name-legal` for ids. Expects
 * roles to alternate. What a call is named does not depend on later messages, so that a prefix stays one.
 */
export const fixPairs: Fix = (draft) => {
  const ids = new Renaming();
  const used = new Set<unknown>();
  let asked = NOTHING_ASKED;
  for (const turn of draft.turns) {
    if (turn.role === 'user') {
      fixResults(draft, turn, asked);
      asked = NOTHING_ASKED;
    } else {
      dropServerCopies(draft, turn, used);
      asked = { caller: turn, calls: fixCalls(draft, turn, used, ids) };
    }
  }
  if (asked.caller === undefined || asked.calls.size === 0) return;
  const answer = ourTurn(asked.caller.path);
  draft.turns.push(answer);
  fixResults(draft, answer, asked);
};

/** A server's call cannot be renamed, since its result is the server's; so a second one goes, with what answers it. */
function dropServerCopies(draft: Draft, turn: DraftTurn, used: Set<unknown>): void {
  const served = liveParts(turn).filter(({ block }) => isServerSide(block));
  if (served.length === 0) return;
  const waiting = new Set<unknown>();
  const copied = new Set<unknown>();
  for (const part of served) {
    const { id, tool_use_id, type } = part.block;
    if (type === 'server_tool_use' && used.has(id)) {
      copied.add(id);
      draft.takeOut(part, 'call-id-unique', 'dropped_call');
    } else if (type === 'server_tool_use') {
      used.add(id);
      waiting.add(id);
    } else if (isServerResult(part.block) && !waiting.delete(tool_use_id) && copied.has(tool_use_id))
      draft.takeOut(part, 'call-id-unique', 'dropped_result');
  }
}

/** Within one message a second call of the same id is a copy; in another one it is a call of its own. */
function fixCalls(draft: Draft, turn: DraftTurn, used: Set<unknown>, ids: Renaming): Asked['calls'] {
  for (const { block } of liveParts(turn)) ids.take(block.id);
  const parts = liveParts(turn).filter(({ block }) => block.type === 'tool_use');
  if (parts.length === 0) return NOTHING_ASKED.calls;
  const calls = new Map<unknown, { id: string; path: string }>();
  for (const part of parts) {
    const came = part.block.id;
    if (calls.has(came)) {
      draft.takeOut(part, 'call-id-unique', 'dropped_call');
      continue;
    }
    const id = isName(came) && !used.has(came) ? came : ids.another(came);
    if (id !== came) draft.rewrite(part, { ...part.block, id }, ruleOf(came), 'well_formed');
    calls.set(came, { id, path: part.path });
    used.add(id);
  }
  return calls;
}

/** Why an id was changed. */
function ruleOf(id: unknown): 'call-id-unique' | 'name-legal' {
  return isName(id) ? 'call-id-unique' : 'name-legal';
}

/** Puts the results that answer a call in front of the rest. A call without one gets one of ours. */
function fixResults(draft: Draft, turn: DraftTurn, asked: Asked): void {
  if (asked.calls.size === 0 && !turn.parts.some(isResult)) return;
  const waiting = new Map(asked.calls);
  const results: Part[] = [];
  const rest: Part[] = [];
  let isBehind = false;
  for (const part of turn.parts) {
    if (isResult(part) && isAnswer(draft, part, asked, waiting)) {
      results.push(part);
      if (!isBehind) continue;
      part.changed = true;
      draft.note('results-first', part.path, 'closed_pair');
    } else {
      rest.push(part);
      isBehind ||= !part.out;
    }
  }
  for (const { id, path } of waiting.values()) {
    results.push(partOf({ type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true }, path));
    draft.note('tool-pairs', path, 'closed_pair');
  }
  turn.parts = [...results, ...rest];
}

function isResult({ block, out }: Part): boolean {
  return !out && block.type === 'tool_result';
}

/** Whether a result is the one that its call waits for; else it is taken out. */
function isAnswer(draft: Draft, part: Part, { caller, calls }: Asked, waiting: Map<unknown, unknown>): boolean {
  const came = part.block.tool_use_id;
  const call = calls.get(came);
  if (call === undefined) {
    draft.takeOut(part, isName(came) ? 'result-has-call' : 'name-legal', 'dropped_result');
    // Its call may have been cut out of the answer before, so the thinking in there may have lost its place.
    if (caller !== undefined) caller.suspect = true;
  } else if (!waiting.delete(came)) draft.takeOut(part, 'one-result', 'dropped_result');
  else if (call.id !== came) draft.rewrite(part, { ...part.block, tool_use_id: call.id }, ruleOf(came), 'well_formed');
  return !part.out;
}
