import { graphemePrefix } from '../../shared/text.ts';

/** Telegram's limit for a text message, in UTF-16 units. */
export const PART_CHARS_MAX = 4_096;

const FENCE = /^(```|~~~).*$/gm;
/** Room for closing and reopening a code fence that a cut goes through. */
const FENCE_ROOM = 48;

/**
 * Splits a text into parts that Telegram takes, in order and without losing a character but white space at the cuts.
 * Cuts at a paragraph, else a line, else a space, else a grapheme; a code block that a cut goes through is closed and
 * opened again. A part is never blank. Pure.
 */
export function splitReply(text: string, maxChars = PART_CHARS_MAX): string[] {
  const parts: string[] = [];
  let rest = text.toWellFormed().trim();
  while (rest.length > maxChars) {
    const head = graphemePrefix(rest, cutAt(rest, maxChars - FENCE_ROOM));
    const fence = openFence(head);
    parts.push(fence ? `${head.trimEnd()}\n${fence.slice(0, 3)}` : head.trimEnd());
    const tail = rest.slice(head.length);
    rest = fence ? `${fence.slice(0, FENCE_ROOM / 2)}\n${tail.replace(/^\n/, '')}` : tail.trimStart();
  }
  if (rest !== '') parts.push(rest);
  return parts.filter((part) => part.trim() !== '');
}

function cutAt(text: string, maxChars: number): number {
  const half = Math.floor(maxChars / 2);
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = text.lastIndexOf(mark, maxChars - mark.length);
    if (at >= half) return at + mark.length;
  }
  return maxChars;
}

/** The fence line of a code block that is still open at the end of a text. */
function openFence(text: string): string | undefined {
  const fences = text.match(FENCE) ?? [];
  return fences.length % 2 === 1 ? fences.at(-1) : undefined;
}
