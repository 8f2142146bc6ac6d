import { graphemePrefix } from '../../../shared/base/text.ts';
import { eachWord } from './tokenizer.ts';

const LEAD_CHARS = 80;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Shortens a text to one line of at most `maxChars`: the passage with the largest number of different terms, or the beginning
 * if the text has no term. Cuts between graphemes, and marks each cut with an ellipsis. Pure.
 */
export function snippet(text: string, terms: ReadonlySet<string>, maxChars: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= maxChars) return line;
  const start = boundaryAt(line, Math.max(0, densestStart(line, terms, maxChars - 2 * LEAD_CHARS) - LEAD_CHARS));
  const opening = start > 0 ? '…' : '';
  const rest = line.slice(start);
  if (opening.length + rest.length <= maxChars) return opening + rest;
  return `${opening}${graphemePrefix(rest, maxChars - opening.length - 1)}…`;
}

/** The position of the first term in the stretch of `length` characters which has the most different terms; 0 without terms. */
function densestStart(line: string, terms: ReadonlySet<string>, length: number): number {
  const places: { term: string; at: number }[] = [];
  eachWord(line, (term, at) => {
    if (terms.has(term)) places.push({ term, at });
  });
  const counts = new Map<string, number>();
  let best = { at: 0, count: 0 };
  let from = 0;
  for (const { term, at } of places) {
    counts.set(term, (counts.get(term) ?? 0) + 1);
    for (let first = places[from]; first && at - first.at > length; first = places[++from]) {
      const count = (counts.get(first.term) ?? 1) - 1;
      if (count === 0) counts.delete(first.term);
      else counts.set(first.term, count);
    }
    if (counts.size > best.count) best = { at: places[from]?.at ?? at, count: counts.size };
  }
  return best.at;
}

/** A grapheme of more UTF-16 units than this counts as malicious. `boundaryAt` cuts it, but never inside a surrogate pair. */
const GRAPHEME_CHARS_MAX = 64;

/** The start of the grapheme at a position, in UTF-16 units; for a position outside, the text's nearer end. Pure. */
export function boundaryAt(text: string, at: number): number {
  if (at <= 0 || at >= text.length) return Math.min(Math.max(0, at), text.length);
  const start = graphemes.segment(text).containing(at)?.index ?? at;
  if (at - start <= GRAPHEME_CHARS_MAX) return start;
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}
