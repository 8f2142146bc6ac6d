import { expect, test } from '@jest/globals';
import { jsonFields, jsonValue } from '../../../../shared/base/fields.ts';

test.each([
  ['{"a":{"b":1}}', { a: { b: 1 } }, { a: { b: 1 } }],
  ['[1]', [1], undefined],
  ['null', null, undefined],
  ['"text"', 'text', undefined],
  ['', undefined, undefined],
  ['{"a":', undefined, undefined],
  [undefined, undefined, undefined],
])('%j holds a value, and fields where that is an object', (text, value, fields) => {
  expect(jsonValue(text)).toEqual(value);
  expect(jsonFields(text)).toEqual(fields);
});
