import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { FileProblem } from '../../shared/texts/texts.ts';
import type { Attempt, Command } from '../lane/attempt.ts';
import { auditCommand } from '../lane/audit-trail.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { Settings } from '../lane/settings.ts';
import { conclude, type Decision, failed, refused } from '../lane/verdict.ts';
import { readAttachment } from '../media/attachment.ts';
import type { Block } from '../model/block.ts';
import { unreadableFile } from '../reply/notices.ts';
import type { UserRecord } from '../session/record.ts';
import type { ConversationStore } from '../session/store.ts';

/** What reading the files of a message works with. */
export interface ContentPorts {
  settings: Pick<Settings, 'textMaxChars' | 'maxAttempts'>;
  telegram: Telegram;
  store: Pick<ConversationStore, 'media'>;
}

/** A message's content for the log, or the decision when there is none. */
export type ContentReading = { kind: 'read'; content: UserRecord['content'] } | Unread;

type FileReading = { kind: 'read'; block: Block } | Unread;

/** There is no content, and this is what becomes of the message. */
type Unread = { kind: 'decided'; decision: Decision };

type File = Extract<InboundMessage['content'], { kind: 'file' }>;

/** A bot cannot download more than this. */
const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;
const PDF_PAGES_MAX = 100;
/** The turn's field that holds the result of reading a file, so each file is downloaded once a message. */
const FIELD = 'content';

/**
 * The content of a message and its further pieces: their text and the files that came with them. Files are downloaded,
 * identified by their bytes, resized to fit and stored outside the log. The text comes last: it asks about the files.
 * The user is notified of a file that cannot be read.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function readContents(
  ports: ContentPorts,
  attempt: Attempt,
  messages: readonly InboundMessage[],
  signal: AbortSignal,
): Promise<ContentReading> {
  const files: Block[] = [];
  const texts: string[] = [];
  for (const [at, { content }] of messages.entries()) {
    if (content.kind === 'unsupported') continue;
    if (content.text !== '') texts.push(content.text);
    if (content.kind === 'text') continue;
    const reading = await readFile(ports, attempt, content, at === 0 ? FIELD : `${FIELD}:${at}`, signal);
    if (reading.kind === 'decided') return reading;
    files.push(reading.block);
  }
  const text = texts.join('\n');
  if (files.length === 0) return { kind: 'read', content: text };
  return { kind: 'read', content: [...files, ...(text === '' ? [] : [{ type: 'text', text }])] };
}

/** Reads a file once a message: a field of the turn keeps the result. */
async function readFile(
  ports: ContentPorts,
  attempt: Attempt,
  content: File,
  field: string,
  signal: AbortSignal,
): Promise<FileReading> {
  const kept = attempt.field(field);
  // An earlier version stored the text after the file's block.
  if (kept !== undefined) return { kind: 'read', block: (JSON.parse(kept) as [Block])[0] };
  if ((content.file.bytes ?? 0) > DOWNLOAD_BYTES_MAX) return refusedFile(attempt, content, 'too_large');
  const loaded = await ports.telegram.downloadFile(content.file.fileId, DOWNLOAD_BYTES_MAX, signal);
  if (!loaded.ok) return undownloaded(ports, attempt, content, loaded.failure);
  return keep(ports, attempt, content, field, loaded.value);
}

async function keep(
  ports: ContentPorts,
  attempt: Attempt,
  content: File,
  field: string,
  bytes: Buffer,
): Promise<FileReading> {
  const limits = { textMaxChars: ports.settings.textMaxChars, pdfPagesMax: PDF_PAGES_MAX };
  const read = await readAttachment(bytes, content.file.name, limits);
  if (!read.ok) return refusedFile(attempt, content, read.notice);
  if (read.kept) await ports.store.media.keep(read.kept);
  const capped: Command[] =
    read.block.type === 'text' && read.kept
      ? [auditCommand(attempt, { event: 'message.capped', kind: 'document', chars: read.kept.length })]
      : [];
  await attempt.write(field, [
    ['HSET', attempt.keys.turn(attempt.entry), field, JSON.stringify([read.block])],
    ...capped,
  ]);
  return { kind: 'read', block: read.block };
}

function refusedFile({ texts }: Attempt, { file }: File, why: FileProblem): FileReading {
  return { kind: 'decided', decision: conclude(refused(`file_${why}`, unreadableFile(texts, why, file.name))) };
}

/** A file that Telegram refuses will not arrive; any other trouble may pass. */
function undownloaded(
  { settings: { maxAttempts } }: ContentPorts,
  attempt: Attempt,
  content: File,
  failure: TelegramFailure,
): FileReading {
  if (failure.kind === 'aborted') return { kind: 'decided', decision: { kind: 'hand back' } };
  if (failure.kind === 'too_large') return refusedFile(attempt, content, 'too_large');
  if (failure.kind === 'rejected' || failure.kind === 'gone') return refusedFile(attempt, content, 'not_downloaded');
  if (attempt.attempts >= maxAttempts)
    return {
      kind: 'decided',
      decision: failed(attempt, 'file_not_downloaded', attempt.texts.fileAway, failure.description),
    };
  const delayMs = backoffMs(attempt.attempts, failure.retryAfterMs);
  return { kind: 'decided', decision: { kind: 'later', delayMs, reason: `telegram_${failure.kind}` } };
}
