import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys } from '../../shared/redis/keys.ts';
import { bindReplay, letterOfMessage, type Replayed } from '../../shared/state/lane/dead-letters.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { openQueue } from '../lane/queue.ts';
import { readMessage } from '../report/message.ts';
import type { MessageName } from '../report/message-location.ts';
import type { ReportSource } from '../report/report.ts';

/** The result of trying a message again. */
export type Retried =
  /** It was put off, and is tried now. */
  | { kind: 'now' }
  /** It had failed, and is back at the end of its lane as another entry, with all its pieces. */
  | { kind: 'replayed'; entry: string }
  /** Its letter was put back or removed in the meantime, or names no chat. */
  | { kind: 'gone' | 'chatless' }
  /** It runs, or waits for its turn: nothing is to be done. */
  | { kind: 'under way'; isPaused: boolean }
  | { kind: 'ended'; outcome: string }
  | { kind: 'unknown' };

/**
 * Tries a message again now: one that was put off at once, one that failed through its dead letter.
 *
 * Contract: rejects when Redis cannot be reached. Idempotent; each way is one atomic step, so a process that is killed
 * has done all of it or nothing.
 */
export async function retryMessage(at: ReportSource, name: MessageName, attribution: Attribution): Promise<Retried> {
  const letter = await letterOfMessage(at.redis, name.keys, name.entry);
  if (letter !== undefined) {
    await recordAction(at.redis, 'retry', name.entry, attribution);
    return replayed(await bindReplay(at.redis).withPieces(name.keys, letter));
  }
  const report = await readMessage(at, name);
  if (report === undefined) return { kind: 'unknown' };
  if (report.outcome !== undefined) return { kind: 'ended', outcome: report.outcome.outcome };
  const isPaused = report.pause !== undefined;
  if (isPaused || report.place?.at !== 'delayed') return { kind: 'under way', isPaused };
  await recordAction(at.redis, 'retry', name.entry, attribution);
  await tryNow(at.redis, name.keys, name.entry);
  return { kind: 'now' };
}

function replayed([result, entry]: Replayed): Retried {
  if (result === 'unfinished') return { kind: 'under way', isPaused: false };
  return result === 'replayed' ? { kind: result, entry } : { kind: result };
}

/** Ends the delay of a message's job, if it has one. Idempotent; rejects when Redis cannot be reached. */
export async function tryNow(redis: RedisClient, keys: Keys, entry: EntryId): Promise<void> {
  const queue = openQueue(redis, keys);
  try {
    await queue.promote([entry]);
  } finally {
    await queue.close();
  }
}
