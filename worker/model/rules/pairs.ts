import { type Block, isServerResult, isServerSide } from '../block.ts';
import { type Draft, type DraftTurn, type Fix, liveParts, ourTurn, type Part, partOf, Renaming } from './draft.ts';
import { isName } from './shapes.ts';

/** Every call with its own result, in the next message, before anything else. Server tools answer themselves. */

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

/** The calls of an answer that have no result yet. */
interface Open {
  turn: DraftTurn | undefined;
  calls: ReadonlyMap<unknown, Part>;
}

const NOTHING: Open = { turn: undefined, calls: new Map() };

/**
 * `server-pairs`: a call of a server's tool has its result in the same answer; or in the next one, where only results of
 * our own tools stand between them; or the server goes on with it, where nothing comes after it. One that was cut off
 * goes, with what depends on it; so does a result without a call. Expects roles to alternate.
 */
export const fixServed: Fix = (draft) => {
  let open = NOTHING;
  for (const turn of draft.turns) {
    if (turn.role === 'assistant') open = answered(draft, turn, open);
    else if (open.calls.size > 0 && !handsOver(open.turn, turn)) {
      leaveOut(draft, open);
      open = NOTHING;
    }
  }
};

/** The calls that are open after an answer; those that it should have answered, and has not, go. */
function answered(draft: Draft, turn: DraftTurn, before: Open): Open {
  if (before.calls.size === 0 && !turn.parts.some(({ block }) => isServerSide(block))) return NOTHING;
  const { calls, orphans } = openIn(turn, before);
  for (const part of orphans)
    draft.takeOut(part, 'server-pairs', isServerResult(part.block) ? 'dropped_result' : 'dropped_call');
  const isOld = (id: unknown, part: Part): boolean => before.calls.get(id) === part;
  leaveOut(draft, { turn: before.turn, calls: new Map([...calls].filter(([id, part]) => isOld(id, part))) });
  return { turn, calls: new Map([...calls].filter(([id, part]) => !isOld(id, part))) };
}

function openIn(turn: DraftTurn, before: Open): { calls: Map<unknown, Part>; orphans: Part[] } {
  const calls = new Map(before.calls);
  const orphans: Part[] = [];
  for (const part of liveParts(turn)) {
    const { block } = part;
    if (block.type === 'server_tool_use') {
      const copied = calls.get(block.id);
      if (copied !== undefined) orphans.push(copied);
      calls.set(block.id, part);
    } else if (isKnownResult(block) && !calls.delete(block.tool_use_id)) orphans.push(part);
  }
  return { calls, orphans };
}

/** The result of another server's tool (MCP) belongs to a call of another kind. */
function isKnownResult(block: Block): boolean {
  return isServerResult(block) && block.type !== 'mcp_tool_result';
}

/** Whether a message of the user's side is only what our tools returned for an answer: the server goes on behind it. */
function handsOver(answer: DraftTurn | undefined, turn: DraftTurn): boolean {
  const calls = answer !== undefined && liveParts(answer).some(({ block }) => block.type === 'tool_use');
  return calls && liveParts(turn).every(({ block }) => block.type === 'tool_result');
}

/** Takes calls out, and those that were made from within them. */
function leaveOut(draft: Draft, { turn, calls }: Open): void {
  if (turn === undefined || calls.size === 0) return;
  for (const part of liveParts(turn)) {
    const { caller, id } = part.block;
    const within = (caller as { tool_id?: unknown } | null | undefined)?.tool_id;
    if (calls.get(id) === part || (within !== undefined && calls.has(within)))
      draft.takeOut(part, 'server-pairs', 'dropped_call');
  }
}
