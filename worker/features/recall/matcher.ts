import { BoundedMap } from '../../../shared/base/bounded-map.ts';
import { editDistance, FOLDED_LETTER, fold, JOINED, type SearchTerm, STARTS_UNSPACED } from './tokenizer.ts';

/** How well a text matches each term of a question, by the term's index: 1 exactly, less by a prefix or a similar spelling. */
export type Shares = ReadonlyMap<number, number>;

/** Finds the terms of a question in texts. */
interface Matcher {
  sharesIn(text: string): Shares;
  /** Whether a word of `eachWord` matches any term. */
  isMatch(word: string): boolean;
}

/** A term, and its index in the question. */
interface IndexedTerm extends SearchTerm {
  term: string;
  at: number;
}

/** Finds terms in a folded text, and raises their shares in `best`. */
type Finder = (text: string, best: Map<number, number>) => void;

const PREFIX_SHARE = 0.375;
const SIMILAR_SHARE = 0.45;
const ENDING_SHARE = 0.15;

/** A matcher of the terms of a question. Pure, linear. */
export function createMatcher(searchTerms: ReadonlyMap<string, SearchTerm>): Matcher {
  const terms = [...searchTerms].map(([term, rules], at) => ({ ...rules, term, at }));
  // One finder looks for all terms that allow other spellings.
  const flexible = terms.filter(({ edits }) => edits > 0);
  const finders = terms
    .filter(({ edits }) => edits === 0)
    .map((each) => (STARTS_UNSPACED.test(each.term) ? signFinder(each) : wordFinder(each)));
  if (flexible.length > 0) finders.push(formsFinder(flexible));
  return {
    sharesIn(text) {
      const best = new Map<number, number>();
      const foldedText = fold(text);
      for (const find of finders) find(foldedText, best);
      return best;
    },
    isMatch: memoize((word) => terms.some((term) => shareOf(word, term) > 0)),
  };
}

function signFinder({ term, at }: IndexedTerm): Finder {
  return (text, best) => void (text.includes(term) && best.set(at, 1));
}

/** Finds a word or an id, itself or as the beginning of a longer one. */
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

/** Finds other spellings of terms: compares each different word that begins like a term once. */
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

/** A long chat has some 10,000 different words; tool results may have any number. */
const MEMOIZED_MAX = 50_000;

/** A pure function of a word that stores its newest 50,000 results. */
function memoize<Result extends NonNullable<unknown>>(compute: (word: string) => Result): (word: string) => Result {
  const results = new BoundedMap<string, Result>(MEMOIZED_MAX);
  return (word) => results.getOrInsertComputed(word, () => compute(word));
}

function shareOf(word: string, { term, prefix, edits, ending }: IndexedTerm): number {
  if (word === term) return 1;
  if (prefix && word.startsWith(term)) return PREFIX_SHARE;
  const hasEqualStart = word.codePointAt(0) === term.codePointAt(0);
  const distance = edits > 0 && hasEqualStart ? editDistance(term, word, edits) : undefined;
  if (distance !== undefined) return (SIMILAR_SHARE * term.length) / (term.length + distance);
  return ending > 0 && word.startsWith(term.slice(0, -ending)) ? ENDING_SHARE : 0;
}
