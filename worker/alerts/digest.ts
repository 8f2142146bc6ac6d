import { clip } from '../../shared/base/text.ts';
import type { Notice } from './book.ts';

/** A notice that waits to be sent. */
export interface QueuedNotice extends Notice {
  id: string;
}

/** What is sent next: one notice as it is, or all that wait in one message. */
export type Outgoing = { ids: readonly string[]; text: string };

/** An operator reads this many messages one by one; more are sent as one. */
export const SINGLES_PER_MINUTE = 5;
const MESSAGES_PER_HOUR = 30;
const MINUTE_MS = 60_000;
const HOUR_MS = 3600_000;
/** Telegram takes 4,096 UTF-16 units. */
const TEXT_CHARS_MAX = 4_000;
const LINE_CHARS_MAX = 200;
const DIGEST_CHARS_MAX = 3_800;

/**
 * Which of the waiting notices are sent next, oldest first; `undefined` while the rate is used up. Above the rate,
 * notices fold into one digest with counts, so none is ever dropped. `sentMs` are the times of earlier messages. Pure.
 */
export function nextOutgoing(
  queued: readonly QueuedNotice[],
  sentMs: readonly number[],
  nowMs: number,
): Outgoing | undefined {
  const [first] = queued;
  const sentWithin = (ms: number) => sentMs.filter((atMs) => nowMs - atMs < ms).length;
  const isSpent = sentWithin(MINUTE_MS) >= SINGLES_PER_MINUTE || sentWithin(HOUR_MS) >= MESSAGES_PER_HOUR;
  if (first === undefined || isSpent) return undefined;
  if (queued.length <= SINGLES_PER_MINUTE) return { ids: [first.id], text: clip(first.text, TEXT_CHARS_MAX) };
  return { ids: queued.map(({ id }) => id), text: digestText(queued) };
}

/** The times that the rate still depends on. */
export function recentOf(sentMs: readonly number[], nowMs: number): number[] {
  return sentMs.filter((atMs) => nowMs - atMs < HOUR_MS);
}

function digestText(queued: readonly QueuedNotice[]): string {
  const kinds = Map.groupBy(queued, ({ kind }) => kind);
  const numbers = [...kinds].map(([kind, notices]) => `${notices.length} ${kind}`).join(', ');
  const incidents = new Set(queued.map(({ incident }) => incident)).size;
  const lines = [
    `Digest of ${queued.length} alerts about ${incidents} incidents: ${numbers}. The log has each in full.`,
  ];
  let chars = lines[0]?.length ?? 0;
  for (const { text } of queued) {
    const line = `- ${clip(text.split('\n')[0] ?? '', LINE_CHARS_MAX)}`;
    if (chars + line.length > DIGEST_CHARS_MAX) break;
    lines.push(line);
    chars += line.length + 1;
  }
  const more = queued.length - (lines.length - 1);
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}
