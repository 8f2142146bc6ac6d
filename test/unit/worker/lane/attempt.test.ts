import { expect, test } from '@jest/globals';
import type { EntryId } from '../../../../shared/redis/keys.ts';
import { ageMs } from '../../../../worker/lane/attempt.ts';

const entry = '10000-0' as EntryId;

test.each([
  ['the time since its acceptance', 10_250, 250],
  ['0 where the clock is behind: nothing waits because of that', 4_000, 0],
])('the age of a message is %s', (_what, nowMs, expected) => {
  expect(ageMs({ entry, nowMs: () => nowMs })).toBe(expected);
});
