import { type InboundFile, type InboundMessage, isForward } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { messageCode, plainName } from '../ask/message-header.ts';
import type { Env } from '../env.ts';
import type { SelfEntered, Spoken } from '../feature.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { conclude, refused, type Verdict } from '../lane/verdict.ts';
import { fileInWords } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import { unreadableFile } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import { type FileToRead, readFile } from './download.ts';

/** A message's content for the log, or the decision when there is none. */
export type ContentReading = { kind: 'read'; content: UserRecord['content'] } | Verdict;

/** A message with its further pieces, and what is spoken in some of them, by their place. */
export interface ToRead {
  messages: readonly InboundMessage[];
  words: Spoken['words'];
}

/** A file of a message, and the line that tells the model whose it is and what is shown of it. */
interface Item extends FileToRead {
  label: string | undefined;
  /** The message is answered without it; a line says that it cannot be shown. */
  isOptional: boolean;
}

/** Words, or a file. */
type Piece = { kind: 'words'; text: string } | { kind: 'label'; text: string } | ({ kind: 'file' } & Item);

type LabelFacts = Parameters<SelfEntered['label']>[1];

/** Trouble that lasts longer than one repeat does not hold up a message that can be answered without the file. */
const OPTIONAL_TRIES = 2;

/**
 * The content of a message and its further pieces: their text, the files that came with them, and those of the messages
 * that they answer. The text comes last: it asks about the files. Of forwards each comes with its origin, and what was
 * written with them last. The user is notified of a file that cannot be read, unless the message is answered without
 * it.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function readContents(
  turn: Turn<Env>,
  { messages, words }: ToRead,
  signal: AbortSignal,
): Promise<ContentReading> {
  const code = messageCode(turn.env.settings.TELEGRAM_BOT_TOKEN, turn.entry);
  const blocks: Block[] = [];
  const facts = { timeZone: timeZoneOf(turn, turn.env.settings), nowMs: turn.nowMs() };
  const pieces = piecesOf({ messages, words }, turn.env.selfEntered.get(turn.kind), facts);
  for (const piece of pieces) {
    if (piece.kind === 'words') blocks.push(textBlock(piece.text));
    else if (piece.kind === 'label') blocks.push(textBlock(`[${code} ${piece.text}]`));
    else {
      const reading = await readFile(turn, piece, signal);
      if (reading.kind !== 'read' && reading.kind !== 'unreadable') return reading;
      if (reading.kind === 'unreadable' && !piece.isOptional) {
        const notice = unreadableFile(turn.texts, reading.why, piece.file.name);
        return conclude(refused(`file_${reading.why}`, notice));
      }
      blocks.push(...labelled(piece, code, reading.kind === 'read' ? reading.block : undefined));
    }
  }
  const hasWordsAlone = pieces.every(({ kind }) => kind === 'words');
  return { kind: 'read', content: hasWordsAlone ? blocks.map(({ text }) => text).join('\n') : blocks };
}

function piecesOf({ messages, words }: ToRead, own: SelfEntered | undefined, facts: LabelFacts): Piece[] {
  if (isBurst(messages)) return forwardedPieces(messages, words);
  return own === undefined ? ownPieces(messages, words) : selfEnteredPieces(messages, own, facts);
}

/** Whether messages are forwards that came together, with or without a comment before them. Pure. */
export function isBurst(messages: readonly InboundMessage[]): boolean {
  return messages.length > 1 && messages.slice(1).every(isForward);
}

/** The first stands below the header of the message, each further one below its own line. */
function selfEnteredPieces(messages: readonly InboundMessage[], own: SelfEntered, facts: LabelFacts): Piece[] {
  return messages.flatMap((message, at) => {
    const words = wordsOf(message).map((text) => ({ kind: 'words', text }) as const);
    return at === 0 ? words : [{ kind: 'label', text: own.label(message, facts) } as const, ...words];
  });
}

