import { expect, test } from '@jest/globals';
import { compareStreamIds, fieldsOf, idAfter, msOf } from '../../../../shared/redis/stream.ts';

test('finds a field whose name is also the value of another field, and none that is missing', () => {
  const fields = fieldsOf(['kind', 'message', 'message', 'hello']);
  expect(Object.fromEntries(fields)).toEqual({ kind: 'message', message: 'hello' });
  expect([fieldsOf([]), fieldsOf(['kind', 'message'])].map((each) => each.get('message'))).toEqual([
    undefined,
    undefined,
  ]);
});

test('compareStreamIds orders ids by time, then by sequence number, and never as text', () => {
  const ids = ['1700000000000-0', '1700000000000-9', '1700000000000-10', '1700000000001-0', '10000000000000-0'];
  expect(ids.toReversed().sort(compareStreamIds)).toEqual(ids);
  expect(compareStreamIds('5-18446744073709551615', '5-18446744073709551614')).toBeGreaterThan(0);
  expect(compareStreamIds('5-1', '5-1')).toBe(0);
});

test('msOf returns the time of an id, and idAfter returns its successor', () => {
  expect(msOf('1700000000000-7')).toBe(1_700_000_000_000);
  expect(idAfter('1700000000000-9')).toBe('1700000000000-10');
  expect(idAfter('5-9007199254740993')).toBe('5-9007199254740994');
});
