import type { EntryId } from '../../shared/redis/keys.ts';
import { EN } from '../../shared/texts/en.ts';
import type { Evidence } from './evidence.ts';
import type { Ground, Run } from './ground.ts';
import { saidIn } from './oracle.ts';
import { isCommand, type Shown, type Written, wordsOf } from './telegram.ts';

/** A message that has to have an outcome, and what became of it. */
export interface Message extends Written {
  readonly name: string;
  readonly entry: EntryId | undefined;
  readonly outcome: string | undefined;
  /** The message into which it went. */
  readonly into: EntryId | undefined;
  /** Whether its answer may be missing, of which the operator is told. */
  readonly isUnsure: boolean;
  /** What the model has to be shown of it. */
  readonly words: string;
  /** The message that it asks again, or itself. */
  readonly origin: string;
}

/** A message with what went into it. */
export interface Asked extends Message {
  /**
   * What the model has to be shown of all of it, in order: what was written before it and is answered with it, then
   * forwards, and the comment that came with them.
   */
  readonly shown: readonly string[];
  /** The name of what is shown last, which an answer names. */
  readonly answerTo: string;
  /** The answers that the model gave to it, such as "Answer 1 ". */
  readonly answers: readonly string[];
}

/** What a chat is told of a command; of a stop, by whether it cancelled something. */
const REPLIES: Readonly<Record<Written['kind'], readonly string[]>> = {
  question: [],
  request: [],
  forward: [],
  edit: [],
  again: [],
  list: [EN.chats.none, EN.chats.title(1), EN.chats.title(2)],
  stop: [EN.nothingToStop, EN.stopped],
  new: [EN.newConversation],
};

/** The messages, in the order in which they were written, with what became of them: entries of a chat are in its order. */
export function messagesOf(
  written: readonly Written[],
  { runs, calls }: Pick<Ground, 'runs' | 'calls'>,
  evidence: Evidence,
): Asked[] {
  const messages = written.filter(({ kind }) => kind !== 'edit').map((each) => messageOf(each, runs, evidence));
  return messages.map((each) => {
    const asked = askedWith(each, messages);
    const answers = calls.flatMap(({ entry }, at) => (entry === each.entry ? [`Answer ${at + 1} `] : []));
    return { ...each, shown: asked.map(({ words }) => words), answerTo: asked.at(-1)?.origin ?? '', answers };
  });
}

function askedWith(message: Message, messages: readonly Message[]): Message[] {
  const pieces = messages.filter(({ into }) => into !== undefined && into === message.entry);
  const isEarlier = ({ number }: Message) => number < message.number;
  const earlier = pieces.filter(isEarlier).flatMap((each) => askedWith(each, messages));
  const forwards = pieces.filter((each) => !isEarlier(each));
  return message.kind === 'question' ? [...earlier, ...forwards, message] : [...earlier, message, ...forwards];
}

function messageOf(written: Written, runs: readonly Run[], { outcomes, edited, unsure }: Evidence): Message {
  const { chat, chatId, number } = written;
  const entries = [...new Set(runs.filter(({ job }) => job.chat === `${chatId}`).map(({ job }) => job.entry))];
  const entry = entries.sort(inOrder)[number - 1];
  const record = outcomes.find((of) => of.entry === entry);
  const isEdited = entry !== undefined && edited.has(entry);
  const asked = written.kind === 'again' ? ({ ...written, kind: 'question', number: number - 1 } as const) : written;
  return {
    ...written,
    origin: `${chat}-${asked.number}`,
    ...{ name: `${chat}-${number}`, entry, outcome: record?.outcome, into: record?.into },
    isUnsure: unsure.has(entry),
    words: wordsOf(isEdited ? { ...asked, kind: 'edit' } : asked),
  };
}

/**
 * What a text says to a message: nothing, where that went into another. An answer names its message, in whichever chat it
 * stands; a reply to a command does not.
 */
export function repliesIn({ chatId, text }: Pick<Shown, 'chatId' | 'text'>, message: Asked): string[] {
  const { answerTo, answers, kind, outcome } = message;
  if (outcome === 'merged') return [];
  if (isCommand(message)) return REPLIES[kind].filter((reply) => chatId === message.chatId && text.includes(reply));
  const isOwn = (said: string) => answers.some((each) => said.startsWith(each)) && said.endsWith(`to ${answerTo}.`);
  return saidIn(text).filter(isOwn);
}

/** Compares entries by their age. */
export function inOrder(one: EntryId, other: EntryId): number {
  const [ms = 0, nth = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherNth = 0] = other.split('-').map(Number);
  return ms - otherMs || nth - otherNth;
}
