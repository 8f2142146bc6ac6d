import type { InboundFile, InboundMessage } from '../../shared/flow/message.ts';
import { chatCode } from '../ask/header.ts';
import type { Attempt } from '../lane/attempt.ts';
import { conclude, type Decision, refused } from '../lane/verdict.ts';
import { fileInWords } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import { unreadableFile } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import { type FilePorts, type FileToRead, readFile } from './file-block.ts';

/** A message's content for the log, or the decision when there is none. */
export type ContentReading = { kind: 'read'; content: UserRecord['content'] } | { kind: 'decided'; decision: Decision };

/** A file of a message, and the line that tells the model whose it is and what is shown of it. */
interface Item extends FileToRead {
  label: string | undefined;
  /** The message is answered without it; a line says that it cannot be shown. */
  isOptional: boolean;
}

/** Trouble that lasts longer than one repeat does not hold up a message that can be answered without the file. */
const OPTIONAL_TRIES = 2;

/**
 * The content of a message and its further pieces: their text, the files that came with them, and those of the messages
 * that they answer. The text comes last: it asks about the files. The user is notified of a file that cannot be read,
 * unless the message is answered without it.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function readContents(
  ports: FilePorts,
  attempt: Attempt,
  messages: readonly InboundMessage[],
  signal: AbortSignal,
): Promise<ContentReading> {
  const code = chatCode(ports.settings.headerSecret, attempt.chat);
  const files: Block[] = [];
  for (const item of messages.flatMap(itemsOf)) {
    const reading = await readFile(ports, attempt, item, signal);
    if (reading.kind === 'decided') return reading;
    if (reading.kind === 'unreadable' && !item.isOptional) {
      const notice = unreadableFile(attempt.texts, reading.why, item.file.name);
      return { kind: 'decided', decision: conclude(refused(`file_${reading.why}`, notice)) };
    }
    files.push(...labelled(item, code, reading.kind === 'read' ? reading.block : undefined));
  }
  const text = messages.flatMap(wordsOf).join('\n');
  if (files.length === 0) return { kind: 'read', content: text };
  return { kind: 'read', content: [...files, ...(text === '' ? [] : [textBlock(text)])] };
}

function itemsOf({ answers, content }: InboundMessage, at: number): Item[] {
  const own = content.kind === 'file' ? content.file : undefined;
  const nth = at === 0 ? '' : `:${at}`;
  return [
    ...(answers?.file ? [answeredItem(answers.file, `answered${nth}`)] : []),
    ...(own ? [ownItem(own, `content${nth}`, answers?.file !== undefined)] : []),
  ];
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

/** A file after the line that says what it is; the line carries the chat's code, so that nobody can imitate it. */
function labelled({ label }: Item, code: string, block: Block | undefined): Block[] {
  if (block === undefined) return [textBlock(`[${code} ${label}; it cannot be shown]`)];
  return label === undefined ? [block] : [textBlock(`[${code} ${label}]`), block];
}

function wordsOf({ content }: InboundMessage): string[] {
  return content.kind === 'unsupported' || content.text === '' ? [] : [content.text];
}
