import { expect, test } from '@jest/globals';
import { fieldsOf } from '../../../../shared/redis/fields.ts';

test('a name that is also the value of another field is found by its own place', () => {
  const fields = fieldsOf(['kind', 'message', 'message', 'hello']);
  expect([...fields]).toEqual([
    ['kind', 'message'],
    ['message', 'hello'],
  ]);
});

test('a field that is missing is undefined', () => {
  expect(fieldsOf([]).get('message')).toBeUndefined();
  expect(fieldsOf(['kind', 'text']).get('message')).toBeUndefined();
});
