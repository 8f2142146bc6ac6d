import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONSTANTS } from '../../../../shared/base/settings.ts';
import { backoffMs } from '../../../../worker/lane/backoff.ts';
import { SEEDED } from '../../../fixture/texts.ts';

const { RETRY_MS } = CONSTANTS;

const LOWEST = () => 0;
const HIGHEST = () => 0.999_999;

test('the backoff grows with each attempt, from 2 seconds up to 30', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(attempt, RETRY_MS, undefined, HIGHEST));
  expect(waits).toEqual([2_000, 5_000, 12_500, 30_000, 30_000, 30_000]);
  for (const [index, wait] of waits.entries()) expect(wait).toBeGreaterThanOrEqual(waits[index - 1] ?? 0);
});

test('the backoff is between 1.5 and 30 seconds for any attempt', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer(), fc.constant(Number.POSITIVE_INFINITY)),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, random) => {
        const wait = backoffMs(attempt, RETRY_MS, undefined, () => random);
        expect(Number.isInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(1_500);
        expect(wait).toBeLessThanOrEqual(30_000);
      },
    ),
    SEEDED,
  );
});

test('the backoff has jitter, so that chats that failed together do not retry together', () => {
  expect(backoffMs(3, RETRY_MS, undefined, LOWEST)).toBeLessThan(backoffMs(3, RETRY_MS, undefined, HIGHEST) * 0.8);
  const seen = new Set(Array.from({ length: 50 }, () => backoffMs(4, RETRY_MS)));
  expect(seen.size).toBeGreaterThan(25);
});

test('a wait that the provider asks for is never shortened', () => {
  expect(backoffMs(1, RETRY_MS, 60_000, LOWEST)).toBe(60_000);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 1_000_000 }), (attempt, asked) => {
      const wait = backoffMs(attempt, RETRY_MS, asked, LOWEST);
      expect(wait).toBeGreaterThanOrEqual(asked);
      expect(wait).toBeGreaterThanOrEqual(backoffMs(attempt, RETRY_MS, undefined, LOWEST));
    }),
    SEEDED,
  );
});

test('a missing, zero, negative or NaN retry-after falls back to our own backoff', () => {
  for (const asked of [undefined, 0, -5_000, Number.NaN]) expect(backoffMs(2, RETRY_MS, asked, HIGHEST)).toBe(5_000);
});
