import { expect, test } from '@jest/globals';
import {
  advance,
  begin,
  changesOf,
  nextStep,
  overruled,
  type Progress,
  STEPS,
  type Step,
} from '../../../setup/progress.ts';
import { faultOf, firstPerson, withId } from '../../../setup/value.ts';

function after(progress: Progress, ...steps: Step[]): Progress {
  return steps.reduce((sofar, step) => advance(sofar, step, {}), progress);
}

test('the steps come in their order; a file that stays as it is is not saved', () => {
  const begun = begin({}, {});
  expect(nextStep(begun)).toBe('bot');
  expect(nextStep(after(begun, 'bot'))).toBe('owner');
  const asked = after(begun, 'bot', 'owner', 'alerts', 'watchers', 'model', 'zone');
  expect(nextStep(asked)).toBeUndefined();
  expect(nextStep(advance(asked, 'zone', { answers: { TZ: 'UTC' } }))).toBe('save');
  expect(nextStep(after(begun, ...STEPS))).toBeUndefined();
});

test('who set up a new bot is greeted behind the file, and nobody is in an installation that was there', () => {
  const steps = (file: Record<string, string>, ownerId?: number) => {
    const asked = after(begin(file, {}), 'bot', 'owner', 'alerts', 'watchers', 'model', 'zone', 'save');
    return nextStep({ ...asked, ownerId });
  };
  expect([steps({}, 1), steps({ TELEGRAM_BOT_TOKEN: '' }, 1)]).toEqual(['greeting', 'greeting']);
  expect([steps({ TELEGRAM_BOT_TOKEN: 'there' }, 1), steps({})]).toEqual([undefined, undefined]);
});

test('an answer is a change unless the file says it already; the environment is a suggestion that is written down', () => {
  const begun = begin({ A: '1', B: '2' }, { B: '3', C: '4', D: '' });
  expect(begun.values).toEqual({ A: '1', B: '3', C: '4' });
  const done = advance(begun, 'bot', { answers: { A: '1', B: '3', C: '4' } });
  expect([...changesOf(done)]).toEqual([
    ['B', '3'],
    ['C', '4'],
  ]);
});

test('a name whose value in the environment differs from the answer is overruled', () => {
  const done = advance(begin({}, {}), 'bot', { answers: { A: '1', B: '2', C: '3' } });
  expect(overruled(done, { A: '1', B: 'other', Z: 'x' })).toEqual(['B']);
});

test('a value is judged by the rule of its setting, and the words do not quote it', () => {
  expect(faultOf('TELEGRAM_BOT_TOKEN', 'secret')).toMatch(/^expected a bot token/);
  expect(faultOf('TELEGRAM_BOT_TOKEN', 'secret')).not.toContain('secret');
  expect(faultOf('TZ', 'Europe/Berlin')).toBeUndefined();
  expect(faultOf('MODEL', '')).toBeDefined();
  expect(faultOf('MODEL', "o'model")).toMatch(/quote/);
});

test('ids are added once, and the first person of a list is found behind groups and *', () => {
  expect(withId('1, -5,', 1)).toBe('1,-5');
  expect(withId(undefined, 7)).toBe('7');
  expect(firstPerson('*,-5, 12,13')).toBe(12);
  expect(firstPerson(undefined)).toBeUndefined();
});
