import type { InboundFile } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { FileProblem } from '../../shared/texts/language.ts';
import type { Env } from '../env.ts';
import { backoffMs } from '../lane/backoff.ts';
import { commit } from '../lane/events.ts';
import { failed, type Verdict } from '../lane/verdict.ts';
import { readAttachment } from '../media/attachment.ts';
import type { Block } from '../model/block.ts';
import { laterForTelegram } from './wait-for-telegram.ts';

/** A file as a block of the request, or the reason why the file cannot be read, or the verdict that ends the attempt. */
type FileReading = { kind: 'read'; block: Block } | { kind: 'unreadable'; why: FileProblem } | Verdict;

/** A file to read, and the turn's field that stores the result, so that later attempts do not download the file again. */
export interface FileToRead {
  file: InboundFile;
  field: string;
  /**
   * For a file that the answer can do without: the number of the attempt at which a failed download is final. Absent: the
   * message fails if its last attempt cannot download the file.
   */
  triesMax?: number;
}

/** Bot API, `getFile`: files of at most 20 MB. */
export const DOWNLOAD_BYTES_MAX = 20 * 1024 * 1024;
const PDF_PAGES_MAX = 100;

/**
 * Downloads a file, identifies its type by its bytes, fits it into a request and, if needed, stores its bytes outside the
 * session log. Returns the stored result if an earlier attempt has read the file.
 *
 * Contract: throws `FencedError`, or what Redis throws. On abort the verdict is `hand back`.
 */
export async function readFile(turn: Turn<Env>, toRead: FileToRead, signal: AbortSignal): Promise<FileReading> {
  const storedBlock = turn.content(toRead.field);
  if (storedBlock !== undefined) return { kind: 'read', block: JSON.parse(storedBlock) as Block };
  const download = await downloadOnce(turn, toRead, signal);
  if (download.kind !== 'loaded') return download;
  return storeFile(turn, toRead, download.bytes);
}

async function storeFile(turn: Turn<Env>, { file, field }: FileToRead, bytes: Buffer) {
  const limits = { textMaxChars: turn.env.settings.INBOUND_TEXT_MAX_CHARS, pdfPagesMax: PDF_PAGES_MAX };
  const read = await readAttachment(bytes, file.name, limits);
  if (!read.ok) return { kind: 'unreadable', why: read.notice } as const;
  if (read.bytesToStore) await turn.env.media.keep(turn.currentChat, read.bytesToStore);
  await commit(turn, {
    step: field,
    changes: [turn.keepContent(field, JSON.stringify(read.block))],
    events:
      read.block.type === 'text' && read.bytesToStore
        ? [{ event: 'message.capped', kind: 'document', chars: read.bytesToStore.length }]
        : [],
  });
  return { kind: 'read', block: read.block } as const;
}

/** The bytes of a file, or the reason why the file cannot be read, or the verdict that ends the attempt. */
type Download = { kind: 'loaded'; bytes: Buffer } | Exclude<FileReading, { kind: 'read' }>;

/** Downloads a file. A refusal or an excessive size is final. After other failures, later attempts try again, up to a limit. */
export async function downloadOnce(
  turn: Turn<Env>,
  { file, triesMax = Number.POSITIVE_INFINITY }: Pick<FileToRead, 'file' | 'triesMax'>,
  signal: AbortSignal,
): Promise<Download> {
  const { settings, telegram } = turn.env;
  if ((file.bytes ?? 0) > DOWNLOAD_BYTES_MAX) return { kind: 'unreadable', why: 'too_large' };
  const result = await telegram.downloadFile(file.fileId, DOWNLOAD_BYTES_MAX, signal);
  if (result.ok) return { kind: 'loaded', bytes: result.value };
  const { failure } = result;
  if (failure.kind === 'aborted') return { kind: 'hand back' };
  if (failure.kind === 'away') return laterForTelegram(failure);
  const why = finalProblemOf(failure) ?? (turn.attempts >= triesMax ? 'not_downloaded' : undefined);
  if (why !== undefined) return { kind: 'unreadable', why };
  if (turn.attempts >= settings.MAX_ATTEMPTS)
    return failed('file_not_downloaded', turn.texts.fileAway, failure.description);
  // Never wait for less time than Telegram demands.
  const delayMs = Math.max(backoffMs(turn.attempts, settings.RETRY_MS), failure.retryAfterMs ?? 0);
  return { kind: 'later', delayMs, reason: `telegram_${failure.kind}` };
}

function finalProblemOf({ kind }: TelegramFailure): FileProblem | undefined {
  if (kind === 'too_large') return 'too_large';
  return kind === 'rejected' || kind === 'gone' ? 'not_downloaded' : undefined;
}
