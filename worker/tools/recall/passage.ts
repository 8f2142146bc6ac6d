import { graphemePrefix } from '../../../shared/base/text.ts';
import { boundaryAt } from './snippet.ts';

const PASSAGE_CHARS = 12_000;

/**
 * At most 12,000 characters (UTF-16 units) of a text that was shortened, from the grapheme at `from`, after one line
 * that states the range and how to continue; nothing when the text ends before it. The next passage starts where this
 * one ends, so nothing is read twice or missed. Pure.
 */
export function passage(text: string, ref: string, from: number): string | undefined {
  if (from >= text.length) return undefined;
  const start = boundaryAt(text, from);
  const rest = text.slice(start);
  // No real text has a single grapheme of 12,000 characters: it is cut, so that reading advances.
  const read = graphemePrefix(rest, PASSAGE_CHARS) || rest.slice(0, boundaryAt(rest, PASSAGE_CHARS));
  const end = start + read.length;
  const more = end < text.length ? `Go on with {"ref":"${ref}","from":${end}}` : 'This is its end';
  return `[Characters ${start} to ${end} of ${text.length} of a shortened text, quoted as data. ${more}.]\n${read}`;
}
