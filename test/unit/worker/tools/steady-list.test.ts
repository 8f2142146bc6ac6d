import { expect, test } from '@jest/globals';
import { steadyList } from '../../../../worker/tools/steady-list.ts';

test('a list with the same items is the list before, and any other is a new one', () => {
  const [a, b] = [{}, {}];
  const steady = steadyList<object>();
  const first = steady([a, b]);
  expect(steady([a, b])).toBe(first);
  for (const other of [[a], [b, a], [a, b, {}], []]) {
    const now = steady(other);
    expect(now).toBe(other);
    expect(steady([...other])).toBe(now);
  }
});
