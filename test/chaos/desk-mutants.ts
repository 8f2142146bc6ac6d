import type { Mutant } from './mutant.ts';

/** The safeguards of what operators do by buttons. */
export const DESK_MUTANTS: readonly Mutant[] = [
  {
    name: 'the second of two presses takes the result of the first one off the alert',
    mutations: {
      file: 'worker/features/desk/act.ts',
      from: "if (effect !== 'done' && note?.result !== undefined)",
      to: "if (effect === 'failed' && note?.result !== undefined)",
    },
    scenario: 'killed-act-done',
    violates: 'I12',
  },
  {
    name: 'a press that is repeated after a crash does not know what is on record of it',
    mutations: {
      file: 'worker/operator/act.ts',
      from: 'const earlierRun = entry === undefined ? undefined : await actionOf(at.redis, entry);',
      to: "const earlierRun = entry !== '0-0' ? undefined : await actionOf(at.redis, entry);",
    },
    scenario: 'killed-act-done',
    violates: 'I12',
  },
];
