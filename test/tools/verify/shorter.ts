/**
 * How many times faster the clocks of the stack run than in production. At twenty, an outage of ten minutes takes half a
 * minute.
 */
export const FASTER = 20;

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };
const DURATION = /\b(\d+)(ms|s|m|h|d)\b/g;
/** Ranges of PromQL, and of subqueries their step. */
const RANGE = /\[[\dsmhd:]+\]/g;
/** A comparison of a metric that ends in a unit of time with a number. */
const AGE_LIMIT = /(_seconds(?:_bucket)?\b[^<>]*?>=?\s*)(\d+)/g;
const RETENTION_OF_YAML = /^ +(?:time|size): .*$/m;

/** A duration like `10m` as seconds. Rejects other words. */
function secondsOf(duration: string): number {
  const [, number, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(duration) ?? [];
  if (number === undefined || unit === undefined) throw new Error(`${duration} is no duration`);
  return Number(number) * (SECONDS[unit] ?? Number.NaN);
}

/** The same duration so many times shorter, in whole seconds, and never none. */
export function shorterDuration(duration: string, times = FASTER): string {
  return `${Math.max(1, Math.round(secondsOf(duration) / times))}s`;
}

/** An expression with shorter ranges and limits of age. Counts and shares stay as they are. Pure. */
export function shorterExpression(expression: string, times = FASTER): string {
  return expression
    .replace(RANGE, (range) => range.replace(DURATION, (duration) => shorterDuration(duration, times)))
    .replace(AGE_LIMIT, (_, before: string, limit: string) => `${before}${Number(limit) / times}`);
}

/** The repository's file of rules with shorter ranges, limits of age and `for`. Pure. */
export function shorterRules(yaml: string, times = FASTER): string {
  return shorterExpression(withoutComments(yaml), times).replace(
    /^( +for: )(\w+)$/gm,
    (_, before: string, duration: string) => `${before}${shorterDuration(duration, times)}`,
  );
}

/** Any configuration whose values are durations: each of them is shorter, retention is not. Pure. */
export function shorterSettings(yaml: string, times = FASTER): string {
  return withoutComments(yaml)
    .split('\n')
    .map((line) =>
      RETENTION_OF_YAML.test(line)
        ? line
        : line.replace(/(: )(\d+(?:ms|s|m|h|d))$/, (_, before: string, duration: string) => {
            return `${before}${shorterDuration(duration, times)}`;
          }),
    )
    .join('\n');
}

function withoutComments(yaml: string): string {
  return yaml.replace(/^\s*#.*\n/gm, '');
}
