import { expect, test } from '@jest/globals';
import { within } from '../../../../shared/base/lifecycle.ts';

const LONG_MS = 60_000;
const never = new Promise<string>(() => {});

test('what ends in time is what it resolves or rejects with', async () => {
  expect(await within(Promise.resolve('done'), 0)).toBe('done');
  await expect(within(Promise.reject(new Error('gone')), LONG_MS)).rejects.toThrow('gone');
});

test('nothing once the time is over or the signal is aborted, and what fails after that is nobody’s', async () => {
  const late = Promise.withResolvers<string>();
  expect(await within(late.promise, 1)).toBeUndefined();
  late.reject(new Error('too late'));
  expect(await within(never, LONG_MS, AbortSignal.abort())).toBeUndefined();
  const ending = new AbortController();
  const waiting = within(never, LONG_MS, ending.signal);
  ending.abort();
  expect(await waiting).toBeUndefined();
});

test('no timer is left behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await within(Promise.resolve(), LONG_MS);
  expect(timers()).toBe(before);
});
