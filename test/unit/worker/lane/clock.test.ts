import { expect, test } from '@jest/globals';
import { createClock } from '../../../../worker/lane/clock.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

test('until something is learnt it is the time of this process, then that of Redis, which goes on by itself', async () => {
  const clock = createClock();
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000);
  const reply = await clock.learn(
    async () => ['begun', YEAR_MS] as const,
    ([, timeMs]) => timeMs,
  );
  expect(reply).toEqual(['begun', YEAR_MS]);
  expect(clock.nowMs()).toBeGreaterThanOrEqual(YEAR_MS - 1);
  expect(clock.nowMs()).toBeLessThan(YEAR_MS + 10_000);
});

test('a reply that says no time teaches nothing, and one that fails is passed on', async () => {
  const clock = createClock();
  await clock.learn(
    async () => 'settled',
    () => undefined,
  );
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000);
  const failing = clock.learn(
    async () => Promise.reject(new Error('away')),
    () => YEAR_MS,
  );
  await expect(failing).rejects.toThrow('away');
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000);
});

test('a reply that was long in coming changes nothing, unless there is nothing better', async () => {
  const clock = createClock();
  const right = performance.now;
  const late = async (): Promise<number> => {
    const base = right.call(performance);
    performance.now = () => base + 60_000;
    return 5 * YEAR_MS;
  };
  try {
    await clock.learn(late, (timeMs) => timeMs);
    expect(clock.nowMs()).toBeGreaterThan(4 * YEAR_MS);
    performance.now = right;
    await clock.learn(
      async () => YEAR_MS,
      (timeMs) => timeMs,
    );
    await clock.learn(late, (timeMs) => timeMs);
    expect(clock.nowMs()).toBeLessThan(2 * YEAR_MS);
  } finally {
    performance.now = right;
  }
});
