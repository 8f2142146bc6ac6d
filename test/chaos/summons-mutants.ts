import type { Mutant } from './mutant.ts';

/** The safeguards of what is said where the bot is no part of the chat. */
export const SUMMONS_MUTANTS: readonly Mutant[] = [
  {
    name: 'what stands where the bot was called is not noted',
    mutations: { file: 'shared/state/turn/summons.lua', from: "if ARGV[2] ~= '' then", to: 'if false then' },
    scenario: 'killed-summons-noted',
    violates: 'I12',
  },
  {
    name: 'an answer that can stand nowhere counts as delivered',
    mutations: {
      file: 'worker/features/guests/feature.ts',
      from: "if (put.kind !== 'refused') return put;",
      to: "if (put.kind === 'refused') return { kind: 'delivered', record: { parts: 1, confirmed: 1, unsure: 0 } };\n  if (put.kind) return put;",
    },
    scenario: 'killed-summons-answered',
    violates: 'I12',
  },
];
