import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runningSum } from '../../../../worker/model/running-sum.ts';
import { SEEDED } from '../../../fixture/texts.ts';

interface Coin {
  readonly worth: number;
}

const COINS: readonly Coin[] = [1, 2, 5, 10, 20].map((worth) => ({ worth }));

test('the sum is that of the items, whatever lists were summed before', () => {
  const sum = runningSum<Coin>(({ worth }) => worth);
  const lists = fc.array(fc.constantFrom(...COINS), { maxLength: 6 });
  fc.assert(
    fc.property(lists, (coins) => {
      expect(sum(coins)).toBe(coins.reduce((total, { worth }) => total + worth, 0));
    }),
    { ...SEEDED, numRuns: 2_000 },
  );
});

test('an item that was counted in the same place is not looked at again', () => {
  const looked: number[] = [];
  const sum = runningSum<Coin>(({ worth }) => {
    looked.push(worth);
    return worth;
  });
  sum(COINS.slice(0, 3));
  sum(COINS);
  expect(looked).toEqual([1, 2, 5, 10, 20]);
});
