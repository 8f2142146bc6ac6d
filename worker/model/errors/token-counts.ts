/**
 * The counts in an error about size. Unless there is an `output`, `observed` is greater than `limit` if both are present.
 */
export type TokenCounts = Partial<Record<'observed' | 'limit' | 'output', number>>;

/** No model has a smaller context window, so a smaller number is something else (a status, an index, a version). */
const TOKENS_MIN = 256;

/** Numbers that are not counts, such as differences, statuses, ids and the numbers in model names. */
const NO_COUNTS = /\bby \d+|\b[a-z]+-\d\S*|\b(?:code|status|http|error|id)\W{0,3}\d+/g;
/** Texts about a limit in characters, whose numbers are not tokens. */
const IN_CHARACTERS = /\d (?:characters|chars|symbols)\b|expected max length/;

const NUMBER = '(?<![\\w.-])(\\d[\\d,.]{0,14}(?: ?[km](?![a-z]))?)';
const OVER =
  '(?:exceed|(?:long|larg|great|high|bigg)er than|\\bthan\\b|too (?:large|long)|over|above|past|超过|超出|超過|超え|초과|превыш|übersch|dépass|exced|supera)';
const LIMIT =
  '(?:limit|max(?:imum)?|context (?:length|size|window)|n ctx|max model len|allowed|at most|no more than|(?:less|fewer) than|cannot exceed|capacity|up to|supports?|only|<=|\\[\\d{1,3},|最大|上限|limite|máxim|maximal|максим|допустим)';
const SENT =
  '(?:requested|resulted in|contains?|has|have|had|got|gave|given|received|current(?: length| size| count)?(?: is)?|used|sent|provided|keep|need(?:s|ed)?|holds|uses|prompt of|total(?: of)?|request of|conversation of|first|count(?: of)?|length of|size of|(?:prompt|input) is|your (?:prompt|input)|当前)';
const NOT_OF_INPUT = '(?:(?!output|completion|requested|floor)[^\\d.])';

/** Phrases with several counts, each with the names of its counts in order. The first phrase that matches decides. */
const PHRASES: readonly [phrase: string, ...counts: (keyof TokenCounts)[]][] = [
  // "188059 + 20000 > 200000"
  [`${NUMBER} ?\\+ ?${NUMBER}(?: tokens)? ?(?:>=?|exceeds) ?${NUMBER}`, 'observed', 'output', 'limit'],
  // "prompt tokens (120000) plus max_tokens (16000) exceed the context window of 131072"
  [`${NUMBER}\\D{1,24}max (?:\\w+ )?tokens \\(?${NUMBER}\\D{1,60}${NUMBER}`, 'observed', 'output', 'limit'],
  // "30000 > 32768 - 5000"
  [`${NUMBER} > ${NUMBER} - ${NUMBER}`, 'output', 'limit', 'observed'],
  // "<= 4096. given: 4000 inputs tokens and 512 max new tokens"
  [`<= ?${NUMBER}\\D{1,30}${NUMBER} (?:inputs?|prompt) tokens and ${NUMBER}`, 'limit', 'observed', 'output'],
  // "213462 tokens > 200000 maximum"
  [`${NUMBER}(?: [a-z]{1,12}){0,3} ?>=? ?${NUMBER}`, 'observed', 'limit'],
  // "135211 exceeds the limit of 128000"
  [`${NUMBER}\\D{0,60}?${OVER}\\D{0,90}${NUMBER}`, 'observed', 'limit'],
];

/** Patterns of single counts, anywhere in the text. */
const OUTPUT = `${NUMBER} (?:(?:tokens )?(?:in|for) the (?:completion|output|response)|(?:max|new|completion|output) tokens)`;
const LIMITS = [
  `${LIMIT}${NOT_OF_INPUT}{0,45}${NUMBER}`,
  `${NUMBER} (?:tokens? )?(?:limit|context|available|supported|max(?:imum)?(?! new| completion| output| tokens))`,
];
const OBSERVED = [`${SENT}[^\\d.]{0,35}${NUMBER}`, `${NUMBER} (?:input |prompt )?tokens (?:in|of|given|from|sent)\\b`];
/** Patterns of a limit without a count. Such a limit lowers the window that we assume, so it must be stated explicitly. */
const LIMIT_ALONE = [
  `(?:limit|max(?:imum)?|context (?:length|size|window))${NOT_OF_INPUT}{0,45}?(?:\\b(?:is|of|only|to)|[:=]) ?${NUMBER}(?= ?tok|[ .,)\\]}]|$)`,
  `(?:<=|less than|no more than|at most|\\[\\d{1,3},) ?${NUMBER} ?(?:tokens|\\])`,
  `${NUMBER} (?:tokens? )?(?:maximum context|context (?:window|length|limit))`,
];

/**
 * The counts in an error about tokens, whatever its wording: "350k tokens > 180k maximum", "requested 8238 … is 8191".
 */
export function tokenCountsIn(text: string): TokenCounts {
  if (IN_CHARACTERS.test(text)) return {};
  const plain = text.replace(NO_COUNTS, ' ');
  const [output] = countsIn([OUTPUT], plain);
  const ofOutput = output === undefined ? {} : { output };
  for (const [phrase, ...names] of PHRASES) {
    const numbers = new RegExp(phrase).exec(plain)?.slice(1).map(toNumber) ?? [0];
    const [more = 0, less = 0] = numbers;
    if (numbers.every((count) => count >= TOKENS_MIN) && (numbers.length === 3 || more > less))
      return { ...ofOutput, ...Object.fromEntries(names.map((name, at) => [name, numbers[at]])) };
  }
  return { ...pairIn(plain), ...ofOutput };
}

/** The first count that exceeds one of the limits, with that limit; otherwise a single limit or a single count, if any. */
function pairIn(plain: string): TokenCounts {
  const limits = countsIn(LIMITS, plain);
  const counts = countsIn(OBSERVED, plain);
  for (const observed of counts) {
    const limit = limits.find((candidate) => candidate < observed);
    if (limit !== undefined) return { observed, limit };
  }
  const [limit] = countsIn(LIMIT_ALONE, plain);
  if (limit !== undefined) return { limit };
  const [observed] = limits.length === 0 ? counts : [];
  return observed === undefined ? {} : { observed };
}

function countsIn(patterns: readonly string[], plain: string): number[] {
  const found = patterns.flatMap((pattern) => [...plain.matchAll(new RegExp(pattern, 'g'))].slice(0, 16));
  return found.map((match) => toNumber(match[1] ?? '')).filter((count) => count >= TOKENS_MIN);
}

/** Parses the providers' forms of a count, such as "213,462", "131.072" and "350k". */
function toNumber(text: string): number {
  const digits = text.replace(/[^\d]+$/, '');
  const scale = text.endsWith('k') ? 1_000 : text.endsWith('m') ? 1_000_000 : 1;
  const isGrouped = scale === 1 && /^\d{1,3}(?:[.,]\d{3})+$/.test(digits);
  return Math.round(Number(digits.replace(isGrouped ? /[.,]/g : /,/g, '')) * scale);
}
