import { expect, test } from '@jest/globals';
import { createSightings } from '../../../../worker/watch/sightings.ts';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3600_000;

/** Looks with a clock of Redis, and a steady one, that are set. */
function looking() {
  const clocks = { steadyMs: 5_000, redisMs: NOW };
  const lookAt = createSightings(() => clocks.steadyMs);
  return {
    clocks,
    ageOf(ms: number): number {
      const look = lookAt(clocks.redisMs);
      const age = clocks.redisMs - look.seen('it', ms);
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
