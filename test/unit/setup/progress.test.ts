import { expect, test } from '@jest/globals';
import {
  advance,
  begin,
  changesOf,
  findOverrides,
  nextStep,
  type Progress,
  type Step,
} from '../../../setup/progress.ts';
import { faultOf, firstPerson, withId } from '../../../setup/value.ts';

const after = (progress: Progress, ...steps: Step[]) =>
  steps.reduce((sofar, step) => advance(sofar, step, {}), progress);
const ASKED: readonly Step[] = ['bot', 'owner', 'alerts', 'pairing', 'watchers', 'model', 'zone'];

test('the steps come in their order; a file that stays as it is is not saved', () => {
  const begun = begin({}, {});
  expect(ASKED.map((_, at) => nextStep(after(begun, ...ASKED.slice(0, at))))).toEqual(ASKED);
  const asked = after(begun, ...ASKED);
  expect(nextStep(asked)).toBeUndefined();
  expect(nextStep(advance(asked, 'zone', { answers: { TZ: 'UTC' } }))).toBe('save');
});

test.each([
  ['greeting', {}, 1],
  ['greeting', { TELEGRAM_BOT_TOKEN: '' }, 1],
  [undefined, { TELEGRAM_BOT_TOKEN: 'there' }, 1],
  [undefined, {}, undefined],
] as const)('behind the file comes %s for %j and the owner %s', (step, file, ownerId) => {
  expect(nextStep({ ...after(begin(file, {}), ...ASKED, 'save'), ownerId })).toBe(step);
});

test('an answer is a change unless the file says it already; the environment is a suggestion that is written down', () => {
  const begun = begin({ A: '1', B: '2' }, { B: '3', C: '4', D: '' });
  expect(begun.values).toEqual({ A: '1', B: '3', C: '4' });
  const done = advance(begun, 'bot', { answers: { A: '1', B: '3', C: '4' } });
  expect(Object.fromEntries(changesOf(done))).toEqual({ B: '3', C: '4' });
  expect(findOverrides(done, { A: '1', B: 'other', Z: 'x' })).toEqual(['B']);
});

test('a value is judged by the rule of its setting, and the words do not quote it', () => {
  expect(faultOf('TELEGRAM_BOT_TOKEN', 'secret')).toMatch(/^expected a bot token(?!.*secret)/);
  expect(faultOf('TZ', 'Europe/Berlin')).toBeUndefined();
  expect(faultOf('MODEL', '')).toBeDefined();
  expect(faultOf('MODEL', "o'model")).toMatch(/quote/);
});

test('ids are added once, and the first person of a list is found behind groups and *', () => {
  expect([withId('1, -5,', 1), withId(undefined, 7)]).toEqual(['1,-5', '7']);
  expect([firstPerson('*,-5, 12,13'), firstPerson(undefined)]).toEqual([12, undefined]);
});
