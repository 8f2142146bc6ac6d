import type { EntryId } from '../../shared/redis/keys.ts';
import type { Model, ModelRequest, ModelResult } from '../../worker/model/port.ts';
import { type Toolbox, toolText } from '../../worker/tools/toolbox.ts';
import type { Process } from './process.ts';
import { REQUEST } from './telegram.ts';

/** A call of the model: the questions and answers that it was shown, in order. */
export interface Call {
  readonly by: string;
  readonly shown: readonly string[];
  /** The entry of the message to answer. */
  readonly entry: EntryId | undefined;
}

const WINDOW_TOKENS = 200_000;
const SAID = /Question [AB]-\d(?: anew)?\?(?: Do it\.)?|Answer \d+ to [AB]-\d\./g;
const BUSY: ModelResult = { ok: false, failure: { kind: 'transient', reason: 'overloaded', status: 529 } };
const ABORTED: ModelResult = { ok: false, failure: { kind: 'transient', reason: 'aborted' } };

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

function answer({ model, messages, payer }: ModelRequest, by: string, calls: Call[]): ModelResult {
  const shown = saidIn(JSON.stringify(messages));
  calls.push({ by, shown, entry: payer?.entry });
  const usage = { inputTokens: 100, outputTokens: 5, cacheReadTokens: 0 };
  const last = JSON.stringify(messages.at(-1));
  if (last.lastIndexOf(REQUEST) > last.lastIndexOf('Question')) {
    const use = { type: 'tool_use', id: `use_${calls.length}`, name: ACT.name, input: {} };
    return { ok: true, answer: { content: [use], text: '', stopReason: 'tool_use', model, usage } };
  }
  const asked = /[AB]-\d/.exec(shown.at(-1) ?? '')?.[0] ?? 'nothing';
  const text = `Answer ${calls.length} to ${asked}.`;
  return {
    ok: true,

    answer: { content: [{ type: 'text', text }], text, stopReason: 'end_turn', model, usage },
  };
}

/** A tool that changes something outside, so that a person is asked, and a call with an unknown result is not repeated. */
const ACT = {
  name: 'act',
  description: 'Does it.',
  inputSchema: { type: 'object' },
  repeatable: false,
  asks: 'until granted',
} as const;

/** The tools, as one process reaches them. `acts` gets the entry of each message that a call was made for. */
export function toolsOf(process: Process, acts: EntryId[]): Toolbox {
  return {
    specs: () => [ACT],
    call: ({ turn }) =>
      process.effect({
        kind: 'tool',
        words: 'call the tool',
        apply() {
          acts.push(turn.entry);
          return toolText('Done.');
        },
      }),
  };
}
