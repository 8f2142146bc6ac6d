/** Tools that ran on the server: a call has its result behind it, or it still waits for one by right. */
import { type Block, isServerResult } from '../block.ts';
import type { Draft, Fix } from './draft.ts';
import { type DraftTurn, liveParts, type Part } from './turn.ts';

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

/** What is open after an answer; what it should have answered, and has not, goes. */
function answered(draft: Draft, turn: DraftTurn, before: Open): Open {
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
