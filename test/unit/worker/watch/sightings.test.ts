import { expect, test } from '@jest/globals';
import { createSightings, timesSeen } from '../../../../worker/watch/sightings.ts';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3600_000;

/** Looks with a clock of Redis, and a steady one, that are set. */
function looking() {
  const clocks = { steadyMs: 5_000, redisMs: NOW };
  const lookAt = createSightings(() => clocks.steadyMs);
  return {
    clocks,
    ageOf(ms: number, name = 'it'): number {
      const look = lookAt(clocks.redisMs);
      const age = clocks.redisMs - look.seen(name, ms);
      look.end();
      return age;
    },
    pass(ms: number) {
      clocks.steadyMs += ms;
      clocks.redisMs += ms;
    },
  };
}

test('a time that lies ahead grows old from when it was first seen, whatever the clock does meanwhile', () => {
  const { ageOf, pass, clocks } = looking();
  expect(ageOf(NOW + HOUR_MS)).toBe(0);
  pass(40_000);
  expect(ageOf(NOW + HOUR_MS)).toBe(40_000);
  clocks.redisMs -= 5 * HOUR_MS;
  pass(1_000);
  expect(ageOf(NOW + HOUR_MS)).toBe(41_000);
});

test('a clock that steps forward makes nothing older, and what comes after the step is as old as it says', () => {
  const { ageOf, pass, clocks } = looking();
  const writtenMs = clocks.redisMs - 7_000;
  expect(ageOf(writtenMs)).toBe(7_000);
  pass(3_000);
  const unseenMs = clocks.redisMs;
  pass(2_000);
  clocks.redisMs += HOUR_MS;
  expect([ageOf(writtenMs), ageOf(unseenMs)]).toEqual([12_000, 2_000]);
  const laterMs = clocks.redisMs;
  pass(60_000);
  clocks.redisMs += 2 * HOUR_MS;
  expect([ageOf(writtenMs), ageOf(laterMs)]).toEqual([72_000, 60_000]);
});

test('a time that changes, or was gone in between, is young again', () => {
  const { ageOf, pass } = looking();
  ageOf(NOW + HOUR_MS);
  pass(40_000);
  expect(ageOf(NOW + HOUR_MS + 1)).toBe(0);
  pass(40_000);
  expect(ageOf(NOW + HOUR_MS)).toBe(0);
});

test('a record has its times seen, at any depth, and nothing else changed; a time that is none throws', () => {
  const { clocks } = looking();
  const look = createSightings(() => clocks.steadyMs)(NOW);
  const record = { atMs: NOW - 1, count: NOW + 5, why: 'a', inner: { sinceMs: NOW + 5 }, allMs: [NOW + 5] };
  expect(timesSeen('record', record, look)).toEqual({ ...record, inner: { sinceMs: NOW } });
  expect(() => look.seen('it', Number('yesterday'))).toThrow(RangeError);
});
