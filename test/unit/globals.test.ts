import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { keepGlobals } from '../environment/globals.ts';

function madeRealm() {
  const process = Object.assign(new EventEmitter(), { env: { A: 'a', B: 'b' }, exit: () => 'real' });
  return Object.defineProperties({ process, parse: JSON.parse }, { lent: { configurable: true, get: () => 'lent' } });
}

test('a global object and its process are put back, and only what cannot be deleted stays', () => {
  const realm = madeRealm();
  const restore = keepGlobals(realm as never);
  const { process } = realm;
  Object.assign(realm, { parse: () => 'other', added: 1, [Symbol.for('added')]: 1 });
  Object.defineProperty(realm, 'lent', { get: () => 'other' });
  Object.defineProperty(realm, 'fixed', { value: 1 });
  Object.assign(process, { env: Object.assign(process.env, { A: 'other', C: 'c' }), exit: () => 'other' });
  Reflect.deleteProperty(process.env, 'B');
  process.on('SIGTERM', () => undefined);
  restore();
  expect(process.env).toEqual({ A: 'a', B: 'b' });
  expect(process.exit()).toBe('real');
  expect(process.eventNames()).toEqual([]);
  expect(Reflect.ownKeys(realm)).toEqual(['process', 'parse', 'lent', 'fixed']);
  expect(realm).toMatchObject({ parse: JSON.parse, lent: 'lent' });
});
