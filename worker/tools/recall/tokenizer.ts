/** How a word of a question is searched. */
export interface Sought {
  /** Whether longer words that begin with it also match. */
  prefix: boolean;
  /** Edits per character that still match. */
  fuzzy: number | false;
  boost: number;
}

/**
 * The kind of a term: a whole word or id, two neighbours of a script without spaces, or the last sign of such a run.
 */
export type WordKind = 'word' | 'id' | 'pair' | 'last';

const TERM_CHARS_MAX = 64;
const SOUGHT_MAX = 32;
/** No word begins with it. */
const PAIR_MARK = '~';
const SIGN_DIGITS = 6;
const PREFIX_CHARS_MIN = 3;
const FUZZY_CHARS_MIN = 5;
const FUZZY_SHARE = 0.2;
const STEM_BOOST = 0.4;
const ID_BOOST = 2;

/** Words, and what joins them to an id, a path, a date or an address. Always takes a whole run, so it is linear. */
const RUN = /[\p{L}\p{N}\p{M}]+(?:[-_.:/@#+][\p{L}\p{N}\p{M}]+)*/gu;
const PLAIN = /^[A-Za-z0-9]+$/;
const JOINED = /[-_.:/@#+]/;
const PART =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+|[^-_.:/@#+\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]/u;
const ASCII = /^[\0-\x7f]*$/;
const LETTERS = /^\p{L}+$/u;
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * Calls `name` with each word of a text as the index stores it, and its position (in scripts without spaces: close
 * enough for a quote). Case and accents are folded; scripts without spaces come as encoded pairs of neighbours. Pure,
 * linear.
 */
export function eachWord(text: string, name: (term: string, at: number, kind: WordKind) => void): void {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    // The fast path: most words of most texts.
    if (PLAIN.test(run)) {
      name(run.slice(0, TERM_CHARS_MAX).toLowerCase(), index, 'word');
      continue;
    }
    if (JOINED.test(run) && run.length <= TERM_CHARS_MAX) name(folded(run), index, 'id');
    for (const { 0: part, index: offset } of run.matchAll(PART)) {
      if (UNSPACED.test(part)) eachPair(part, index + offset, name);
      else name(folded(part.slice(0, TERM_CHARS_MAX)), index + offset, 'word');
    }
  }
}

/**
 * The last sign also stands alone: a search for one sign finds the pairs that begin with it, and the last sign begins
 * none.
 */
function eachPair(run: string, at: number, name: (term: string, at: number, kind: WordKind) => void): void {
  const signs = Array.from(folded(run), coded);
  const step = run.length / signs.length;
  for (let i = 0; i + 1 < signs.length; i++)
    name(`${PAIR_MARK}${signs[i]}${signs[i + 1]}`, at + Math.floor(i * step), 'pair');
  name(`${PAIR_MARK}${signs.at(-1)}`, at + Math.floor((signs.length - 1) * step), 'last');
}

/** Whether a term stands for signs of a script without spaces. */
export function isPair(term: string): boolean {
  return term.startsWith(PAIR_MARK);
}

/** The index scans all prefixes of its words one by one: there must not be one for each sign of a script. */
function coded(sign: string): string {
  return (sign.codePointAt(0) ?? 0).toString(16).padStart(SIGN_DIGITS, '0');
}

/** One spelling for all variants of a word: without case, accents and compatibility forms. */
function folded(word: string): string {
  if (ASCII.test(word)) return word.toLowerCase();
  // Upper case first: it unifies "ß" and "ss", and all sigmas.
  return word.normalize('NFKD').toUpperCase().toLowerCase().replace(ACCENTS, '').normalize('NFC');
}

/**
 * The terms that a question searches for. Besides each word, the word without its ending is searched at a lower
 * weight: that finds its other forms in most languages that have endings. Ids and pairs are searched as they are. Pure.
 */
export function soughtIn(question: string): ReadonlyMap<string, Sought> {
  const sought = new Map<string, Sought>();
  const seek = (term: string, how: Sought) => {
    if (sought.size < SOUGHT_MAX && !sought.has(term)) sought.set(term, how);
  };
  const stems: string[] = [];
  let previous: WordKind | undefined;
  eachWord(question, (term, _at, kind) => {
    // The last sign of a longer run is already in a pair.
    if (kind === 'last' && previous !== 'pair') seek(term, { prefix: true, fuzzy: false, boost: 1 });
    if (kind === 'pair') seek(term, { prefix: false, fuzzy: false, boost: 1 });
    if (kind === 'id') seek(term, { prefix: true, fuzzy: false, boost: ID_BOOST });
    if (kind === 'word') {
      const isFlexible = LETTERS.test(term) && term.length >= FUZZY_CHARS_MIN;
      seek(term, { prefix: term.length >= PREFIX_CHARS_MIN, fuzzy: isFlexible && FUZZY_SHARE, boost: 1 });
      if (isFlexible) stems.push(term.slice(0, term.length > FUZZY_CHARS_MIN ? -2 : -1));
    }
    previous = kind;
  });
  for (const stem of stems) seek(stem, { prefix: true, fuzzy: false, boost: STEM_BOOST });
  return sought;
}

/**
 * How many signs must be added, removed or replaced to make one word of another (UTF-16 units); undefined when that is
 * more than `editsMax`. Pure.
 */
export function near(word: string, other: string, editsMax: number): number | undefined {
  if (Math.abs(word.length - other.length) > editsMax) return undefined;
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let i = 1; i <= word.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (word[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) > editsMax) return undefined;
    row = next;
  }
  const edits = row[other.length] ?? 0;
  return edits <= editsMax ? edits : undefined;
}
