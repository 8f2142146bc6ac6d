import type { Question } from './chat.ts';

/**
 * Whether a reader that only finds words could answer from what a model is shown. A value must stand there as a whole
 * word; of a changed fact it is the newest one. A day must stand in the line that tells what happened, or in the line
 * before it, where the gateway writes it. What was never said is answered rightly where no line has both what was asked
 * for and a value of that kind. Pure.
 */
export function isAnswerable({ kind, about, right = '', wrong }: Question, shown: string): boolean {
  const lines = shown.split('\n');
  const tells = (line: string): boolean => holds(line, about);
  if (kind === 'never said') return !lines.some((line) => tells(line) && wrong.some((value) => holds(line, value)));
  if (kind !== 'time') return holds(shown, right);
  return lines.some((line, at) => tells(line) && (holds(line, right) || holds(lines[at - 1] ?? '', right)));
}

const SPACED = /^[A-Za-z0-9]/;
const LETTER = /[A-Za-z0-9]/;

/** Whether a text has a word as a whole; in a script without spaces, its signs. */
function holds(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!SPACED.test(word)) return true;
    if (!LETTER.test(text[at - 1] ?? '') && !LETTER.test(text[at + word.length] ?? '')) return true;
  }
  return false;
}
