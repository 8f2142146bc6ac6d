import type { Mutant } from './mutant.ts';

/** Where answers are slow, the sound product needs longer. */
const SLOW_PATIENCE_S = 30;

/** The safeguards against odd, slow and endless replies of the model and its endpoint. */
export const MODEL_MUTANTS: readonly Mutant[] = [
  {
    name: 'a refusal is believed at once',
    mutations: {
      file: 'worker/recovery/policy.ts',
      from: 'const isRepeated = failure.isSeconded === true ||',
      to: 'const isRepeated = true ||',
    },
    scenario: 'claude-lies',
    violates: 'I8',
  },
  {
    name: 'a model is gone by one 404',
    mutations: {
      file: 'worker/recovery/policy.ts',
      from: 'return isOwnFinding(failure) ? undefined : repeat;',
      to: "return isOwnFinding(failure) || failure.kind === 'model' ? undefined : repeat;",
    },
    scenario: 'claude-forgets-model',
    violates: 'I8',
  },
  {
    name: 'a search that was cut off goes back without its result',
    mutations: [
      {
        file: 'worker/session/turns.ts',
        from: 'if (left.length === answer.placed.length) return;',
        to: 'if (left) return;',
      },
      {
        file: 'worker/model/claude/adapter.ts',
        from: 'if (violation === undefined) return sendCall(',
        to: 'if (wire) return sendCall(',
      },
      {
        file: 'worker/ask/words.ts',
        from: "content.at(-1)?.type.endsWith('tool_use')",
        to: "content.at(-1)?.type === 'tool_use'",
      },
    ],
    scenario: 'claude-searches',
    violates: 'I5',
  },
  {
    name: 'a citation goes back with the file that it names',
    mutations: [
      {
        file: 'worker/model/rules/blocks.ts',
        from: 'if (!Array.isArray(citations) || citations.every(isAccepted)) return known;',
        to: 'if (known) return known;',
      },
      {
        file: 'worker/model/claude/adapter.ts',
        from: 'if (violation === undefined) return sendCall(',
        to: 'if (wire) return sendCall(',
      },
    ],
    scenario: 'claude-searches',
    violates: 'I5',
  },
  {
    name: 'what the model has said is not kept',
    mutations: { file: 'worker/ask/words.ts', from: "if (partial === '') return [];", to: 'if (true) return [];' },
    scenario: 'claude-writes-slowly',
    patienceS: SLOW_PATIENCE_S,
    violates: 'I1',
  },
  {
    name: 'a turn ends by its length',
    mutations: {
      file: 'worker/turn/deadline.ts',
      from: 'if (isRunning) silence.refresh();',
      to: '',
    },
    scenario: 'claude-writes-slowly',
    patienceS: SLOW_PATIENCE_S,
    violates: 'I1',
  },
  {
    name: 'a summary may take for ever',
    mutations: {
      file: 'worker/recovery/compact.ts',
      from: 'performance.now() + settings.SUMMARY_TIME_MS',
      to: 'performance.now() + 3_600_000',
    },
    scenario: 'claude-summarises-for-ever',
    patienceS: SLOW_PATIENCE_S,
    violates: 'I6',
  },
];
