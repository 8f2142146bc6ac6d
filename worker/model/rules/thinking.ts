/** Thinking goes back as it was, after what it was written after, or not at all. */
import type { Block } from '../block.ts';
import type { Draft, Fix } from './draft.ts';
import { isThinking } from './shapes.ts';
import { liveParts } from './turn.ts';

/**
 * `thinking-leads` and `thinking-sealed`: drops thinking that ends a message and, where the model binds it, thinking
 * that something was changed before. The latest answer keeps all of its thinking or none.
 */
export const fixThinking: Fix = (draft, facts) => {
  dropLastThinking(draft, facts);
  if (facts.bindsThinking) dropBehindChanges(draft);
  const latest = draft.turns.findLast(({ role }) => role === 'assistant');
  if (!latest?.parts.some(({ block, out }) => out && isThinking(block))) return;
  for (const part of liveParts(latest))
    if (isThinking(part.block)) draft.takeOut(part, 'thinking-leads', 'dropped_thinking');
};

/** `thinking-leads` alone: what it does to a message does not depend on the messages behind it. */
export const dropLastThinking: Fix = (draft) => {
  for (const { parts, role } of draft.turns) {
    if (role !== 'assistant') continue;
    const last = parts.findLastIndex(({ block, out }) => !out && !isThinking(block));
    for (const part of parts.slice(last + 1).reverse())
      if (!part.out) draft.takeOut(part, 'thinking-leads', 'dropped_thinking');
  }
};

function dropBehindChanges(draft: Draft): void {
  let changed = draft.topChanged;
  for (const { parts, suspect } of draft.turns) {
    changed ||= suspect;
    for (const part of parts) {
      if (changed && !part.out && isThinking(part.block)) draft.takeOut(part, 'thinking-sealed', 'dropped_thinking');
      changed ||= part.changed;
    }
  }
}

/**
 * Which rule thinking violates that the model did not seal, or that lacks a part: an aborted stream leaves such blocks.
 */
export function thinkingFault({
  data,
  signature,
  thinking,
  type,
}: Block): 'known-shape' | 'thinking-sealed' | undefined {
  const parts = type === 'thinking' ? [thinking, signature] : [data];
  if (!parts.every((part) => typeof part === 'string')) return 'known-shape';
  const isSealed = type === 'thinking' ? /^[A-Za-z0-9+/_-]{16,}={0,2}$/.test(String(signature)) : data !== '';
  return isSealed ? undefined : 'thinking-sealed';
}
