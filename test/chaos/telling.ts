/** Reads a chat as its user does: which message got which answer, in which order, and what stands there for no reason. */
import { EN } from '../../shared/texts/en.ts';
import type { ShownMessage } from '../stand-in/telegram/chats.ts';
import { type Asked, type AskKind, type Mark, marksIn } from './traffic.ts';

/** What a user was told about one message. */
export interface Told {
  asked: Asked;
  /** How often each part of the answer, or the reply to a command (part 1), stands in the chat. */
  parts: Map<number, number>;
  /** How many parts the answer says that it has; 0 when there is none. */
  of: number;
  /** Whether a plain sentence was told instead of an answer. */
  noticed: boolean;
  /** When its first part was complete. */
  firstAtMs: number | undefined;
}

/** Whether the whole answer stands in the chat. */
export const isAnswered = ({ parts, of }: Told): boolean => of > 0 && parts.size === of;

/** A chat's messages with what was told about each, and what belongs to none. */
export interface Telling {
  told: readonly Told[];
  /** Placeholders that were never filled. */
  strays: readonly ShownMessage[];
  /** Answers to questions of other chats. */
  foreign: readonly ShownMessage[];
  /** Answers that stand behind the answer to a later message. */
  late: readonly Told[];
}

/** Whether a message is carried out beside its chat's others: those are in order among themselves. */
export const actsAtOnce = ({ kind }: Pick<Asked, 'kind'>): boolean => kind === 'help';

/** Reads one chat, each of its two lanes for itself. `asked` and `shown` are that chat's own. Pure. */
export function readChat(asked: readonly Asked[], shown: readonly ShownMessage[]): Telling {
  const lanes = [false, true].map((isAtOnce) =>
    readLane(
      asked.filter((each) => actsAtOnce(each) === isAtOnce),
      shown.filter(({ text }) => (commandOf(text) === 'help') === isAtOnce),
    ),
  );
  return {
    told: lanes.flatMap(({ told }) => told).toSorted((a, b) => a.asked.updateId - b.asked.updateId),
    strays: lanes.flatMap(({ strays }) => strays),
    foreign: lanes.flatMap(({ foreign }) => foreign),
    late: lanes.flatMap(({ late }) => late),
  };
}

function readLane(asked: readonly Asked[], shown: readonly ShownMessage[]): Telling {
  const reader = new ChatReader(asked.toSorted((a, b) => a.updateId - b.updateId));
  for (const message of shown.toSorted((a, b) => a.messageId - b.messageId)) reader.read(message);
  return reader.end();
}

class ChatReader {
  readonly #told: Told[];
  readonly #strays: ShownMessage[] = [];
  readonly #foreign: ShownMessage[] = [];
  readonly #late = new Set<Told>();
  #next = 0;
  #notices = 0;

  constructor(asked: readonly Asked[]) {
    this.#told = asked.map((each) => ({
      asked: each,
      parts: new Map(),
      of: 0,
      noticed: false,
      firstAtMs: undefined,
    }));
  }

  read(message: ShownMessage): void {
    const marks = marksIn(message.text);
    const command = commandOf(message.text);
    if (message.text.includes(EN.stoppedHere)) this.#readStopped(marks);
    else if (message.text === EN.repeat) this.#strays.push(message);
    else if (command !== undefined) this.#readCommand(command, message);
    else if (marks.length > 0) for (const mark of marks) this.#readAnswer(mark, message);
    else this.#notices += 1;
  }

  end(): Telling {
    this.#spendNotices(this.#told.length);
    return { told: this.#told, strays: this.#strays, foreign: this.#foreign, late: [...this.#late] };
  }

  /** Words that were cut short are no answer, in however many messages they stand: the last of these says so. */
  #readStopped([mark]: readonly Mark[]): void {
    const isBegun = ({ asked, of, parts }: Told) => (mark ? asked.number === mark.number : parts.size < of);
    const told = this.#told.findLast((each) => each.of > 0 && isBegun(each));
    if (told === undefined) this.#notices += 1;
    else {
      told.parts.clear();
      told.of = 0;
      told.noticed = true;
    }
  }

  #readAnswer({ number, part, of }: { number: number; part: number; of: number }, message: ShownMessage): void {
    const index = this.#told.findIndex(({ asked }) => asked.number === number);
    const told = this.#told[index];
    if (told === undefined) this.#foreign.push(message);
    else this.#note(told, index, part, of, message);
  }

  /**
   * A reply to a command carries no number: it is that of the next such command, or where none was written yet, a
   * repetition of the last one's.
   */
  #readCommand(kind: AskKind, message: ShownMessage): void {
    const isOf = ({ asked }: Told): boolean => asked.kind === kind && asked.atMs <= message.at;
    const ahead = this.#told.findIndex((each, index) => index >= this.#next && isOf(each));
    const index = ahead >= 0 ? ahead : this.#told.findLastIndex(isOf);
    const told = this.#told[index];
    if (told === undefined) this.#foreign.push(message);
    else this.#note(told, index, 1, 1, message);
  }

  #note(told: Told, index: number, part: number, of: number, message: ShownMessage): void {
    this.#spendNotices(index);
    const count = told.parts.get(part) ?? 0;
    told.parts.set(part, count + 1);
    told.of = of;
    told.firstAtMs ??= message.editedAt ?? message.at;
    if (index + 1 < this.#next && count === 0) this.#late.add(told);
    this.#next = Math.max(this.#next, index + 1);
  }

  /**
   * A notice names no message. Those that stand before an answer are of the messages that were passed over without one;
   * what is left of them came with the answer itself.
   */
  #spendNotices(upTo: number): void {
    for (let index = this.#next; index < upTo && this.#notices > 0; index++) {
      const told = this.#told[index];
      if (told === undefined) break;
      told.noticed = true;
      this.#notices -= 1;
    }
    this.#notices = 0;
    this.#next = Math.max(this.#next, upTo);
  }
}

function commandOf(text: string): AskKind | undefined {
  if (text.includes(EN.newConversation)) return 'new';
  if (text.includes(EN.forgotten)) return 'forget';
  if (text.includes(EN.stopped) || text.includes(EN.nothingToStop)) return 'stop';
  return text.includes(EN.helpTitle) ? 'help' : undefined;
}
