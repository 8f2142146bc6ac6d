import type { Mutant } from './mutant.ts';

/** The endpoint fails for long in these scenarios, so the sound product needs longer than usual. */
const PATIENCE_S = 30;

/** The safeguards of those who watch. */
export const WATCHER_MUTANTS: readonly Mutant[] = [
  {
    name: 'an incident of another version is taken for one of ours',
    mutations: { file: 'worker/alerts/book-store.ts', from: '.refine((cause) => rowOf(cause) !== undefined)', to: '' },
    scenario: 'book-unknown',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'an alert with an unknown cause is entered as it is',
    mutations: {
      file: 'worker/alerts/book-store.ts',
      from: 'return rowOf(alert.cause) ? alert :',
      to: 'return alert.text ? alert :',
    },
    scenario: 'book-unknown',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'a rule that throws ends the look',
    mutations: {
      file: 'worker/alerts/watch-failure.ts',
      from: 'failed.push({ what: nameOf(one), error });',
      to: 'throw failed.length > 1e9 ? nameOf(one) : error;',
    },
    scenario: 'state-unreadable',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'what cannot be read ends the look',
    mutations: {
      file: 'worker/alerts/watch-failure.ts',
      from: 'errors.find((error) => !isAboutData(error));',
      to: 'errors.find((error) => !isAboutData(error) || error);',
    },
    scenario: 'state-unreadable',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'what lies ahead of the clock stays young',
    mutations: {
      file: 'worker/watch/sightings.ts',
      from: 'return Math.round(nowMs - (steadyMs() - firstMs));',
      to: 'return Math.max(nowMs, firstMs);',
    },
    scenario: 'redis-clock-back',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'the rate of alerts is held against a clock that stepped back',
    mutations: {
      file: 'worker/alerts/alerter.ts',
      from: 'ofNow(begun.record, nowMs)',
      to: 'begun.record',
    },
    scenario: 'redis-clock-back',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
  {
    name: 'a pause hides every chat',
    mutations: {
      file: 'shared/state/lane/overdue.lua',
      from: "paused['*'] or paused[chat]",
      to: 'next(paused) ~= nil',
    },
    scenario: 'pause-busy',
    violates: 'I8',
    patienceS: PATIENCE_S,
  },
];
