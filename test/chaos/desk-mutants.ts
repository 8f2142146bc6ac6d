import type { Mutant } from './mutant.ts';

/** The safeguards of what operators do by buttons. */
export const DESK_MUTANTS: readonly Mutant[] = [
  {
    name: 'what was pressed is done twice: a later press does not see that it is done',
    mutations: {
      file: 'worker/desk/claim.ts',
      from: 'if (isLater || (before && isUnderWay(before, nowMs)))',
      to: 'if ((n < 0 && isLater) || (before && isUnderWay(before, nowMs)))',
    },
    scenario: 'killed-act-done',
    violates: 'I12',
  },
  {
    name: 'a press that is repeated after a crash does not know its own note',
    mutations: {
      file: 'worker/desk/claim.ts',
      from: 'if (before?.entry === entry) return undefined;',
      to: 'if (before?.entry === entry && n < 0) return undefined;',
    },
    scenario: 'killed-act-claimed',
    violates: 'I12',
  },
];
