import type { Model, ModelRequest, ModelResult } from '../../worker/model/port.ts';
import type { Process } from './process.ts';

/** A call of the model: the questions and answers that it was shown, in order. */
export interface Call {
  readonly by: string;
  readonly shown: readonly string[];
}

const WINDOW_TOKENS = 200_000;
const SAID = /Question [AB]-\d(?: anew)?\?|Answer \d+ to [AB]-\d\./g;
const BUSY: ModelResult = { ok: false, repairs: [], failure: { kind: 'transient', reason: 'overloaded', status: 529 } };
const ABORTED: ModelResult = { ok: false, repairs: [], failure: { kind: 'transient', reason: 'aborted' } };

/** The questions and answers in a text, in order. */
export function saidIn(text: string): string[] {
  return text.match(SAID) ?? [];
}

/** The model, as one process reaches it. No two calls give the same answer, so that a second one is seen. */
export function modelOf(process: Process, calls: Call[]): Model {
  return {
    limits: async () => ({ windowTokens: WINDOW_TOKENS }),
    countTokens: async () => undefined,
    send: (request, signal) =>
      process.effect({
        kind: 'model',
        words: 'ask the model',
        apply: () => (signal.aborted ? ABORTED : answer(request, process.name, calls)),
        refused: () => BUSY,
      }),
  };
}

function answer({ model, messages }: ModelRequest, by: string, calls: Call[]): ModelResult {
  const shown = saidIn(JSON.stringify(messages));
  calls.push({ by, shown });
  const asked = /[AB]-\d/.exec(shown.at(-1) ?? '')?.[0] ?? 'nothing';
  const text = `Answer ${calls.length} to ${asked}.`;
  const usage = { inputTokens: 100, outputTokens: 5, cacheReadTokens: 0 };
  return {
    ok: true,
    repairs: [],
    answer: { content: [{ type: 'text', text }], text, stopReason: 'end_turn', model, usage },
  };
}
