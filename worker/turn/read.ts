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

/** The content as the session's log stores it, or the verdict that ends the attempt. */
type ContentReading = { kind: 'read'; content: UserRecord['content'] } | Verdict;

/** A message, the messages merged into it, and the transcripts of recordings by the index of their message in `messages`. */
interface ToRead {
  messages: readonly InboundMessage[];
  transcripts: ByIndex;
}

/** A file of a message, and the line, if any, that tells the model the file's origin. */
interface Item extends FileToRead {
  label: string | undefined;
  /** Whether the message is answered even if this file cannot be read. A line then says that the file is missing. */
  isOptional: boolean;
}

/** One part of the content for the model: text, a label line in brackets, or a file. */
type ContentPart = { kind: 'text'; text: string } | { kind: 'label'; text: string } | ({ kind: 'file' } & Item);

type LabelFacts = Parameters<SelfEntered['label']>[1];
type ByIndex = Transcripts['byIndex'];
type Transcript = ReturnType<ByIndex['get']>;

/** The number of the attempt at which a failed download of an optional file is final. */
const OPTIONAL_TRIES = 2;

/**
 * The content of a message and its pieces: the files of the messages that they answer, their own files, transcripts, and last
 * their texts, which may ask about the files. In a burst of forwards, a line before each forward names its origin, and the
 * sender's comment comes last. If a file cannot be read and is not optional, the message is refused with a notice.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort the verdict is `hand back`.
 */
export async function readContents(turn: Turn<Env>, toRead: ToRead, signal: AbortSignal): Promise<ContentReading> {
  const code = messageCode(turn.env.settings.TELEGRAM_BOT_TOKEN, turn.entry);
  const blocks: Block[] = [];
  const facts = { timeZone: timeZoneOf(turn, turn.env.settings), nowMs: turn.nowMs() };
  const parts = contentParts(toRead, facts, turn.env.selfEntered.get(turn.kind));
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
      blocks.push(...withLabel(part, code, reading.kind === 'read' ? reading.block : undefined));
    }
  }
  const hasWordsAlone = parts.every(({ kind }) => kind === 'text');
  return { kind: 'read', content: hasWordsAlone ? blocks.map(({ text }) => text).join('\n') : blocks };
}

function contentParts({ messages, transcripts }: ToRead, facts: LabelFacts, handler?: SelfEntered): ContentPart[] {
  if (isBurst(messages)) return forwardedParts(messages, transcripts);
  return handler === undefined ? typedParts(messages, transcripts) : selfEnteredParts(messages, handler, facts);
}

/** Whether messages are forwards that came together, with or without a comment before them. Pure. */
export function isBurst(messages: readonly InboundMessage[]): boolean {
  return messages.length > 1 && messages.slice(1).every(isForward);
}

/** The texts of reminders. The header already announces the first reminder; a label announces each further one. */
function selfEnteredParts(messages: readonly InboundMessage[], handler: SelfEntered, facts: LabelFacts): ContentPart[] {
  return messages.flatMap((message, at) => {
    const words = textsOf(message).map((text) => ({ kind: 'text', text }) as const);
    return at === 0 ? words : [{ kind: 'label', text: handler.label(message, facts) } as const, ...words];
  });
}

function typedParts(messages: readonly InboundMessage[], transcripts: ByIndex): ContentPart[] {
  const text = messages.flatMap(textsOf).join('\n');
  const speech = messages.flatMap((_, at) => transcriptParts(transcripts.get(at)));
  return [...messages.flatMap(filesOf), ...speech, ...(text === '' ? [] : [{ kind: 'text', text } as const])];
}

function transcriptParts(transcript: Transcript): ContentPart[] {
  if (transcript === undefined) return [];
  return [
    { kind: 'label', text: transcript.label },
    { kind: 'text', text: transcript.text },
  ];
}

/** The forwards in order, each after a line with its origin; then the comment that was sent with them. */
function forwardedParts(messages: readonly InboundMessage[], transcripts: ByIndex): ContentPart[] {
  const forwards = messages.flatMap((message, at) =>
    isForward(message) ? forwardOf(message, at, transcripts.get(at)) : filesOf(message, at),
  );
  const comment = messages.filter((message) => !isForward(message)).flatMap(textsOf);
  return [...forwards, ...comment.map((text) => ({ kind: 'text', text }) as const)];
}

function forwardOf(message: InboundMessage, at: number, transcript: Transcript): ContentPart[] {
  const { content, forwardedFrom } = message;
  const isUnread = content.kind === 'unsupported' && transcript === undefined;
  const unreadNote = isUnread ? `: ${content.what.replaceAll('_', ' ')}, which cannot be read` : '';
  return [
    { kind: 'label', text: `forwarded from ${plainName(forwardedFrom)}${unreadNote}` },
    ...filesOf(message, at).map((file) => ({ ...file, isOptional: true, triesMax: OPTIONAL_TRIES })),
    ...transcriptParts(transcript),
    ...textsOf(message).map((text) => ({ kind: 'text', text }) as const),
  ];
}

function filesOf({ answers, content }: InboundMessage, at: number): ({ kind: 'file' } & Item)[] {
  const file = content.kind === 'file' ? content.file : undefined;
  const suffix = at === 0 ? '' : `:${at}`;
  return [
    ...(answers?.file ? [answeredItem(answers.file, `answered${suffix}`)] : []),
    ...(file ? [attachedItem(file, `content${suffix}`, answers?.file !== undefined)] : []),
    ...(content.kind === 'text' ? (content.files ?? []) : []).map((each, index) =>
      richTextItem(each, `content${suffix}.${index}`),
    ),
  ].map((item) => ({ kind: 'file', ...item }));
}

function answeredItem(file: InboundFile, field: string): Item {
  const label = `attached to the message that is answered: ${fileInWords(file)}`;
  return { file, field, label, isOptional: true, triesMax: OPTIONAL_TRIES };
}

function attachedItem(file: InboundFile, field: string, hasNeighbour: boolean): Item {
  const words = fileInWords(file);
  if (file.thumbnailOf) return { file, field, label: words, isOptional: true, triesMax: OPTIONAL_TRIES };
  return { file, field, label: hasNeighbour ? `attached to this message: ${words}` : undefined, isOptional: false };
}

/** A file of a rich message. Such a file is optional, since the message has text, too. */
function richTextItem(file: InboundFile, field: string): Item {
  return { file, field, label: `in this message: ${fileInWords(file)}`, isOptional: true, triesMax: OPTIONAL_TRIES };
}

/** A file after its label, or a line that says that the file is missing. Users cannot imitate the line, because of the code. */
function withLabel({ label, file }: Item, code: string, block: Block | undefined): Block[] {
  if (block === undefined) return [textBlock(`[${code} ${label ?? fileInWords(file)}; it cannot be shown]`)];
  return label === undefined ? [block] : [textBlock(`[${code} ${label}]`), block];
}

function textsOf({ content }: InboundMessage): string[] {
  return content.text === undefined || content.text === '' ? [] : [content.text];
}
