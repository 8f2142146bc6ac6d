import { expect, test } from '@jest/globals';
import { endsIn, withEnd } from '../../../../worker/lane/ended-attempts.ts';

const END = { atMs: 1, attempt: 1, reason: 'overloaded', delayMs: 5 };

test('withEnd appends, and keeps the newest twenty', () => {
  let field: string | undefined;
  for (let attempt = 1; attempt <= 25; attempt++) field = withEnd(field, { ...END, attempt });
  expect(endsIn(field).map(({ attempt }) => attempt)).toEqual(Array.from({ length: 20 }, (_, at) => at + 6));
});

test.each([[undefined], ['{"torn'], ['{}'], ['5']])('endsIn of %j is empty', (field) => {
  expect(endsIn(field)).toEqual([]);
});
