import type { CacheLifetime } from './port.ts';

/** Prices as multiples of plain input (Opus 5.5; on others reading costs 0.025 to 0.1, which changes no choice). */
const READ = 0.05;
const WRITE: Readonly<Record<CacheLifetime, number>> = { '5m': 1.25, '1h': 2 };
const LASTS_MS: Readonly<Record<CacheLifetime, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 };
/** What a turn adds to its prefix, as a share of it: this is written in any case. */
const ADDED = 0.05;
/** How many of the newest gaps predict the next one. */
const GAPS_MAX = 6;

/**
 * How long a chat's prefix is worth keeping at the provider, by the chat's rhythm: `turnTimesMs` are the times of its
 * user's messages before this one, in any order (the newest 20 are plenty), `nowMs` is the time of this one.
 *
 * The expected cost of a turn, in multiples of the prefix as plain input: when the message comes while the prefix is
 * kept, it is read and only what is new is written, `READ + ADDED * WRITE`; else all of it is written again, `(1 +
 * ADDED) * WRITE`. For a gap of up to 5 minutes that is 0.11 with 5 minutes and 0.15 with an hour; between 5 minutes
 * and an hour 1.31 against 0.15; beyond, 1.31 against 2.1. So an hour pays when the share of gaps between 5 minutes and
 * an hour is more than 0.68 of the share beyond and 0.03 of the share below. The latest gaps predict the next ones.
 *
 * The choice is repeated only when nothing is kept any more: a change of lifetime never costs a prefix, and a chat
 * whose prefix is warm keeps its lifetime. Pure, and total.
 */
export function cacheLifetime(turnTimesMs: readonly number[], nowMs: number): CacheLifetime {
  const times = [...turnTimesMs.filter((time) => time < nowMs), nowMs].sort((one, other) => one - other);
  const gaps = times.slice(1).map((time, at) => time - (times[at] ?? time));
  let lifetime: CacheLifetime = '5m';
  for (const [at, gap] of gaps.entries())
    if (gap > LASTS_MS[lifetime]) lifetime = cheaperFor(gaps.slice(Math.max(0, at + 1 - GAPS_MAX), at + 1));
  return lifetime;
}

function cheaperFor(gaps: readonly number[]): CacheLifetime {
  return costOfGaps(gaps, '1h') < costOfGaps(gaps, '5m') ? '1h' : '5m';
}

function costOfGaps(gaps: readonly number[], lifetime: CacheLifetime): number {
  const [warm, cold] = [READ + ADDED * WRITE[lifetime], (1 + ADDED) * WRITE[lifetime]];
  return gaps.reduce((sum, gap) => sum + (gap <= LASTS_MS[lifetime] ? warm : cold), 0);
}
