import { expect, test } from '@jest/globals';
import { compareStreamIds, idAfter, msOf } from '../../../../shared/redis/stream-id.ts';

test('ids stand by their time, and within a millisecond by their number, whatever they look like as text', () => {
  const ids = ['1700000000000-0', '1700000000000-9', '1700000000000-10', '1700000000001-0', '10000000000000-0'];
  expect(ids.toReversed().sort(compareStreamIds)).toEqual(ids);
  expect(compareStreamIds('5-18446744073709551615', '5-18446744073709551614')).toBeGreaterThan(0);
  expect(compareStreamIds('5-1', '5-1')).toBe(0);
});

test('the time and the successor of an id', () => {
  expect(msOf('1700000000000-7')).toBe(1_700_000_000_000);
  expect(idAfter('1700000000000-9')).toBe('1700000000000-10');
  expect(idAfter('5-9007199254740993')).toBe('5-9007199254740994');
});
