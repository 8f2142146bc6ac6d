import type { Block } from '../model/block.ts';

/** A message under construction: content is always a list of blocks. */
export interface DraftMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

const INTERRUPTED = 'No result: the call was interrupted.';

/**
 * Makes every tool call and its result a pair, as the API demands: a call without a result gets one that says so, a
 * result without a call (or a second one for the same call) is left out, and results come first in their message.
 * Thinking that nothing follows is left out too: it may not end a message. Pure. Expects roles to alternate.
 */
export function pairTools(messages: readonly DraftMessage[]): DraftMessage[] {
  const seen = new Set<string>();
  const paired: DraftMessage[] = [];
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'user') {
      paired.push({ role: 'user', content: withResults(message.content, open) });
      open = [];
    } else {
      if (open.length > 0) paired.push({ role: 'user', content: withResults([], open) });
      const content = withoutLastThinking(message.content.filter((block) => isFreshCall(block, seen)));
      open = content.flatMap((block) => (block.type === 'tool_use' ? (callId(block) ?? []) : []));
      paired.push({ role: 'assistant', content });
    }
  }
  if (open.length > 0) paired.push({ role: 'user', content: withResults([], open) });
  return paired.filter(({ content }) => content.length > 0);
}

function withResults(content: readonly Block[], open: readonly string[]): Block[] {
  const results = open.map(
    (id) =>
      content.find((block) => block.type === 'tool_result' && block.tool_use_id === id) ?? {
        type: 'tool_result',
        tool_use_id: id,
        content: INTERRUPTED,
        is_error: true,
      },
  );
  return [...results, ...content.filter((block) => block.type !== 'tool_result')];
}

function callId(block: Block): string | undefined {
  const isCall = block.type === 'tool_use' || block.type === 'server_tool_use';
  return isCall && typeof block.id === 'string' ? block.id : undefined;
}

/** Ids are unique in a request; a second call with the same id could not be answered. Remembers the id. */
function isFreshCall(block: Block, seen: Set<string>): boolean {
  const id = callId(block);
  if (id === undefined) return true;
  const isFresh = !seen.has(id);
  seen.add(id);
  return isFresh;
}

function withoutLastThinking(content: readonly Block[]): Block[] {
  const last = content.findLastIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
  return content.slice(0, last + 1);
}
