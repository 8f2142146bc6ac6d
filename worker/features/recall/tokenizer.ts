/** The rules for one term of a question. */
export interface SearchTerm {
  /** Whether longer words that begin with the term also match. */
  prefix: boolean;
  /** The maximum number of edits between the term and a word that still matches. */
  edits: number;
  /** How many letters at the end of the term need not occur in a matching word. */
  ending: number;
  boost: number;
}

/**
 * The kind of a term: a word or an id; or, in a script without spaces such as Chinese, two neighbouring characters (`pair`),
 * the last character of a run (`last`), or a single character (`sign`).
 */
type WordKind = 'word' | 'id' | 'pair' | 'last' | 'sign';

const TERM_CHARS_MAX = 64;
const TERMS_MAX = 32;
const PREFIX_CHARS_MIN = 3;
const FLEXIBLE_CHARS_MIN = 5;
const EDITS_SHARE = 0.2;
const ID_BOOST = 2;

/** A word, or words that punctuation joins into an id, path, date or address. Matches whole runs only, in linear time. */
const RUN = /[\p{L}\p{N}\p{M}]+(?:[-_.:/@#+][\p{L}\p{N}\p{M}]+)*/gu;
const PLAIN = /^[A-Za-z0-9]+$/;
/** The punctuation that joins words into an id. */
export const JOINED = /[-_.:/@#+]/;
const UNSPACED = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}ー';
/** A character of a script without spaces, and a letter or digit of any other script. For expressions with the flag `v`. */
const UNSPACED_SIGN = `[${UNSPACED}]`;
export const FOLDED_LETTER = `[[\\p{L}\\p{N}\\p{M}]--${UNSPACED_SIGN}]`;
const PART = new RegExp(`${UNSPACED_SIGN}+|[^\\-_.:\\/@#+${UNSPACED}]+`, 'gv');
export const STARTS_UNSPACED = new RegExp(`^${UNSPACED_SIGN}`, 'v');
const ASCII = /^[\0-\x7f]*$/;
/** Words of 5 to 24 letters, which may match with edits. For longer words, counting the edits takes too long. */
const FLEXIBLE = new RegExp(`^\\p{L}{${FLEXIBLE_CHARS_MIN},24}$`, 'u');
const ACCENTS = /[\u0300-\u036f]/g;
/** Symbols that NFKD turns into letters, which would merge with the neighbouring word: “№5”, “50㎡”. */
const LETTER_SIGNS = /[₨℀℁℃℅℆℉№℠-™℻⒜-ⓩ㉐㋌-㋏㍱-㏟㏿﷼]/g;
/**
 * A run of more than 30 combining marks. Normalization sorts such marks in quadratic time, and no language puts 30 of them on a
 * letter (Unicode Standard Annex 15, Stream-Safe Text Format).
 */
const MARK_RUN = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;
const MARKS_ONLY = /^[\p{M}\p{Cs}\uff9e\uff9f]+$/u;

/**
 * Calls `onWord` with each folded word of a text and its position, and with each id in addition to the words in it. In scripts
 * without spaces, calls `onWord` with each pair of neighbouring characters and the last character of a run, at their
 * approximate positions. Pure; takes linear time.
 */
export function eachWord(text: string, onWord: (term: string, at: number, kind: WordKind) => void): void {
  for (const { 0: run, index } of text.matchAll(RUN)) {
    // Fast path for most words of most texts.
    if (PLAIN.test(run)) {
      onWord(run.slice(0, TERM_CHARS_MAX).toLowerCase(), index, 'word');
      continue;
    }
    if (JOINED.test(run) && run.length <= TERM_CHARS_MAX) onWord(fold(run), index, 'id');
    for (const { 0: part, index: offset } of run.matchAll(PART)) {
      if (STARTS_UNSPACED.test(part)) eachPair(part, index + offset, onWord);
      else onWord(fold(part.slice(0, TERM_CHARS_MAX)), index + offset, 'word');
    }
  }
}

function eachPair(run: string, at: number, onWord: (term: string, at: number, kind: WordKind) => void): void {
  const signs = Array.from(fold(run));
  const step = run.length / signs.length;
  for (const [i, sign] of signs.entries()) {
    const place = at + Math.floor(i * step);
    const next = signs[i + 1];
    if (next === undefined) onWord(sign, place, signs.length === 1 ? 'sign' : 'last');
    else onWord(`${sign}${next}`, place, 'pair');
  }
}

/** Folds a word to one spelling: without case, accents and compatibility forms. Pure; takes linear time. */
export function fold(word: string): string {
  if (ASCII.test(word)) return word.toLowerCase();
  // Convert to upper case first, because this unifies "ß" with "ss", and all sigmas.
  const spaced = word.replace(LETTER_SIGNS, ' ');
  const bounded = hasMarkRun(spaced) ? spaced.replace(MARK_RUN, '$1') : spaced;
  return bounded.normalize('NFKD').toUpperCase().toLowerCase().replace(ACCENTS, '').normalize('NFC');
}

/** Whether a word may have over 30 combining marks in a row. Tests 3 of every 28 characters: such a run covers one triple. */
function hasMarkRun(word: string): boolean {
  for (let at = 0; at < word.length; at += 28) if (MARKS_ONLY.test(word.slice(at, at + 3))) return true;
  return false;
}

/**
 * The search terms of a question, at most 32. Words of 5 to 24 letters also match with typing errors and with other endings, so
 * that a search finds inflected forms in most languages. Other terms tolerate neither. Pure.
 */
export function searchTermsIn(question: string): ReadonlyMap<string, SearchTerm> {
  const terms = new Map<string, SearchTerm>();
  eachWord(question, (term, _at, kind) => {
    // The last character of a longer run is already in a pair.
    if (kind !== 'last' && terms.size < TERMS_MAX && !terms.has(term)) terms.set(term, rulesFor(term, kind));
  });
  return terms;
}

function rulesFor(term: string, kind: WordKind): SearchTerm {
  if (kind === 'id') return { prefix: true, edits: 0, ending: 0, boost: ID_BOOST };
  const isFlexible = kind === 'word' && FLEXIBLE.test(term);
  return {
    prefix: kind === 'sign' || (kind === 'word' && term.length >= PREFIX_CHARS_MIN),
    edits: isFlexible ? Math.round(term.length * EDITS_SHARE) : 0,
    ending: isFlexible ? (term.length > FLEXIBLE_CHARS_MIN ? 2 : 1) : 0,
    boost: 1,
  };
}
