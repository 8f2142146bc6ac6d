/**
 * Markdown tells where a mark begins and ends by the spaces and the punctuation beside it. Chinese, Japanese and Korean
 * have no spaces, so `**重點：**請` would be no mark. Here a letter or a punctuation mark of theirs lets a mark of
 * asterisks or tildes begin and end wherever no space is in the way, as the proposal to CommonMark by "Markdown CJK
 * friendly" has it. What stands beside no such character is left alone.
 */
const CJK = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\u3001-\u303f\ufe30-\ufe4f\uff01-\uffee`;
const PUNCTUATION = String.raw`(?![*~])[\p{P}\p{S}]`;
const IN_THE_WAY = new RegExp(
  [
    `(?=[${CJK}])${PUNCTUATION}(?=[*~])`,
    `(?<=[*~])(?=[${CJK}])${PUNCTUATION}`,
    `${PUNCTUATION}(?=[*~]{1,3}[${CJK}])`,
    `(?<=[${CJK}][*~]{1,3})${PUNCTUATION}`,
  ].join('|'),
  'gu',
);
const BEGINS = new RegExp(`^[*~]+[${CJK}]`, 'u');
const ENDS = new RegExp(`[${CJK}]$`, 'u');

/** A text in which the punctuation that would keep a mark from beginning or ending is letters; of the same length. */
export function withoutObstacles(text: string): string {
  return text.replace(IN_THE_WAY, (mark) => 'a'.repeat(mark.length));
}

/** The character before the mark that a text begins with, or one that lets it begin there. */
export function letsBegin(text: string, before: string): string {
  const isBeside = !text.startsWith('_') && (ENDS.test(before) || BEGINS.test(text));
  return isBeside ? '、' : before;
}
