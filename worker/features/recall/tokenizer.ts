/** How a word of a question is searched. */
export interface Sought {
  /** Whether longer words that begin with it also match. */
  prefix: boolean;
  /** How many edits still match, and how many letters at its end may be others; 0 for what is searched as it is. */
  edits: number;
  ending: number;
  boost: number;
}

/**
 * The kind of a term: a whole word or id; of a script without spaces two neighbours, the last sign of a run, or one that
 * stands alone.
 */
type WordKind = 'word' | 'id' | 'pair' | 'last' | 'sign';

const TERM_CHARS_MAX = 64;
const SOUGHT_MAX = 32;
const PREFIX_CHARS_MIN = 3;
const FLEXIBLE_CHARS_MIN = 5;
const EDITS_SHARE = 0.2;
const ID_BOOST = 2;

/** Words, and what joins them to an id, a path, a date or an address. Always takes a whole run, so it is linear. */
const RUN = /[\p{L}\p{N}\p{M}]+(?:[-_.:/@#+][\p{L}\p{N}\p{M}]+)*/gu;
const PLAIN = /^[A-Za-z0-9]+$/;
/** The signs that join words to an id. */
export const JOINED = /[-_.:/@#+]/;
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}ー';
/** A sign of a script without spaces, and a letter or digit of any other one, in expressions with the flag `v`. */
const UNSPACED_SIGN = `[${UNSPACED}]`;
export const FOLDED_LETTER = `[[\\p{L}\\p{N}\\p{M}]--${UNSPACED_SIGN}]`;
const PART = new RegExp(`${UNSPACED_SIGN}+|[^\\-_.:\\/@#+${UNSPACED}]+`, 'gv');
export const STARTS_UNSPACED = new RegExp(`^${UNSPACED_SIGN}`, 'v');
const ASCII = /^[\0-\x7f]*$/;
/** Letters of a usual word: the edits between long ones take too long to count. */
const FLEXIBLE = new RegExp(`^\\p{L}{${FLEXIBLE_CHARS_MIN},24}$`, 'u');
const ACCENTS = /[\u0300-\u036f]/g;
/** Signs that are spelt as letters, which would join those of a word: “№5”, “50㎡”. */
const SPELT_SIGNS = /[₨℀℁℃℅℆℉№℠-™℻⒜-ⓩ㉐㋌-㋏㍱-㏟㏿﷼]/g;
/** Marks behind one letter are put in order in quadratic time, and no language has 30 of them (Unicode annex 15, Stream-Safe). */
const HEAP_OF_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
const MARKS_ONLY = /^[\p{M}\p{Cs}\uff9e\uff9f]+$/u;

/**
 * Calls `name` with each word of a text as a search compares it, and its position (in scripts without spaces: close
 * enough for a quote). Case and accents are folded; scripts without spaces come as pairs of neighbours. Pure,
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
      if (STARTS_UNSPACED.test(part)) eachPair(part, index + offset, name);
      else name(folded(part.slice(0, TERM_CHARS_MAX)), index + offset, 'word');
    }
  }
}

function eachPair(run: string, at: number, name: (term: string, at: number, kind: WordKind) => void): void {
  const signs = Array.from(folded(run));
  const step = run.length / signs.length;
  for (const [i, sign] of signs.entries()) {
    const place = at + Math.floor(i * step);
    const next = signs[i + 1];
    if (next === undefined) name(sign, place, signs.length === 1 ? 'sign' : 'last');
    else name(`${sign}${next}`, place, 'pair');
  }
}

/** One spelling for all variants of a word: without case, accents and compatibility forms. Pure, linear. */
export function folded(word: string): string {
  if (ASCII.test(word)) return word.toLowerCase();
  // Upper case first: it unifies "ß" and "ss", and all sigmas.
  const apart = word.replace(SPELT_SIGNS, ' ');
  const bounded = mayHoldHeap(apart) ? apart.replace(HEAP_OF_MARKS, '$1') : apart;
  return bounded.normalize('NFKD').toUpperCase().toLowerCase().replace(ACCENTS, '').normalize('NFC');
}

/** Of more than 30 marks in a row three stand at one of each 28 places: what looks there costs next to nothing. */
function mayHoldHeap(word: string): boolean {
  for (let at = 0; at < word.length; at += 28) if (MARKS_ONLY.test(word.slice(at, at + 3))) return true;
  return false;
}

/**
 * The terms that a question searches for. A word may be misspelt, and have another ending: that finds its other forms
 * in most languages that have endings. Ids and pairs are searched as they are. Pure.
 */
export function soughtIn(question: string): ReadonlyMap<string, Sought> {
  const sought = new Map<string, Sought>();
  eachWord(question, (term, _at, kind) => {
    // The last sign of a longer run is already in a pair.
    if (kind !== 'last' && sought.size < SOUGHT_MAX && !sought.has(term)) sought.set(term, howOf(term, kind));
  });
  return sought;
}

function howOf(term: string, kind: WordKind): Sought {
  if (kind === 'id') return { prefix: true, edits: 0, ending: 0, boost: ID_BOOST };
  const isFlexible = kind === 'word' && FLEXIBLE.test(term);
  return {
    prefix: kind === 'sign' || (kind === 'word' && term.length >= PREFIX_CHARS_MIN),
    edits: isFlexible ? Math.round(term.length * EDITS_SHARE) : 0,
    ending: isFlexible ? (term.length > FLEXIBLE_CHARS_MIN ? 2 : 1) : 0,
    boost: 1,
  };
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
