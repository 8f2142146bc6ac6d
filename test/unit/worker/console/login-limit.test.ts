import { expect, test } from '@jest/globals';
import { createLoginLimit, WINDOW_MS, WRONG_MAX } from '../../../../worker/console/login.ts';

test('an address waits for the rest of the minute after its fifth wrong token; others do not', () => {
  const limit = createLoginLimit();
  for (let nth = 0; nth < WRONG_MAX; nth++) {
    expect(limit.waitSeconds('a', nth)).toBe(0);
    limit.note('a', nth);
  }
  expect(limit.waitSeconds('a', 10_000)).toBe(50);
  expect(limit.waitSeconds('b', 10_000)).toBe(0);
  expect(limit.waitSeconds('a', WINDOW_MS)).toBe(0);
});

test('a thousand other addresses make it forget the oldest, and its memory stays bounded', () => {
  const limit = createLoginLimit();
  for (let nth = 0; nth < WRONG_MAX; nth++) limit.note('a', 0);
  for (let address = 0; address < 999; address++) limit.note(`other ${address}`, 0);
  expect(limit.waitSeconds('a', 0)).toBeGreaterThan(0);
  limit.note('one more', 0);
  expect(limit.waitSeconds('a', 0)).toBe(0);
});
