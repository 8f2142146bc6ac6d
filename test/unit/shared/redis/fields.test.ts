import { expect, test } from '@jest/globals';
import { fieldsOf } from '../../../../shared/redis/stream.ts';

test('finds a field whose name is also the value of another field', () => {
  const fields = fieldsOf(['kind', 'message', 'message', 'hello']);
  expect([...fields]).toEqual([
    ['kind', 'message'],
    ['message', 'hello'],
  ]);
});

test('a missing field is undefined', () => {
  expect(fieldsOf([]).get('message')).toBeUndefined();
  expect(fieldsOf(['kind', 'text']).get('message')).toBeUndefined();
});
