import { expect, test } from '@jest/globals';
import { createClock } from '../../../../../shared/state/lane/lanes.ts';

const YEAR_MS = 365 * 24 * 3_600_000;

test('a reply without a time changes nothing, and a failed call rejects with its error', async () => {
  const clock = createClock();
  await clock.learn(
    async () => 'settled',
    () => undefined,
  );
  const failing = clock.learn(
    () => Promise.reject(new Error('away')),
    () => YEAR_MS,
  );
  await expect(failing).rejects.toThrow('away');
  expect(Math.abs(clock.nowMs() - Date.now())).toBeLessThan(1_000);
});

test('the time of a slow reply is ignored once a faster one was learnt', async () => {
  const clock = createClock();
  const right = performance.now;
  const late = async (): Promise<number> => {
    const base = right.call(performance);
    performance.now = () => base + 1_500;
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
