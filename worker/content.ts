import type { InboundMessage } from '../shared/message.ts';
import type { Telegram, TelegramFailure } from '../shared/telegram.ts';
import type { Attempt, Command } from './attempt.ts';
import { auditCommand } from './audit.ts';
import { backoffMs } from './backoff.ts';
import { readAttachment } from './media/attachment.ts';
import type { MediaStore } from './media/store.ts';
import { NOTICE, unreadableFile } from './notice.ts';
import type { Block, UserRecord } from './session/record.ts';
import { type Decided, failed } from './verdict.ts';

/** What reading a message's content works with. */
export interface ContentParts {
  telegram: Telegram;
  media: MediaStore;
  /** The cap of a text, written or sent as a file. */
  textMaxChars: number;
  maxAttempts: number;
}

/** A message's content for the log, or what is decided because there is none. */
export type ContentReading = { content: UserRecord['content'] } | { decided: Decided };

type File = Extract<InboundMessage['content'], { kind: 'file' }>;

/** A bot downloads no more. */
const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;
const PDF_PAGES_MAX = 100;
/** The field of the turn that holds what a file was read as: it is downloaded once a message. */
const FIELD = 'content';

/**
 * The content of a message: its words, and the file that came with them, which is downloaded, told by its bytes, fitted
 * and kept outside of the log. A file that cannot be read is told to the user.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort it decides to hand the message back.
 */
export async function readContent(
  parts: ContentParts,
  attempt: Attempt,
  content: Exclude<InboundMessage['content'], { kind: 'unsupported' }>,
  signal: AbortSignal,
): Promise<ContentReading> {
  if (content.kind === 'text') return { content: content.text };
  const kept = attempt.kept(FIELD);
  if (kept !== undefined) return { content: JSON.parse(kept) as Block[] };
  if ((content.file.bytes ?? 0) > DOWNLOAD_BYTES_MAX) return refused(content, 'too_large');
  const loaded = await parts.telegram.downloadFile(content.file.fileId, DOWNLOAD_BYTES_MAX, signal);
  if (!loaded.ok) return undownloaded(parts, attempt, content, loaded.failure);
  return keep(parts, attempt, content, loaded.value);
}

async function keep(parts: ContentParts, attempt: Attempt, content: File, bytes: Buffer): Promise<ContentReading> {
  const limits = { textMaxChars: parts.textMaxChars, pdfPagesMax: PDF_PAGES_MAX };
  const read = await readAttachment(bytes, content.file.name, limits);
  if (!read.ok) return refused(content, read.notice);
  if (read.kept) await parts.media.keep(read.kept);
  // The words come last: they are what is asked about the file.
  const blocks: Block[] = [read.block, ...(content.text === '' ? [] : [{ type: 'text', text: content.text }])];
  const capped: Command[] =
    read.block.type === 'text' && read.kept
      ? [auditCommand(attempt, { event: 'message.capped', kind: 'document', chars: read.kept.length })]
      : [];
  await attempt.write('content', [
    ['HSET', attempt.keys.turn(attempt.entry), FIELD, JSON.stringify(blocks)],
    ...capped,
  ]);
  return { content: blocks };
}

function refused({ file }: File, why: Parameters<typeof unreadableFile>[0]): ContentReading {
  const parts = [unreadableFile(why, file.name)];
  return { decided: { conclusion: { outcome: 'refused', reason: `file_${why}`, parts }, commands: [] } };
}

/** A file that Telegram refuses will not come; any other trouble may pass. */
function undownloaded(
  { maxAttempts }: ContentParts,
  attempt: Attempt,
  content: File,
  failure: TelegramFailure,
): ContentReading {
  if (failure.kind === 'aborted') return { decided: { do: 'hand back' } };
  if (failure.kind === 'too_large') return refused(content, 'too_large');
  if (failure.kind === 'rejected' || failure.kind === 'gone') return refused(content, 'not_downloaded');
  if (attempt.attempts >= maxAttempts)
    return { decided: failed(attempt, 'file_not_downloaded', NOTICE.fileAway, failure.description) };
  const delayMs = backoffMs(attempt.attempts, failure.retryAfterMs);
  return { decided: { do: 'later', delayMs, reason: `telegram_${failure.kind}` } };
}
