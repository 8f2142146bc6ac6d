import leven from 'leven';
import { BoundedMap } from '../../../shared/base/bounded-map.ts';
import { FOLDED_LETTER, fold, JOINED, type SearchTerm, STARTS_UNSPACED } from './tokenizer.ts';

/**
 * How well a text matches each term of a question, by the index of the term. A share is 1 for an exact match, and less for a
 * prefix, a similar spelling or another ending. Terms without a match are absent.
 */
export type Shares = ReadonlyMap<number, number>;

/** A term, and its index among the question's terms. */
interface IndexedTerm extends SearchTerm {
  term: string;
  at: number;
}

/** Finds terms in a folded text, and raises their shares in `best`. */
type Finder = (text: string, best: Map<number, number>) => void;

const PREFIX_SHARE = 0.375;
const SIMILAR_SHARE = 0.45;
const ENDING_SHARE = 0.15;

/** Creates a matcher for the terms of a question. Pure; takes time linear in the length of a text. */
export function createMatcher(searchTerms: ReadonlyMap<string, SearchTerm>) {
  const terms = [...searchTerms].map(([term, rules], at) => ({ ...rules, term, at }));
  // One finder looks for all terms that allow other spellings.
  const flexible = terms.filter(({ edits }) => edits > 0);
  const finders = terms
    .filter(({ edits }) => edits === 0)
    .map((each) => (STARTS_UNSPACED.test(each.term) ? signFinder(each) : wordFinder(each)));
  if (flexible.length > 0) finders.push(formsFinder(flexible));
  return {
    sharesIn(text: string): Shares {
      const best = new Map<number, number>();
      const foldedText = fold(text);
      for (const find of finders) find(foldedText, best);
      return best;
    },
    /** Whether a word, in the form that `eachWord` yields, matches at least one term. */
    isMatch: memoize((word) => terms.some((term) => shareOf(word, term) > 0)),
  };
}

function signFinder({ term, at }: IndexedTerm): Finder {
  return (text, best) => void (text.includes(term) && best.set(at, 1));
}

/** Finds a word or an id: as a whole or, if the term's rules allow a prefix, as the beginning of a longer word or id. */
function wordFinder({ term, at, prefix }: IndexedTerm): Finder {
  const literal = term.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const beginning = new RegExp(`(?<!${FOLDED_LETTER})${literal}`, 'v');
  const whole = new RegExp(
    `(?<!${FOLDED_LETTER})${literal}(?!${JOINED.test(term) ? '[\\-_.:\\/@#+]?' : ''}${FOLDED_LETTER})`,
    'v',
  );
  return (text, best) => {
    if (!beginning.test(text)) return;
    if (whole.test(text)) best.set(at, 1);
    else if (prefix) best.set(at, PREFIX_SHARE);
  };
}

/**
 * Finds terms exactly or in other spellings. Compares only words that begin with the same letter as a term, and stores the
 * result for each word, so that repeated words cost little.
 */
function formsFinder(terms: readonly IndexedTerm[]): Finder {
  const forms = terms.map(({ term, edits, ending }) => {
    const [first, ...others] = term;
    return `${first}${FOLDED_LETTER}{${others.length - Math.max(edits, ending)},}`;
  });
  const pattern = new RegExp(`(?<!${FOLDED_LETTER})(?:${forms.join('|')})`, 'gv');
  const sharesOf = memoize((word: string) =>
    terms.map((term) => [term.at, shareOf(word, term)] as const).filter(([, share]) => share > 0),
  );
  return (text, best) => {
    for (const word of text.match(pattern) ?? [])
      for (const [at, share] of sharesOf(word)) if (share > (best.get(at) ?? 0)) best.set(at, share);
  };
}

/** The maximum number of stored results. A long chat has some 10,000 different words, but tool results may have any number. */
const MEMOIZED_MAX = 50_000;

/** Wraps a pure function of a word so that its newest 50,000 results are stored. */
function memoize<Result extends NonNullable<unknown>>(compute: (word: string) => Result): (word: string) => Result {
  const results = new BoundedMap<string, Result>(MEMOIZED_MAX);
  return (word) => results.getOrInsertComputed(word, () => compute(word));
}

function shareOf(word: string, { term, prefix, edits, ending }: IndexedTerm): number {
  if (word === term) return 1;
  if (prefix && word.startsWith(term)) return PREFIX_SHARE;
  const hasEqualStart = word.codePointAt(0) === term.codePointAt(0);
  const distance = edits > 0 && hasEqualStart ? leven(term, word, { maxDistance: edits + 1 }) : edits + 1;
  if (distance <= edits) return (SIMILAR_SHARE * term.length) / (term.length + distance);
  return ending > 0 && word.startsWith(term.slice(0, -ending)) ? ENDING_SHARE : 0;
}