/** Files first, then the words of all. */
function ownPieces(messages: readonly InboundMessage[], words: ToRead['words']): Piece[] {
  const text = messages.flatMap(wordsOf).join('\n');
  const heard = messages.flatMap((_, at) => spokenPieces(words.get(at)));
  return [...messages.flatMap(filesOf), ...heard, ...(text === '' ? [] : [{ kind: 'words', text } as const])];
}

/** The spoken words of a message, below the line that says what they are. */
function spokenPieces(said: { label: string; text: string } | undefined): Piece[] {
  if (said === undefined) return [];
  return [
    { kind: 'label', text: said.label },
    { kind: 'words', text: said.text },
  ];
}

/** Each forward with its origin, in order; then the words that they were sent with. */
function forwardedPieces(messages: readonly InboundMessage[], words: ToRead['words']): Piece[] {
  const forwards = messages.flatMap((message, at) =>
    isForward(message) ? forwardOf(message, at, words.get(at)) : filesOf(message, at),
  );
  const comment = messages.filter((message) => !isForward(message)).flatMap(wordsOf);
  return [...forwards, ...comment.map((text) => ({ kind: 'words', text }) as const)];
}

function forwardOf(message: InboundMessage, at: number, said: { label: string; text: string } | undefined): Piece[] {
  const { content, forwardedFrom } = message;
  const isUnread = content.kind === 'unsupported' && said === undefined;
  const unread = isUnread ? `: ${content.what.replaceAll('_', ' ')}, which cannot be read` : '';
  return [
    { kind: 'label', text: `forwarded from ${plainName(forwardedFrom)}${unread}` },
    ...filesOf(message, at).map((file) => ({ ...file, isOptional: true, triesMax: OPTIONAL_TRIES })),
    ...spokenPieces(said),
    ...wordsOf(message).map((text) => ({ kind: 'words', text }) as const),
  ];
}

function filesOf({ answers, content }: InboundMessage, at: number): ({ kind: 'file' } & Item)[] {
  const own = content.kind === 'file' ? content.file : undefined;
  const nth = at === 0 ? '' : `:${at}`;
  return [
    ...(answers?.file ? [answeredItem(answers.file, `answered${nth}`)] : []),
    ...(own ? [ownItem(own, `content${nth}`, answers?.file !== undefined)] : []),
    ...(content.kind === 'text' ? (content.files ?? []) : []).map((each, place) =>
      partOf(each, `content${nth}.${place}`),
    ),
  ].map((item) => ({ kind: 'file', ...item }));
}

function answeredItem(file: InboundFile, field: string): Item {
  const label = `attached to the message that is answered: ${fileInWords(file)}`;
  return { file, field, label, isOptional: true, triesMax: OPTIONAL_TRIES };
}

function ownItem(file: InboundFile, field: string, hasNeighbour: boolean): Item {
  const words = fileInWords(file);
  if (file.thumbnailOf) return { file, field, label: words, isOptional: true, triesMax: OPTIONAL_TRIES };
  return { file, field, label: hasNeighbour ? `attached to this message: ${words}` : undefined, isOptional: false };
}

/** A file of a rich message, which is answered without it if need be: the message has words, too. */
function partOf(file: InboundFile, field: string): Item {
  return { file, field, label: `in this message: ${fileInWords(file)}`, isOptional: true, triesMax: OPTIONAL_TRIES };
}

/** A file after the line that says what it is; the line carries the message's code, so that nobody can imitate it. */
function labelled({ label, file }: Item, code: string, block: Block | undefined): Block[] {
  if (block === undefined) return [textBlock(`[${code} ${label ?? fileInWords(file)}; it cannot be shown]`)];
  return label === undefined ? [block] : [textBlock(`[${code} ${label}]`), block];
}

function wordsOf({ content }: InboundMessage): string[] {
  return content.text === undefined || content.text === '' ? [] : [content.text];
}
