import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { CacheLifetime } from '../../../../worker/model/port.ts';
import { cacheLifetime } from '../../../../worker/model/prices.ts';
import { SEEDED } from '../../../fixture/texts.ts';

const MINUTE = 60_000;
const DAY = 24 * 60;
const LASTS_MS = { '5m': 5 * MINUTE, '1h': 60 * MINUTE };
const NOW = 1_800_000_000_000;

/** The lifetime for a chat whose messages came with these gaps, in minutes, the newest last. */
function after(...gaps: number[]): CacheLifetime {
  const times = timesOf(gaps);
  return cacheLifetime(times.slice(0, -1), times.at(-1) ?? NOW);
}

function timesOf(minutes: readonly number[]): number[] {
  const times = [NOW];
  for (const gap of minutes) times.push((times.at(-1) ?? NOW) + gap * MINUTE);
  return times;
}

test.each<[string, number[], CacheLifetime]>([
  ['a first message is 5 minutes', [], '5m'],
  ['quick talk is 5 minutes', [1, 2, 1, 3, 1, 2], '5m'],
  ['a message every ten minutes is an hour', [10, 12, 9, 15, 10, 11], '1h'],
  ['a message every forty minutes is an hour', [40, 45, 38, 50, 41, 44], '1h'],
  ['a message every two hours is 5 minutes', [120, 130, 125, 118, 122, 140], '5m'],
  ['a message a day is 5 minutes', [DAY, DAY, DAY], '5m'],
  ['quick talk with an occasional pause is an hour', [1, 2, 1, 3, 2, 12], '1h'],
  ['quick talk once a day is 5 minutes', [1, 2, 1, 2, 1, DAY], '5m'],
  ['a few messages over each morning is an hour', [20, 15, 25, 18, 22, DAY], '1h'],
])('the cache lifetime for %s', (_what, gaps, lifetime) => {
  expect(after(...gaps)).toBe(lifetime);
});

test('ignores the order of the times, future times and NaN', () => {
  const times = timesOf([10, 12, 9, 15]);
  const now = times.at(-1) ?? NOW;
  expect(cacheLifetime([...times].reverse(), now)).toBe(cacheLifetime(times, now));
  expect(cacheLifetime([...times, now + 1, Number.NaN], now)).toBe('1h');
});

const gaps = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 90 }), fc.integer({ min: 0, max: 3 * DAY })),
  {
    maxLength: 40,
  },
);

test('the lifetime never changes while the prefix is still cached', () => {
  fc.assert(
    fc.property(gaps, (all) => {
      const times = timesOf(all);
      for (let at = 1; at < times.length; at++) {
        const before = cacheLifetime(times.slice(0, at - 1), times[at - 1] ?? 0);
        const now = cacheLifetime(times.slice(0, at), times[at] ?? 0);
        if (now !== before) expect((all[at - 1] ?? 0) * MINUTE).toBeGreaterThan(LASTS_MS[before]);
      }
    }),
    SEEDED,
  );
});

/** What all turns cost, in multiples of a prefix that does not grow, when each is sent with the lifetime chosen then. */
function costOf(all: readonly number[], choose: (at: number) => CacheLifetime): number {
  const write = { '5m': 1.25, '1h': 2 };
  return all.reduce((cost, gap, at) => {
    const isKept = gap * MINUTE <= LASTS_MS[choose(at)];
    const next = write[choose(at + 1)];
    return cost + (isKept ? 0.05 + 0.05 * next : 1.05 * next);
  }, 0);
}

test.each([
  ['quick', 0, 4],
  ['slow', 6, 50],
  ['rare', 70, 600],
  ['mixed', 1, 50],
])(
  'over a long chat with a %s rhythm the choice costs at most 10 %% and 4 prefixes more than the better lifetime',
  (_rhythm, min, max) => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min, max }), { minLength: 100, maxLength: 100 }), (all) => {
        const times = timesOf(all);
        const chosen = costOf(all, (at) => cacheLifetime(times.slice(0, at), times[at] ?? 0));
        const best = Math.min(
          costOf(all, () => '5m'),
          costOf(all, () => '1h'),
        );
        expect(chosen).toBeLessThanOrEqual(best * 1.1 + 4);
      }),
      { ...SEEDED, numRuns: 50 },
    );
  },
);
