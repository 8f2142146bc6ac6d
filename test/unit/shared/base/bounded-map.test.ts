import { expect, test } from '@jest/globals';
import { BoundedMap } from '../../../../shared/base/bounded-map.ts';

test('a bounded map keeps what was set last, and gives out what is taken once', () => {
  const map = new BoundedMap<string, number>(2);
  for (const [key, value] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
    ['c', 4],
  ] as const)
    map.set(key, value);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4]);
  expect([map.take('a'), map.take('a')]).toEqual([3, undefined]);
});

test('a value is computed once while it is kept', () => {
  const map = new BoundedMap<string, number | undefined>(2);
  let computed = 0;
  const of = (key: string) => map.getOrInsertComputed(key, () => (++computed > 1 ? computed : undefined));
  expect([of('a'), of('a'), of('b'), of('a'), of('c')]).toEqual([undefined, undefined, 2, undefined, 3]);
  expect(of('a')).toBe(4);
});
