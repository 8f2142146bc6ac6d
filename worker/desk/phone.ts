import type { Piece, Report, Text } from '../report/report.ts';
import { inWords } from '../report/words.ts';

/** A report as lines for a phone. Pure. */
export function onPhone({ nowMs, verdict, sections }: Report): string {
  const plain = (text: Text) => plainText(text, nowMs);
  const head = verdict === undefined ? [] : [`${verdict.word ?? ''} ${plain(verdict.reason)}`.trim()];
  const facts = sections.flatMap(({ facts: all = [] }) => all.map(({ name, value }) => `${name}: ${plain(value)}`));
  return [...head, ...facts].join('\n');
}

function plainText(text: Text, nowMs: number): string {
  const word = (piece: Piece): string => {
    if (typeof piece !== 'object') return String(piece);
    if ('atMs' in piece) return `${inWords(nowMs - piece.atMs)} ago`;
    return 'letter' in piece ? piece.letter : String(piece.text ?? piece.id);
  };
  return Array.isArray(text) ? text.map(word).join('') : word(text as Piece);
}
