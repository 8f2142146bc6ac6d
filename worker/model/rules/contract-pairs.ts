/** Rules 7 to 11: a tool call and its result belong together. Server tools answer themselves. */
import type { Report } from './contract.ts';
import { pathOf, type Turn } from './contract-turn.ts';

const NO_CALLS: ReadonlyMap<unknown, string> = new Map();
const WITHOUT = 'a call without a result in the next message';

/** Judges every call and every result of the messages. */
export function checkPairs(turns: readonly Turn[], report: Report): void {
  const used = new Set<unknown>();
  let open = NO_CALLS;
  for (const turn of turns) {
    checkUnique(turn, used, report);
    checkResults(turn, open, report);
    open = callsOf(turn);
  }
  for (const path of open.values()) report(7, path, WITHOUT);
}

/** The calls of an assistant's message: where each id stands. */
function callsOf(turn: Turn): ReadonlyMap<unknown, string> {
  const isCaller = turn.role === 'assistant' && turn.blocks.some((block) => block?.type === 'tool_use');
  if (!isCaller) return NO_CALLS;
  const calls = turn.blocks.map((block, at) => ({ block, path: pathOf(turn, at) }));
  return new Map(calls.flatMap(({ block, path }) => (block?.type === 'tool_use' ? [[block.id, path]] : [])));
}

function checkUnique(turn: Turn, used: Set<unknown>, report: Report): void {
  for (const [at, block] of turn.blocks.entries()) {
    if (block?.type !== 'tool_use' && block?.type !== 'server_tool_use') continue;
    if (used.has(block.id)) report(10, pathOf(turn, at), 'the id of a call is used twice');
    used.add(block.id);
  }
}

function checkResults(turn: Turn, open: ReadonlyMap<unknown, string>, report: Report): void {
  const firstOther = turn.blocks.findIndex((block) => block?.type !== 'tool_result');
  if (open.size === 0 && firstOther === 0 && turn.blocks.length === 1) return;
  const answered = new Set<unknown>();
  for (const [at, block] of turn.blocks.entries()) {
    if (block?.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (!open.has(id)) report(8, pathOf(turn, at), 'a result without a call in the message before');
    else if (answered.has(id)) report(9, pathOf(turn, at), 'a second result for one call');
    else if (firstOther >= 0 && at > firstOther)
      report(11, pathOf(turn, at), 'a result behind another block of its message');
    answered.add(id);
  }
  for (const [id, path] of open) if (!answered.has(id)) report(7, path, WITHOUT);
}
