import { type InboundFile, type InboundMessage, isForward } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { messageCode, plainName } from '../ask/message-header.ts';
import type { Env } from '../env.ts';
import type { SelfEntered, Transcripts } from '../feature.ts';
import { timeZoneOf } from '../lane/turn-settings.ts';
import { conclude, refused, type Verdict } from '../lane/verdict.ts';
import { fileInWords } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import { unreadableFile } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import { type FileToRead, readFile } from './download.ts';

/** The content as the log of the session stores it, or the verdict that ends the attempt. */
type ContentReading = { kind: 'read'; content: UserRecord['content'] } | Verdict;

/** A message with its further pieces, and the transcripts of recordings in some of them, by their place. */
interface ToRead {
  messages: readonly InboundMessage[];
  transcripts: ByPlace;
}

/** A file of a message, and the line that tells the model where it is from and what is shown of it. */
interface Item extends FileToRead {
  label: string | undefined;
  /** Whether the message is answered without a file that cannot be read: a line then says that it is missing. */
  isOptional: boolean;
}

/** One part of the content for the model: text, a label line in brackets, or a file. */
type ContentPart = { kind: 'text'; text: string } | { kind: 'label'; text: string } | ({ kind: 'file' } & Item);

type LabelFacts = Parameters<SelfEntered['label']>[1];
type ByPlace = Transcripts['byPlace'];
type Transcript = ReturnType<ByPlace['get']>;

/** How often an optional file is tried. */
const OPTIONAL_TRIES = 2;

/**
 * The content of a message and its further pieces: their files, those of the messages that they answer, and their text,
 * which comes last since it asks about the files. Each forward follows a line that names its origin; the sender's
 * comment comes last. The user is notified of a file that cannot be read, unless the message is answered without it.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function readContents(
  turn: Turn<Env>,
  { messages, transcripts }: ToRead,
  signal: AbortSignal,
): Promise<ContentReading> {
  const code = messageCode(turn.env.settings.TELEGRAM_BOT_TOKEN, turn.entry);
  const blocks: Block[] = [];
  const facts = { timeZone: timeZoneOf(turn, turn.env.settings), nowMs: turn.nowMs() };
  const parts = contentParts({ messages, transcripts }, facts, turn.env.selfEntered.get(turn.kind));
  for (const part of parts) {
    if (part.kind === 'text') blocks.push(textBlock(part.text));
    else if (part.kind === 'label') blocks.push(textBlock(`[${code} ${part.text}]`));
    else {
      const reading = await readFile(turn, part, signal);
      if (reading.kind !== 'read' && reading.kind !== 'unreadable') return reading;
      if (reading.kind === 'unreadable' && !part.isOptional) {
        const notice = unreadableFile(turn.texts, reading.why, part.file.name);
        return conclude(refused(`file_${reading.why}`, notice));
      }
      blocks.push(...labelled(part, code, reading.kind === 'read' ? reading.block : undefined));
    }
  }
  const hasWordsAlone = parts.every(({ kind }) => kind === 'text');
  return { kind: 'read', content: hasWordsAlone ? blocks.map(({ text }) => text).join('\n') : blocks };
}

function contentParts({ messages, transcripts }: ToRead, facts: LabelFacts, own?: SelfEntered): ContentPart[] {
  if (isBurst(messages)) return forwardedParts(messages, transcripts);
  return own === undefined ? ownParts(messages, transcripts) : selfEnteredParts(messages, own, facts);
}

/** Whether messages are forwards that came together, with or without a comment before them. Pure. */
export function isBurst(messages: readonly InboundMessage[]): boolean {
  return messages.length > 1 && messages.slice(1).every(isForward);
}

/** The first message follows the header, each further one a line of its own. */
function selfEnteredParts(messages: readonly InboundMessage[], own: SelfEntered, facts: LabelFacts): ContentPart[] {
  return messages.flatMap((message, at) => {
    const words = textsOf(message).map((text) => ({ kind: 'text', text }) as const);
    return at === 0 ? words : [{ kind: 'label', text: own.label(message, facts) } as const, ...words];
  });
}

function ownParts(messages: readonly InboundMessage[], transcripts: ByPlace): ContentPart[] {
  const text = messages.flatMap(textsOf).join('\n');
  const spoken = messages.flatMap((_, at) => transcriptParts(transcripts.get(at)));
  return [...messages.flatMap(filesOf), ...spoken, ...(text === '' ? [] : [{ kind: 'text', text } as const])];
}

/** A transcript below the line that says what it is. */
function transcriptParts(transcript: Transcript): ContentPart[] {
  if (transcript === undefined) return [];
  return [
    { kind: 'label', text: transcript.label },
    { kind: 'text', text: transcript.text },
  ];
}

/** Each forward after its origin, in order; then the comment that they were sent with. */
function forwardedParts(messages: readonly InboundMessage[], transcripts: ByPlace): ContentPart[] {
  const forwards = messages.flatMap((message, at) =>
    isForward(message) ? forwardOf(message, at, transcripts.get(at)) : filesOf(message, at),
  );
  const comment = messages.filter((message) => !isForward(message)).flatMap(textsOf);
  return [...forwards, ...comment.map((text) => ({ kind: 'text', text }) as const)];
}

function forwardOf(message: InboundMessage, at: number, transcript: Transcript): ContentPart[] {
  const { content, forwardedFrom } = message;
  const isUnread = content.kind === 'unsupported' && transcript === undefined;
  const unread = isUnread ? `: ${content.what.replaceAll('_', ' ')}, which cannot be read` : '';
  return [
    { kind: 'label', text: `forwarded from ${plainName(forwardedFrom)}${unread}` },
    ...filesOf(message, at).map((file) => ({ ...file, isOptional: true, triesMax: OPTIONAL_TRIES })),
    ...transcriptParts(transcript),
    ...textsOf(message).map((text) => ({ kind: 'text', text }) as const),
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

/** A file of a rich message. It is optional, since the message has text, too. */
function partOf(file: InboundFile, field: string): Item {
  return { file, field, label: `in this message: ${fileInWords(file)}`, isOptional: true, triesMax: OPTIONAL_TRIES };
}

/** A file after the line that says what it is; the line carries the message's code, so that nobody can imitate it. */
function labelled({ label, file }: Item, code: string, block: Block | undefined): Block[] {
  if (block === undefined) return [textBlock(`[${code} ${label ?? fileInWords(file)}; it cannot be shown]`)];
  return label === undefined ? [block] : [textBlock(`[${code} ${label}]`), block];
}

function textsOf({ content }: InboundMessage): string[] {
  return content.text === undefined || content.text === '' ? [] : [content.text];
}
