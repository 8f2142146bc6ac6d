import { expect, jest, test } from '@jest/globals';
import { CacheSpace } from '../../../../shared/base/cache-space.ts';
import type { SessionId } from '../../../../shared/redis/keys.ts';
import { type CachedWindow, WindowCache } from '../../../../worker/session/held-window.ts';
import { userSays } from '../../../fixture/records.ts';

const MB = 1024 * 1024;
const QUARTER_HOUR_MS = 15 * 60_000;

const idOf = (n: number) => `s-${n}` as SessionId;

function windowOf(bytes: number): CachedWindow {
  return { records: [userSays('words')], sizes: [bytes], firstIndex: 0, newestSha1: 'a', head: undefined };
}

function heldIn(cache: WindowCache, count: number): number[] {
  return Array.from({ length: count }, (_, n) => n).filter((n) => cache.of(idOf(n)) !== undefined);
}

test('what was used longest ago makes room for what is new; a window is held once, and not where it is larger than the room', () => {
  const cache = new WindowCache({ space: new CacheSpace(5 * MB), recordsMin: 0 });
  for (const n of [0, 1, 2, 3, ...Array<number>(100).fill(0), 4]) cache.store(idOf(n), windowOf(MB));
  expect(heldIn(cache, 5)).toEqual([0, 2, 3, 4]);
  cache.store(idOf(3), windowOf(6 * MB));
  expect(heldIn(cache, 5)).toEqual([0, 2, 4]);
});

test('a short window is not held', () => {
  const cache = new WindowCache();
  cache.store(idOf(0), windowOf(MB));
  expect(heldIn(cache, 1)).toEqual([]);
});

test('a conversation that rests leaves the memory', () => {
  jest.useFakeTimers();
  try {
    const cache = new WindowCache({ recordsMin: 0 });
    cache.store(idOf(0), windowOf(MB));
    jest.advanceTimersByTime(QUARTER_HOUR_MS - 1_000);
    cache.store(idOf(1), windowOf(MB));
    jest.advanceTimersByTime(QUARTER_HOUR_MS);
    expect(heldIn(cache, 2)).toEqual([1]);
    jest.advanceTimersByTime(QUARTER_HOUR_MS);
    expect(heldIn(cache, 2)).toEqual([]);
  } finally {
    jest.useRealTimers();
  }
});
