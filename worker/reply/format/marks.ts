/**
 * Two equal runs of asterisks or of tildes with text between them. Such runs are a pair of marks, unless they belong to an
 * expression. CommonMark decides by the spaces and the punctuation next to a run instead, and so reads `**Label:**text` as
 * text, in any script, and `2*3*4` as emphasis.
 */
const PAIR = /(?<!\*)(\*{1,3})(?![\s*])([^*]*?[^\s*])\1(?!\*)|(?<!~)(~~)(?![\s~])([^~]*?[^\s~])~~(?!~)/gu;
/** How many levels of nested pairs this file decides about. CommonMark's rule decides about any further levels. */
const PASSES_MAX = 4;
/** ASCII letters, digits and brackets: the neighbours of an operator. Other scripts put spaces around operators. */
const OPERAND_END = /[\w)\]]$/;
const OPERAND_START = /^[\w([]/;
/** A run that is an operator or a part of a path. Applied only to runs without a partner. */
const OPERATOR = /(?<=[\w)\]])\*{1,3}(?=[\w([])|(?<=\/)\*{1,3}|\*{1,3}(?=\/)/g;
/** An opening bracket or quotation mark at the end of a text. Marked text does not end like this. */
const OPENING_LAST = /[\p{Ps}\p{Pi}]$|(?:^|[\s=,\p{Ps}])["']$/u;
/** The end of an operand or of an operator in code, such as the `=` in `=*pointer`. */
const CODE_END = /[\w)\]=+\-/<>&|^@,\\$#]$/;
/** A word. Square brackets count as letters, because the parser's mask shows code and links as letters in brackets. */
const WORD = /^[[\]\p{L}\p{N}._'’-]+$/u;
const WORDS = /^[[\]\p{L}\p{N}\s._'’:,-]+$/u;
const PUNCTUATION_FIRST = /^(?![*~_])[\p{P}\p{S}]/u;
const PUNCTUATION_LAST = /(?![*~_])[\p{P}\p{S}]$/u;

/** A word with underscores, or only underscores. */
const UNDERSCORED = /\w*_\w*/g;
/** Text before or after a word that makes the word a part of code, as in `self._x` and `_f(`. */
const CODE_BEFORE = /[\w)\]](?:[./\\]|->|::)$|[$@#&]$/;
const CODE_AFTER = /^[./\\]\w|^::|^[([=]/;

/** A punctuation character after which a mark can begin, whatever follows the mark. */
const BORDER = '、';

interface Pair {
  run: string;
  before: string;
  inside: string;
  after: string;
}

/**
 * Returns a text of the same length, in which the parser looks for marks. Letters replace asterisks, tildes and underscores
 * that are not marks, and punctuation that would keep a mark from beginning or ending. `BORDER` may replace the character
 * before a mark.
 */
export function maskNonMarks(text: string): string {
  return withPairs(text.replace(UNDERSCORED, maskName));
}

/** The character to assume before the mark at the beginning of `src`; undefined if the mask has no mark there. */
export function charBefore(src: string, masked: string, before: string): string | undefined {
  const at = masked.length - src.length;
  if (masked[at] !== src[0]) return undefined;
  return masked[at - 1] === BORDER ? BORDER : before;
}

/** Whether `*` or `**` without a counterpart so far is more likely an operator than a mark, as in `a**b` and `f(*a`. */
export function isOperator(before: string, after: string): boolean {
  return /[\w)\]]$|\w\($/.test(before) && OPERAND_START.test(after);
}

/** Masks a text: decides about pairs, inner pairs first, then about operators. In `rest`, letters replace the runs of pairs. */
function withPairs(source: string): string {
  const units = source.split('');
  let rest = source;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const text = rest;
    rest = text.replace(PAIR, (whole, stars, starred, tildes, struck, at: number) => {
      const run: string = stars ?? tildes;
      const end = at + whole.length;
      const pair = { run, before: text.slice(at - 1, at), inside: starred ?? struck, after: text.slice(end, end + 1) };
      if (isPair(pair)) letBeginAndEnd(units, at, pair);
      else units.fill('a', at, at + run.length).fill('a', end - run.length, end);
      return 'a'.repeat(run.length) + pair.inside + 'a'.repeat(run.length);
    });
    if (rest === text) break;
  }
  for (const { 0: run, index } of rest.matchAll(OPERATOR)) units.fill('a', index, index + run.length);
  return units.join('');
}

function isPair({ run, before, inside, after }: Pair): boolean {
  if (run === '~~') return true;
  if (OPENING_LAST.test(inside) || isPattern(run, inside, after)) return false;
  const beginsInWord = OPERAND_END.test(before) && /^[!-~]/.test(inside);
  const endsInWord = CODE_END.test(inside) && OPERAND_START.test(after);
  if (beginsInWord && endsInWord) return run !== '*' && /^[A-Za-z]{2,}$/.test(inside) && areLetters(before + after);
  if (beginsInWord) return /^[\p{L}"'([]/u.test(inside) && !/\s/.test(inside);
  if (endsInWord)
    return WORD.test(inside) || (run !== '*' && WORDS.test(inside) && areLetters(inside.slice(-1) + after));
  return true;
}

// Whether asterisks belong to paths, types or regular expressions: `src/*/test/*.ts`, `**/a.ts and b/**`, `.*foo or .*bar`.
function isPattern(run: string, inside: string, after: string): boolean {
  const [isBegun, isEnded] = [inside.startsWith('/'), inside.endsWith('/')];
  if (run === '*') return isBegun || isEnded || (inside.endsWith('.') && /^\w/.test(after));
  return isBegun && isEnded && /\s/.test(inside);
}

function areLetters(pair: string): boolean {
  return /^[A-Za-z\]][A-Za-z]$/.test(pair);
}

/** Makes the parser take a pair as marks: masks punctuation at both ends of `inside`, and may put `BORDER` before the pair. */
function letBeginAndEnd(units: string[], at: number, { run, before, inside }: Pair): void {
  const start = at + run.length;
  const first = PUNCTUATION_FIRST.exec(inside)?.[0] ?? '';
  const last = PUNCTUATION_LAST.exec(inside)?.[0] ?? '';
  units.fill('a', start, start + first.length);
  units.fill('a', start + inside.length - last.length, start + inside.length);
  if (first !== '' && /[^\s*~_]/.test(before)) units[at - 1] = BORDER;
}

function maskName(word: string, at: number, text: string): string {
  const [, lead = '', core = '', trail = ''] = /^(_*)(.*?)(_*)$/.exec(word) ?? [];
  const before = text.slice(Math.max(0, at - 3), at);
  const after = text.slice(at + word.length, at + word.length + 3);
  const isName =
    core.includes('_') ||
    (core !== '' && lead !== '' && trail !== '' && lead.length + trail.length > 2) ||
    (core === '' && /[([{]$/.test(before) && /^[)\]},]/.test(after)) ||
    (core !== '' && (CODE_BEFORE.test(before) || CODE_AFTER.test(after)));
  return isName ? word.replaceAll('_', 'a') : word;
}
