/**
 * Counts that an error about size states. Where both are known, `observed` is greater than `limit`, unless it has
 * `output`.
 */
export interface TokenCounts {
  observed?: number;
  limit?: number;
  output?: number;
}

/** No model has a smaller context window, so a smaller number is something else (a status, an index, a version). */
const MIN_PLAUSIBLE_TOKENS = 256;

const NUMBER = '(?<![\\w.-])(\\d[\\d,.]{0,14}(?: ?[km](?![a-z]))?)';
const OVER =
  '(?:exceed|(?:long|larg|great|high|bigg)er than|\\bthan\\b|too (?:large|long)|over|above|past|超过|超出|超過|超え|초과|превыш|übersch|dépass|exced|supera)';
const LIMIT =
  '(?:limit|max(?:imum)?|context (?:length|size|window)|n ctx|max model len|allowed|at most|no more than|(?:less|fewer) than|cannot exceed|capacity|up to|supports?|only|<=|\\[\\d{1,3},|最大|上限|limite|máxim|maximal|максим|допустим)';
const OBSERVED =
  '(?:requested|resulted in|contains?|has|have|had|got|gave|given|received|current(?: length| size| count)?(?: is)?|used|sent|provided|keep|need(?:s|ed)?|holds|uses|prompt of|total(?: of)?|request of|conversation of|first|count(?: of)?|length of|size of|(?:prompt|input) is|your (?:prompt|input)|当前)';

/** Numbers that are not counts: differences, model names, codes, dates, ids. */
const NO_COUNTS =
  /\bby (?:about )?\d[\d,.]{0,14}|\b[a-z]{1,12}-\d[\w.-]{0,30}|\b(?:code|status|http|error|id)\W{0,3}\d{1,20}\b|\b\d{4}-\d\d-\d\d\b/g;

const INPUT_PLUS_OUTPUT = [
  // "188059 + 20000 > 200000"
  new RegExp(`${NUMBER} ?\\+ ?${NUMBER}(?: tokens)? ?(?:>=?|exceeds) ?${NUMBER}`),
  // "prompt tokens (120000) plus max_tokens (16000) exceed the context window of 131072"
  new RegExp(`${NUMBER}[^\\d]{1,24}max (?:new |completion |output )?tokens \\(?${NUMBER}[^\\d]{1,60}${NUMBER}`),
];
// "30000 > 32768 - 5000", where the limit comes second and the input last.
const OUTPUT_OVER_REST = new RegExp(`${NUMBER} > ${NUMBER} - ${NUMBER}`);
// "<= 4096. given: 4000 inputs tokens and 512 max new tokens"
const LIMIT_THEN_PARTS = new RegExp(`<= ?${NUMBER}[^\\d]{1,30}${NUMBER} (?:inputs?|prompt) tokens and ${NUMBER}`);
const OBSERVED_OVER_LIMIT = [
  new RegExp(`${NUMBER}(?: [a-z]{1,12}){0,3} ?>=? ?${NUMBER}`),
  new RegExp(`${NUMBER}[^\\d]{0,60}?${OVER}[^\\d]{0,90}${NUMBER}`),
];
const OUTPUT_PART = new RegExp(
  `${NUMBER} (?:(?:tokens )?(?:in|for) the (?:completion|output|response)|(?:max |max new |max completion |completion |output )tokens)`,
);
const LIMITS = [
  new RegExp(`${LIMIT}(?:(?!output|completion|requested|floor)[^\\d.]){0,45}${NUMBER}`, 'g'),
  new RegExp(
    `${NUMBER} (?:tokens? )?(?:limit|context|available|supported|max(?:imum)?(?! new| completion| output| tokens))`,
    'g',
  ),
];
const COUNTS = [
  new RegExp(`${OBSERVED}[^\\d.]{0,35}${NUMBER}`, 'g'),
  new RegExp(`${NUMBER} (?:input |prompt )?tokens (?:in|of|given|from|sent)\\b`, 'g'),
];
/** A limit without a count beside it lowers the window that we assume, so it must be stated outright. */
const LIMIT_ALONE = [
  new RegExp(
    `(?:limit|max(?:imum)?|context (?:length|size|window))(?:(?!output|completion|requested|floor)[^\\d.]){0,45}?(?:\\b(?:is|of|only|to)|[:=]) ?${NUMBER}(?= ?tok|[ .,)\\]}]|$)`,
    'g',
  ),
  new RegExp(`(?:<=|less than|no more than|at most|\\[\\d{1,3},) ?${NUMBER} ?(?:tokens|\\])`, 'g'),
  new RegExp(`${NUMBER} (?:tokens? )?(?:maximum context|context (?:window|length|limit))`, 'g'),
];

