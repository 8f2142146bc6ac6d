import { runInThisContext } from 'node:vm';
import { expect, test } from '@jest/globals';

/** What Node's own realm has under a name. */
const outside = (name: string): unknown => runInThisContext(name);

test('suites have a global object and builtins apart from those of Node, which stay as they are', () => {
  expect(outside('globalThis') === globalThis).toBe(false);
  for (const name of ['Object', 'Array', 'Promise', 'Error', 'Date']) {
    expect(outside(name) === Reflect.get(globalThis, name)).toBe(false);
  }
  Object.assign(globalThis, { leftBehind: true });
  expect(outside('typeof leftBehind')).toBe('undefined');
});

test('what Node adds to the language is there, and can be replaced in a suite alone', () => {
  for (const name of ['URL', 'AbortController', 'structuredClone', 'Buffer', 'Uint8Array']) {
    expect(outside(name) === Reflect.get(globalThis, name)).toBe(true);
  }
  const before = globalThis.fetch;
  globalThis.fetch = async () => new Response('from here');
  expect(outside('fetch') === globalThis.fetch).toBe(false);
  globalThis.fetch = before;
});
