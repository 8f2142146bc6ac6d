import { call } from '../../fixture/content-blocks.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';
import type { ClaudeStandIn } from '../../stand-in/claude/server.ts';

/** A tool that the model calls before it answers the next message, by the command for it. */
export const ACTS: Readonly<Record<string, { does: string; name: string; input: object }>> = {
  ask: {
    does: 'asks a question with two buttons',
    name: 'ask_user',
    input: { question: 'Which of the two harbours do you mean?', choices: ['The old one', 'The new one'] },
  },
  note: {
    does: 'notes something in its memory, which /memory shows',
    name: 'memory',
    input: { action: 'remember', text: 'Prefers the old harbour' },
  },
  write: {
    does: 'wants to write into a notebook, which you must allow',
    name: 'notebook__write',
    input: { text: 'The boats leave at nine.' },
  },
  remind: {
    does: 'sets a reminder, due in a minute',
    name: 'reminders',
    input: { action: 'set', text: 'Time to leave for the harbour', in: 1 },
  },
  send: {
    does: 'sends a file with its answer',
    name: 'send_file',
    input: { name: 'boats.csv', content: 'boat,leaves\nAurora,09:00\nBoreas,09:30\n' },
  },
};

const STATES: Readonly<Record<string, Reaction>> = {
  overloaded: { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' },
  'refuses the key': { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
};

/** A question comes with tools and a system prompt, a probe with a word. */
const PROBE_TOKENS_MAX = 100;

/** The model of a play: it answers, unless it was told to do something else. */
export class PlayedModel {
  readonly #claude: ClaudeStandIn;
  readonly #windowTokens: number;
  #state: Reaction | undefined;
  #act: string | undefined;
  #acts = 0;
  #isCut = false;

  constructor(claude: ClaudeStandIn) {
    this.#claude = claude;
    this.#windowTokens = claude.windowTokens;
    claude.react((request) => this.#reaction(request));
  }

  /** Calls this tool of `ACTS` before the next answer. */
  act(name: string): void {
    this.#act = name;
  }

  /** Cuts its next answer at the limit of its length. */
  cutNext(): void {
    this.#isCut = true;
  }

  /** Makes the window this share of the newest request but probes, so that the next one is too long. Returns its tokens. */
  shrink(share: number): number {
    const isQuestion = ({ kind, inputTokens }: ClaudeCall) => kind === 'main' && inputTokens > PROBE_TOKENS_MAX;
    const { inputTokens = 0 } = this.#claude.calls.findLast(isQuestion) ?? {};
    this.#claude.windowTokens = Math.round(inputTokens * share);
    return this.#claude.windowTokens;
  }

  /** Gives the model its first window back. Returns its tokens. */
  widen(): number {
    this.#claude.windowTokens = this.#windowTokens;
    return this.#windowTokens;
  }

  /** What every request meets from now on: a state of `STATES`, or an answer. */
  become(state: 'well' | 'overloaded' | 'refuses the key'): void {
    this.#state = STATES[state];
  }

  #reaction({ kind, pendingText }: ClaudeCall): Reaction | undefined {
    if (this.#state !== undefined) return this.#state;
    if (kind !== 'main') return undefined;
    if (pendingText === '') return { do: 'answer', text: 'Good. I go by that.' };
    if (this.#isCut) {
      this.#isCut = false;
      return { do: 'answer', text: 'There are three reasons for that. The first', stopReason: 'max_tokens' };
    }
    const act = ACTS[this.#act ?? ''];
    if (act === undefined) return undefined;
    this.#act = undefined;
    this.#acts += 1;
    return { do: 'answer', content: [call(`toolu_play${this.#acts}`, { name: act.name, input: act.input })] };
  }
}
