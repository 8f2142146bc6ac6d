import { BoundedMap } from '../../../shared/base/bounded-map.ts';
import { FOLDED_LETTER, folded, JOINED, near, type Sought, STARTS_UNSPACED } from './tokenizer.ts';

/** The sought words that a text has, by their places in the question: 1 as it is, less by its beginning or nearly so spelt. */
export type Shares = ReadonlyMap<number, number>;

/** Finds the sought words of a question in texts. */
interface Matcher {
  sharesIn(text: string): Shares;
  /** Whether a word, as `eachWord` names it, is one that is sought. */
  isSought(term: string): boolean;
}

/** A sought word, and its place in the question. */
interface Word extends Sought {
  term: string;
  at: number;
}

/** Notes the best share of each of its words that a folded text has. */
type Finder = (text: string, best: Map<number, number>) => void;

const PREFIX_SHARE = 0.375;
const SIMILAR_SHARE = 0.45;
const ENDING_SHARE = 0.15;

/** A matcher of the words of a question. Pure, linear. */
export function createMatcher(sought: ReadonlyMap<string, Sought>): Matcher {
  const words = [...sought].map(([term, how], at) => ({ ...how, term, at }));
  // One finder looks for all words that may have many forms.
  const flexible = words.filter(({ edits }) => edits > 0);
  const finders = words
    .filter(({ edits }) => edits === 0)
    .map((word) => (STARTS_UNSPACED.test(word.term) ? signsOf(word) : wordOf(word)));
  if (flexible.length > 0) finders.push(formsOf(flexible));
  return {
    sharesIn(text) {
      const best = new Map<number, number>();
      const spelt = folded(text);
      for (const find of finders) find(spelt, best);
      return best;
    },
    isSought: remembered((term) => words.some((word) => shareOf(term, word) > 0)),
  };
}

function signsOf({ term, at }: Word): Finder {
  return (text, best) => void (text.includes(term) && best.set(at, 1));
}

/** A word or an id, as it is or as the beginning of a longer one. */
function wordOf({ term, at, prefix }: Word): Finder {
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

/** Words that may be spelt otherwise: each different word that begins like one of them is judged once. */
function formsOf(words: readonly Word[]): Finder {
  const forms = words.map(({ term, edits, ending }) => {
    const [first, ...others] = term;
    return `${first}${FOLDED_LETTER}{${others.length - Math.max(edits, ending)},}`;
  });
  const pattern = new RegExp(`(?<!${FOLDED_LETTER})(?:${forms.join('|')})`, 'gv');
  const sharesOf = remembered((found: string) =>
    words.map((word) => [word.at, shareOf(found, word)] as const).filter(([, share]) => share > 0),
  );
  return (text, best) => {
    for (const found of text.match(pattern) ?? [])
      for (const [at, share] of sharesOf(found)) if (share > (best.get(at) ?? 0)) best.set(at, share);
  };
}

/** A long chat has some ten thousand different words, and what a tool printed may have any number. */
const WORDS_REMEMBERED = 50_000;

/** A pure function of a word that is computed once for each. */
function remembered<Result extends NonNullable<unknown>>(compute: (word: string) => Result): (word: string) => Result {
  const known = new BoundedMap<string, Result>(WORDS_REMEMBERED);
  return (word) => known.getOrInsertComputed(word, () => compute(word));
}

function shareOf(found: string, { term, prefix, edits, ending }: Word): number {
  if (found === term) return 1;
  if (prefix && found.startsWith(term)) return PREFIX_SHARE;
  const made = edits > 0 && found.codePointAt(0) === term.codePointAt(0) ? near(term, found, edits) : undefined;
  if (made !== undefined) return (SIMILAR_SHARE * term.length) / (term.length + made);
  return ending > 0 && found.startsWith(term.slice(0, -ending)) ? ENDING_SHARE : 0;
}
