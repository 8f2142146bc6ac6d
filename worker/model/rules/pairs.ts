/** Every call with its own result, in the next message, before anything else. Server tools answer themselves. */
import { addedPart, type Draft, type DraftTurn, type Fix, liveParts, type Part } from './draft.ts';
import { Renaming } from './renaming.ts';
import { isName, isServerResult } from './shapes.ts';

const INTERRUPTED = 'No result: the call was interrupted.';

/** A call that waits for its result: the id that it has now, and where it stood. */
interface OpenCall {
  id: string;
  path: string;
}

/**
 * `tool-pairs`, `result-has-call`, `one-result`, `call-id-unique`, `results-first`, and `name-legal` for ids. Expects
 * roles to alternate. What a call is named does not depend on later messages, so that a prefix stays one.
 */
export const fixPairs: Fix = (draft) => {
  const ids = new Renaming([]);
  const used = new Set<unknown>();
  let open: ReadonlyMap<unknown, OpenCall> = new Map();
  let caller: DraftTurn | undefined;
  for (const turn of draft.turns) {
    if (turn.role === 'user') {
      fixResults(draft, turn, open, caller);
      open = new Map();
    } else {
      open = fixCalls(draft, turn, used, ids);
      caller = turn;
    }
  }
  if (open.size === 0 || caller === undefined) return;
  const answer: DraftTurn = { role: 'user', parts: [], path: caller.path, suspect: true };
  draft.turns.push(answer);
  fixResults(draft, answer, open, caller);
};

/** Within one message a second call of the same id is a copy; in another one it is a call of its own. */
function fixCalls(draft: Draft, turn: DraftTurn, used: Set<unknown>, ids: Renaming): Map<unknown, OpenCall> {
  dropServerCopies(draft, turn, used);
  const calls = liveParts(turn).filter(({ block }) => block.type === 'tool_use');
  for (const { block } of liveParts(turn)) ids.take(block.id);
  const open = new Map<unknown, OpenCall>();
  for (const part of calls) {
    const { block } = part;
    if (open.has(block.id)) {
      draft.takeOut(part, 'call-id-unique', 'dropped_call');
      continue;
    }
    const isSound = isName(block.id) && !used.has(block.id);
    const id = isSound ? String(block.id) : ids.another(block.id);
    if (!isSound) draft.rewrite(part, { ...block, id }, ruleOf(block.id), 'well_formed');
    open.set(block.id, { id, path: part.path });
    used.add(id);
  }
  return open;
}

/** Why an id was changed. */
function ruleOf(id: unknown): 'call-id-unique' | 'name-legal' {
  return isName(id) ? 'call-id-unique' : 'name-legal';
}

/** A server's call cannot be renamed, since its result is the server's; so a second one goes, with what answers it. */
function dropServerCopies(draft: Draft, turn: DraftTurn, used: Set<unknown>): void {
  const waiting = new Set<unknown>();
  const copied = new Set<unknown>();
  for (const part of liveParts(turn)) {
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

function fixResults(
  draft: Draft,
  turn: DraftTurn,
  open: ReadonlyMap<unknown, OpenCall>,
  caller: DraftTurn | undefined,
): void {
  const first: Part[] = [];
  const rest: Part[] = [];
  const answered = new Set<unknown>();
  for (const part of turn.parts) {
    if (part.out || part.block.type !== 'tool_result') {
      rest.push(part);
      continue;
    }
    const raw = part.block.tool_use_id;
    const call = open.get(raw);
    if (call === undefined) {
      draft.takeOut(part, isName(raw) ? 'result-has-call' : 'name-legal', 'dropped_result');
      // Its call may have been cut out of the answer before, so the thinking in there may have lost its place.
      if (caller !== undefined) caller.suspect = true;
    } else if (answered.has(raw)) draft.takeOut(part, 'one-result', 'dropped_result');
    else {
      answered.add(raw);
      if (call.id !== raw) draft.rewrite(part, { ...part.block, tool_use_id: call.id }, ruleOf(raw), 'well_formed');
      if (rest.some(({ out }) => !out)) {
        part.changed = true;
        draft.note('results-first', part.path, 'closed_pair');
      }
    }
    if (part.out) rest.push(part);
    else first.push(part);
  }
  for (const [raw, { id, path }] of open) {
    if (answered.has(raw)) continue;
    first.push(addedPart({ type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true }, path));
    draft.note('tool-pairs', path, 'closed_pair');
  }
  turn.parts = [...first, ...rest];
}
