import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { roomOf } from '../../../../worker/model/count.ts';
import { SEEDED } from '../../../fixture/texts.ts';

const settings = fc.record({
  maxOutputTokens: fc.integer({ min: 1, max: 200_000 }),
  compactAt: fc.double({ min: 0.1, max: 0.95, noNaN: true }),
});

test('at every window size 0 < kept < retained < full < usable, and usable plus output fit the window', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_000, max: 2_000_000 }), settings, (limitTokens, given) => {
      const room = roomOf(limitTokens, given);
      expect(room.fullTokens).toBeLessThanOrEqual(room.usableTokens * 0.8);
      expect(room.usableTokens + room.outputTokens).toBeLessThanOrEqual(limitTokens);
      expect(room.keptTokens).toBeLessThanOrEqual(room.usableTokens * 0.2);
      expect(room.retainedTokens).toBeLessThanOrEqual(room.fullTokens / 2);
      expect(room.keptTokens).toBeLessThan(room.retainedTokens);
      expect(Math.min(room.outputTokens, room.keptTokens)).toBeGreaterThan(0);
    }),
    SEEDED,
  );
});

test.each([
  [20_000, { usableTokens: 10_000, fullTokens: 8_000, outputTokens: 10_000 }],
  [200_000, { usableTokens: 184_000, fullTokens: 140_000, outputTokens: 16_000 }],
  [1_000_000, { usableTokens: 984_000, fullTokens: 700_000, outputTokens: 16_000 }],
])('divides a window of %d tokens into usable, full and output tokens', (limitTokens, expected) => {
  expect(roomOf(limitTokens, { maxOutputTokens: 16_000, compactAt: 0.7 })).toMatchObject(expected);
});
