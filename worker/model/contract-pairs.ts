/** Rules 7 to 11: a tool call and its result belong together. Server tools answer themselves. */
import type { Report, Turn } from './contract.ts';

/** Judges every call and every result of the messages. */
export function checkPairs(turns: readonly Turn[], report: Report): void {
  const used = new Set<unknown>();
  let open: ReadonlyMap<unknown, string> = new Map();
  for (const turn of turns) {
    checkUnique(turn, used, report);
    checkResults(turn, open, report);
    open = callsOf(turn);
  }
  for (const path of open.values()) report(7, path, 'a call without a result in the next message');
}

/** The calls of an assistant's message: where each id stands. */
function callsOf({ role, blocks, pathOf }: Turn): Map<unknown, string> {
  const calls = new Map<unknown, string>();
  if (role !== 'assistant') return calls;
  for (const [at, block] of blocks.entries()) if (block?.type === 'tool_use') calls.set(block.id, pathOf(at));
  return calls;
}

function checkUnique({ blocks, pathOf }: Turn, used: Set<unknown>, report: Report): void {
  for (const [at, block] of blocks.entries()) {
    if (block?.type !== 'tool_use' && block?.type !== 'server_tool_use') continue;
    if (used.has(block.id)) report(10, pathOf(at), 'the id of a call is used twice');
    used.add(block.id);
  }
}

function checkResults({ blocks, pathOf }: Turn, open: ReadonlyMap<unknown, string>, report: Report): void {
  const answered = new Set<unknown>();
  let isBehind = false;
  for (const [at, block] of blocks.entries()) {
    if (block?.type !== 'tool_result') {
      isBehind = true;
      continue;
    }
    const id = block.tool_use_id;
    if (!open.has(id)) report(8, pathOf(at), 'a result without a call in the message before');
    else if (answered.has(id)) report(9, pathOf(at), 'a second result for one call');
    else if (isBehind) report(11, pathOf(at), 'a result behind another block of its message');
    answered.add(id);
  }
  for (const [id, path] of open) if (!answered.has(id)) report(7, path, 'a call without a result in the next message');
}
