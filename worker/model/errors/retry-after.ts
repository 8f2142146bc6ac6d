import { header } from './field.ts';

/** How long the provider asks to wait in a header, in ms. */
export function retryAfterHeader(part: unknown, now: () => number): number | undefined {
  const milliseconds = header(part, 'retry-after-ms');
  if (milliseconds !== undefined && /^\d{1,12}(?:\.\d{1,6})?$/.test(milliseconds))
    return Math.round(Number(milliseconds));
  const after = header(part, 'retry-after');
  if (after === undefined) return undefined;
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(after)) return Math.round(Number(after) * 1000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now());
}

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;

/**
 * How long the text asks to wait, in ms: "try again in 1.971s", "retry after 30 seconds", "Please try again in 6m0s",
 * `"retryDelay":"34s"`.
 */
export function retryAfterText(plain: string): number | undefined {
  const bare = /retry after( ms)?\W{1,3}(\d{1,7}(?:\.\d{1,3})?)(?![\d.]| ?[a-z])/.exec(plain);
  if (bare?.[2] !== undefined) return Math.round(Number(bare[2]) * (bare[1] === undefined ? 1_000 : 1));
  const duration =
    /(?:try(?:ing)? again|retry(?: after| delay| in)?|wait)[^\d\n]{0,24}((?:\d{1,6}(?:\.\d{1,9})? ?(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![a-z]) ?){1,4})/.exec(
      plain,
    )?.[1];
  if (duration === undefined) return undefined;
  const terms = [...duration.matchAll(/(\d{1,6}(?:\.\d{1,9})?) ?(ms|mil|s|m|h)/g)];
  return Math.round(
    terms.reduce(
      (sum, [, count, unit]) => sum + Number(count) * UNIT_MS[(unit === 'mil' ? 'ms' : unit) as keyof typeof UNIT_MS],
      0,
    ),
  );
}
