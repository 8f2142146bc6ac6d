import type { Mutant } from './mutant.ts';

/** The safeguards of a process against files that cost too much, and against standing still. */
export const PROCESS_MUTANTS: readonly Mutant[] = [
  {
    name: 'a decoder that is killed costs its file',
    mutations: { file: 'worker/media/decoding.ts', from: 'const TRIES_MAX = 2;', to: 'const TRIES_MAX = 1;' },
    scenario: 'decoder-killed',
    violates: 'I12',
  },
  {
    name: 'a decoder takes any memory',
    mutations: { file: 'worker/media/decoding.ts', from: '\'ulimit -d "$1"\'', to: "'true'" },
    scenario: 'decoder-killed',
    violates: 'I12',
  },
  {
    name: 'nobody watches the event loop',
    mutations: {
      file: 'shared/app/loop-watch.ts',
      from: 'if (stoodMs < frozen.frozenMs) return;',
      to: 'if (stoodMs >= 0) return;',
    },
    scenario: 'gateway-loop-frozen',
    violates: 'I12',
  },
  {
    name: 'an unclean end is not told',
    mutations: { file: 'shared/state/process/workers.ts', from: 'if (isGone) await tell(', to: 'if (isGone) void (' },
    scenario: 'gateway-loop-frozen',
    violates: 'I8',
  },
];