/**
 * The counts in an error about tokens, whatever its wording: "350k tokens > 180k maximum", "requested 8238 … is 8191".
 */
export function tokenCountsIn(text: string): TokenCounts {
  if (!/\d{3}|\d ?[km]\b/.test(text)) return {};
  const plain = text.replace(NO_COUNTS, ' ');
  const [input, part, window] = firstMatch(INPUT_PLUS_OUTPUT, plain) ?? [];
  if (window !== undefined) return counts(input, window, part);
  const [asked, all, used] = firstMatch([OUTPUT_OVER_REST], plain) ?? [];
  if (used !== undefined) return counts(used, all, asked);
  const [allowed, given, reserved] = firstMatch([LIMIT_THEN_PARTS], plain) ?? [];
  if (reserved !== undefined) return counts(given, allowed, reserved);
  const output = firstMatch([OUTPUT_PART], plain)?.[0];
  const [more, less] = firstMatch(OBSERVED_OVER_LIMIT, plain, ([a = 0, b = 0]) => a > b) ?? [];
  if (less !== undefined) return counts(more, less, output);
  return { ...pairIn(plain), ...(output !== undefined && { output }) };
}

/** The first count that exceeds one of the limits, with that limit; otherwise whatever stands alone. */
function pairIn(plain: string): TokenCounts {
  const limits = allMatches(LIMITS, plain);
  const observed = allMatches(COUNTS, plain);
  for (const count of observed) {
    const limit = limits.find((candidate) => candidate < count);
    if (limit !== undefined) return { observed: count, limit };
  }
  const [alone] = allMatches(LIMIT_ALONE, plain);
  return alone === undefined ? counts(limits.length === 0 ? observed[0] : undefined) : counts(undefined, alone);
}

function counts(observed?: number, limit?: number, output?: number): TokenCounts {
  return {
    ...(observed !== undefined && { observed }),
    ...(limit !== undefined && { limit }),
    ...(output !== undefined && { output }),
  };
}

function firstMatch(
  patterns: readonly RegExp[],
  plain: string,
  accepts: (found: number[]) => boolean = () => true,
): number[] | undefined {
  for (const pattern of patterns) {
    const found = pattern.exec(plain)?.slice(1).map(toNumber);
    if (found?.every((count) => count >= MIN_PLAUSIBLE_TOKENS) && accepts(found)) return found;
  }
  return undefined;
}

function allMatches(patterns: readonly RegExp[], plain: string): number[] {
  const found = patterns.flatMap((pattern) => [...plain.matchAll(pattern)].slice(0, 16));
  return found.map((match) => toNumber(match[1] ?? '')).filter((count) => count >= MIN_PLAUSIBLE_TOKENS);
}

/** "213,462", "131.072" and "350k" are written by different providers for the same kind of number. */
function toNumber(written: string): number {
  const digits = written.replace(/[^\d]{1,4}$/, '');
  const scale = written.endsWith('k') ? 1_000 : written.endsWith('m') ? 1_000_000 : 1;
  const isGrouped = scale === 1 && /^\d{1,3}(?:[.,]\d{3})+$/.test(digits);
  return Math.round(Number(digits.replace(isGrouped ? /[.,]/g : /,/g, '')) * scale);
}
