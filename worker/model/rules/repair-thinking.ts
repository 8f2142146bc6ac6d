/** Mends rules 15 and 16: thinking goes back as it was, after what it was written after, or not at all. */
import { isThinking } from './contract-shapes.ts';
import { type Draft, type DraftTurn, liveParts, type Mend } from './repair-draft.ts';

/**
 * Drops thinking that ends a message and, where the model binds it, thinking that something was changed before. The
 * latest answer keeps all of its thinking or none.
 */
export const mendThinking: Mend = (draft, { bindsThinking }) => {
  const answers = draft.turns.filter(({ role }) => role === 'assistant');
  for (const turn of answers) dropAtEnd(draft, turn);
  if (bindsThinking) dropBehindChanges(draft);
  const latest = answers.at(-1);
  if (!latest?.parts.some(({ block, out }) => out && isThinking(block))) return;
  for (const part of liveParts(latest)) if (isThinking(part.block)) draft.takeOut(part, 15, 'dropped_thinking');
};

function dropAtEnd(draft: Draft, turn: DraftTurn): void {
  for (const part of liveParts(turn).reverse()) {
    if (!isThinking(part.block)) return;
    draft.takeOut(part, 15, 'dropped_thinking');
  }
}

function dropBehindChanges(draft: Draft): void {
  let changed = draft.topChanged;
  for (const { parts, suspect } of draft.turns) {
    changed ||= suspect;
    for (const part of parts) {
      if (changed && !part.out && isThinking(part.block)) draft.takeOut(part, 16, 'dropped_thinking');
      changed ||= part.changed;
    }
  }
}
