/**
 * Two equal runs with text between them: a pair of marks, unless it belongs to an expression. CommonMark decides by the
 * spaces and the punctuation beside a run instead: it takes `**Label:**text` for text, in any script, and `2*3*4` for a
 * mark.
 */
const PAIR = /(?<!\*)(\*{1,3})(?![\s*])([^*]*?[^\s*])\1(?!\*)|(?<!~)(~~)(?![\s~])([^~]*?[^\s~])~~(?!~)/gu;
/** How deep pairs may stand in each other and still be found here; for deeper ones CommonMark's rule holds. */
const PASSES_MAX = 4;
/** Letters, digits and brackets of ASCII: between them stand operators. Other scripts put spaces around an operator. */
const OPERAND_END = /[\w)\]]$/;
const OPERAND_START = /^[\w([]/;
/** A run without a partner that is an operator or a part of a path. */
const OPERATOR = /(?<=[\w)\]])\*{1,3}(?=[\w([])|(?<=\/)\*{1,3}|\*{1,3}(?=\/)/g;
/** A bracket or a quote that opens something does not end a marked text. */
const OPENING_LAST = /[\p{Ps}\p{Pi}]$|(?:^|[\s=,\p{Ps}])["']$/u;
/** In code, the end of an operand or an operator, such as in `=*pointer`. */
const CODE_END = /[\w)\]=+\-/<>&|^@,\\$#]$/;
/** The parser shows code and links as letters in square brackets. */
const WORD = /^[[\]\p{L}\p{N}._'’-]+$/u;
const WORDS = /^[[\]\p{L}\p{N}\s._'’:,-]+$/u;
const PUNCTUATION_FIRST = /^(?![*~_])[\p{P}\p{S}]/u;
const PUNCTUATION_LAST = /(?![*~_])[\p{P}\p{S}]$/u;

/** A word with underscores, or underscores alone. */
const UNDERSCORED = /\w*_\w*/g;
/** Text before and after a word that makes the word a part of code, e.g. `self._x`, `_f(`. */
const CODE_BEFORE = /[\w)\]](?:[./\\]|->|::)$|[$@#&]$/;
const CODE_AFTER = /^[./\\]\w|^::|^[([=]/;

/** A character after which a mark can begin, whatever follows the mark. */
const BORDER = '、';

interface Pair {
  run: string;
  before: string;
  inside: string;
  after: string;
}

/**
 * The text that the parser looks for marks in, as long as the one given. Asterisks, tildes and underscores that are no
 * marks are letters there, and so is punctuation that would keep a mark from beginning or ending.
 */
export function onlyMarks(text: string): string {
  return withPairs(text.replace(UNDERSCORED, withoutName));
}

/** The character before the mark that a text begins with; undefined where `masked`, which ends with it, has no mark. */
export function charBefore(src: string, masked: string, before: string): string | undefined {
  const at = masked.length - src.length;
  if (masked[at] !== src[0]) return undefined;
  return masked[at - 1] === BORDER ? BORDER : before;
}

/** Whether a run without a partner so far is more likely an operator than a mark, as in `a**b` and `f(*a`. */
export function isOperator(before: string, after: string): boolean {
  return /[\w)\]]$|\w\($/.test(before) && OPERAND_START.test(after);
}

/** Inner pairs are found first: `rest` is the text without the runs that are decided. */
function withPairs(text: string): string {
  const units = text.split('');
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const seen = rest;
    rest = seen.replace(PAIR, (whole, stars, starred, tildes, struck, at: number) => {
      const run: string = stars ?? tildes;
      const end = at + whole.length;
      const pair = { run, before: seen.slice(at - 1, at), inside: starred ?? struck, after: seen.slice(end, end + 1) };
      if (isPair(pair)) letBeginAndEnd(units, at, pair);
      else units.fill('a', at, at + run.length).fill('a', end - run.length, end);
      return 'a'.repeat(run.length) + pair.inside + 'a'.repeat(run.length);
    });
    if (rest === seen) break;
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

// Asterisks of paths, types and regular expressions: `src/*/test/*.ts`, `**/a.ts and b/**`, `.*foo or .*bar`.
function isPattern(run: string, inside: string, after: string): boolean {
  const [isBegun, isEnded] = [inside.startsWith('/'), inside.endsWith('/')];
  if (run === '*') return isBegun || isEnded || (inside.endsWith('.') && /^\w/.test(after));
  return isBegun && isEnded && /\s/.test(inside);
}

function areLetters(pair: string): boolean {
  return /^[A-Za-z\]][A-Za-z]$/.test(pair);
}

/** Lets a pair be marks, with the punctuation at the ends of its text. */
function letBeginAndEnd(units: string[], at: number, { run, before, inside }: Pair): void {
  const start = at + run.length;
  const first = PUNCTUATION_FIRST.exec(inside)?.[0] ?? '';
  const last = PUNCTUATION_LAST.exec(inside)?.[0] ?? '';
  units.fill('a', start, start + first.length);
  units.fill('a', start + inside.length - last.length, start + inside.length);
  if (first !== '' && /[^\s*~_]/.test(before)) units[at - 1] = BORDER;
}

function withoutName(word: string, at: number, text: string): string {
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
