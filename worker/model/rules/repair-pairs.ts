/** Mends rules 7 to 11 (and 13 for ids): every call with its own result, in the next message, before anything else. */
import { isName, isServerResult } from './contract-shapes.ts';
import { Renaming } from './renaming.ts';
import { addedPart, type Draft, type DraftTurn, liveParts, type Mend, type Part } from './repair-draft.ts';

const INTERRUPTED = 'No result: the call was interrupted.';

/** A call that waits for its result: the id that it has now, and where it stood. */
interface OpenCall {
  id: string;
  path: string;
}

/** Expects roles to alternate, and the last turn to be the user's where a call is open. */
export const mendPairs: Mend = (draft) => {
  const used = new Set<unknown>();
  const ids = new Renaming(draft.turns.flatMap(liveParts).flatMap(({ block }) => (isCall(block) ? [block.id] : [])));
  let open: ReadonlyMap<unknown, OpenCall> = new Map();
  let caller: DraftTurn | undefined;
  for (const turn of draft.turns) {
    if (turn.role === 'user') {
      mendResults(draft, turn, open, caller);
      open = new Map();
    } else {
      open = mendCalls(draft, turn, used, ids);
      caller = turn;
    }
  }
};

function isCall({ type }: { type: string }): boolean {
  return type === 'tool_use' || type === 'server_tool_use';
}

/** Rules 10 and 13. Within one message a second call of the same id is a copy; in another one it is a call of its own. */
function mendCalls(draft: Draft, turn: DraftTurn, used: Set<unknown>, ids: Renaming): Map<unknown, OpenCall> {
  mendServerCalls(draft, turn, used);
  const open = new Map<unknown, OpenCall>();
  for (const part of liveParts(turn)) {
    const { block } = part;
    if (block.type !== 'tool_use') continue;
    if (open.has(block.id)) {
      draft.takeOut(part, 10, 'dropped_call');
      continue;
    }
    const isSound = isName(block.id) && !used.has(block.id);
    const id = isSound ? String(block.id) : ids.another(block.id);
    if (!isSound) draft.rewrite(part, { ...block, id }, isName(block.id) ? 10 : 13, 'well_formed');
    open.set(block.id, { id, path: part.path });
    used.add(id);
  }
  return open;
}

/** A server's call cannot be renamed, since its result is the server's; so a second one goes, with what answers it. */
function mendServerCalls(draft: Draft, turn: DraftTurn, used: Set<unknown>): void {
  const waiting = new Set<unknown>();
  const copied = new Set<unknown>();
  for (const part of liveParts(turn)) {
    const { id, tool_use_id, type } = part.block;
    if (type === 'server_tool_use' && used.has(id)) {
      copied.add(id);
      draft.takeOut(part, 10, 'dropped_call');
    } else if (type === 'server_tool_use') {
      used.add(id);
      waiting.add(id);
    } else if (isServerResult(part.block) && !waiting.delete(tool_use_id) && copied.has(tool_use_id))
      draft.takeOut(part, 10, 'dropped_result');
  }
}

function mendResults(
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
      draft.takeOut(part, 8, 'dropped_result');
      // Its call may have been cut out of the answer before, so the thinking in there may have lost its place.
      if (caller !== undefined) caller.suspect = true;
    } else if (answered.has(raw)) draft.takeOut(part, 9, 'dropped_result');
    else {
      answered.add(raw);
      if (call.id !== raw)
        draft.rewrite(part, { ...part.block, tool_use_id: call.id }, isName(raw) ? 10 : 13, 'well_formed');
      if (rest.some(({ out }) => !out)) {
        part.changed = true;
        draft.note(11, part.path, 'closed_pair');
      }
    }
    if (part.out) rest.push(part);
    else first.push(part);
  }
  for (const [raw, { id, path }] of open) {
    if (answered.has(raw)) continue;
    first.push(addedPart({ type: 'tool_result', tool_use_id: id, content: INTERRUPTED, is_error: true }, path));
    draft.note(7, path, 'closed_pair');
  }
  turn.parts = [...first, ...rest];
}
