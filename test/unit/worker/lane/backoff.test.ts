import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CONSTANTS } from '../../../../shared/base/settings.ts';
import { backoffMs } from '../../../../worker/lane/backoff.ts';
import { forAll } from '../../../fixture/texts.ts';

const { RETRY_MS } = CONSTANTS;
const HIGHEST = () => 0.999_999;
const LOWEST = () => 0;
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('the backoff grows with each attempt, from 2 seconds up to 30', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => backoffMs(attempt, RETRY_MS, undefined, HIGHEST));
  expect(waits).toEqual([2_000, 5_000, 12_500, 30_000, 30_000, 30_000]);
});

test('the backoff is between 1.5 and 30 seconds for any attempt, and is not the same for chats that failed together', () => {
  forAll([fc.oneof(fc.integer(), fc.constant(Number.POSITIVE_INFINITY)), random], (attempt, drawn) => {
    const wait = backoffMs(attempt, RETRY_MS, undefined, () => drawn);
    expect(Number.isInteger(wait)).toBe(true);
    expect(wait).toBeGreaterThanOrEqual(1_500);
    expect(wait).toBeLessThanOrEqual(30_000);
  });
  expect(backoffMs(3, RETRY_MS, undefined, LOWEST)).toBeLessThan(backoffMs(3, RETRY_MS, undefined, HIGHEST) * 0.8);
  expect(new Set(Array.from({ length: 50 }, () => backoffMs(4, RETRY_MS))).size).toBeGreaterThan(25);
});

test('a wait that the provider asks for is never shortened, and one that is none is not obeyed', () => {
  forAll([fc.integer({ min: 1, max: 10 }), fc.integer({ min: 0, max: 1_000_000 })], (attempt, asked) => {
    const own = backoffMs(attempt, RETRY_MS, undefined, LOWEST);
    expect(backoffMs(attempt, RETRY_MS, asked, LOWEST)).toBe(Math.max(asked, own));
  });
  for (const asked of [undefined, 0, -5_000, Number.NaN]) expect(backoffMs(2, RETRY_MS, asked, HIGHEST)).toBe(5_000);
});
