import type { Change } from '../../shared/state/change.ts';
import { type Attempt, spentMs } from '../lane/attempt.ts';
import { append, newStamp } from '../session/store.ts';

/**
 * What the model has written for a message that is not answered yet. It is kept with the turn before a person sees it,
 * so that it outlives the process, and becomes the answer if no other one comes.
 */
export interface Words {
  /** What it wrote before it called tools: the session has it already. */
  recorded: string;
  /** What it wrote since; the longest of all tries. */
  own: string;
}

/** A window of a million tokens holds more, but nobody reads on in a chat for so long. */
const SAID_CHARS_MAX = 500_000;
const BETWEEN = '\n\n';

/** The words that were kept with a turn. */
export function keptWords({ turn }: Pick<Attempt, 'turn'>): Words {
  const { text, recordedChars } = turn.said;
  return { recorded: text.slice(0, recordedChars), own: text.slice(recordedChars).replace(/^\s+/, '') };
}

/** The words with another text of the call that runs, if it is longer. A text of whitespace says nothing. */
export function withOwn(words: Words, text: string): Words {
  return text.trim() !== '' && text.length > words.own.length ? { ...words, own: text } : words;
}

/** The words once the session has the answer that they are of. */
export function withRecorded({ recorded }: Words, text: string): Words {
  return { recorded: joined(recorded, text.trim()), own: '' };
}

/** All words, as a person reads them; empty when nothing was said. */
export function spoken({ recorded, own }: Words): string {
  return joined(recorded, own.trim());
}

/** What the model says in one attempt at a message. */
export class Speech {
  readonly #attempt: Attempt;
  #words: Words;
  #kept: string;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    this.#words = keptWords(attempt);
    this.#kept = spoken(this.#words);
  }

  get words(): Words {
    return this.#words;
  }

  /** Takes all text so far of the call that runs. */
  hear(text: string): void {
    this.#words = withOwn(this.#words, text);
  }

  /** The commands that go with the record of an answer, which has this text. */
  record(text: string): Change[] {
    this.#words = withRecorded(this.#words, text);
    this.#kept = spoken(this.#words);
    return this.#kept === '' ? [this.#attempt.turn.unsay()] : wordsCommands(this.#attempt, this.#words);
  }

  /** Forgets the words: the model has taken them back. Contract: as `keep`. */
  async forget(): Promise<void> {
    this.#words = { recorded: '', own: '' };
    this.#kept = '';
    await this.#attempt.write('', [this.#attempt.turn.unsay()]);
  }

  /**
   * Keeps the words with the turn, before somebody sees them. Contract: throws `FencedError`, or what Redis throws; also
   * where there is nothing new to keep.
   */
  async keep(): Promise<void> {
    const said = spoken(this.#words);
    if (said === this.#kept) return this.#attempt.assertOwned();
    await this.leave();
  }

  /** Keeps the words, and how long the turn has run, where the attempt ends without an answer. Contract: as `keep`. */
  async leave(): Promise<void> {
    this.#kept = spoken(this.#words);
    await this.#attempt.write('', [
      ...wordsCommands(this.#attempt, this.#words),
      this.#attempt.turn.spend(spentMs(this.#attempt)),
    ]);
  }
}

/** Keeps the words with the turn; nothing where there are none. */
export function wordsCommands({ turn }: Pick<Attempt, 'turn'>, words: Words): Change[] {
  const { recorded } = words;
  const said = spoken(words);
  if (said === '') return [];
  return [turn.say({ text: said.slice(0, SAID_CHARS_MAX), recordedChars: recorded.length })];
}

/**
 * Records words as the assistant's turn, in the session that keeps the conversation. Only the text: a call or a thought
 * that was cut in its middle would be refused with every later request.
 */
export function recordCommands({ keys, entry, session, trial }: Attempt, { own }: Words): Change[] {
  const text = own.trim();
  if (text === '') return [];
  const record = { v: 1, t: 'assistant', ...newStamp(), entry, content: [{ type: 'text', text }] } as const;
  return append(keys, trial?.of ?? session, [{ ...record, stopReason: null }]);
}

function joined(before: string, after: string): string {
  return [before, after].filter((text) => text !== '').join(BETWEEN);
}
