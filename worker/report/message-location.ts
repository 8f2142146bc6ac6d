import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys, LaneKey } from '../../shared/redis/keys.ts';
import { readHead, readPosition } from '../../shared/state/lane/waiting.ts';
import type { TurnSummary } from '../../shared/state/turn/summary.ts';
import { viewJobs } from '../lane/job-view.ts';

/** Where a message without an outcome is. Times are ms since the epoch. */
export type MessageLocation =
  /** Accepted; the dispatcher has not read it yet. */
  | { at: 'stream' }
  /** Behind others of its chat: `position` 1 is next. */
  | { at: 'lane'; position: number; behind: EntryId }
  /** At the head of its lane, and its job waits for a worker. */
  | { at: 'queue' }
  | { at: 'running'; sinceMs?: number; step: string; attempt: number }
  | { at: 'delayed'; untilMs: number; reason?: string }
  /** At the head of its lane without a job: the reconciler makes one within seconds. */
  | { at: 'no job' };

/** Where a message is. */
export async function locateMessage(
  redis: RedisClient,
  keys: Keys,
  message: { entry: EntryId; lane: LaneKey },
  turn: TurnSummary | undefined,
): Promise<MessageLocation> {
  const { entry, lane } = message;
  const [position, head] = await Promise.all([readPosition(redis, keys, message), readHead(redis, keys, lane)]);
  if (position === undefined || head === undefined) return { at: 'stream' };
  if (position > 0) return { at: 'lane', position, behind: head };
  return readJobPlace(redis, keys, entry, turn);
}

async function readJobPlace(
  redis: RedisClient,
  keys: Keys,
  entry: EntryId,
  turn: TurnSummary | undefined,
): Promise<MessageLocation> {
  const job = await viewJobs(redis, keys).find(entry);
  if (job?.state === 'active') return runningLocation(turn);
  if (job?.state === 'waiting') return { at: 'queue' };
  if (job === undefined) return { at: 'no job' };
  const reason = turn?.ended.at(-1)?.reason;
  return { at: 'delayed', untilMs: job.untilMs, ...(reason !== undefined && { reason }) };
}

function runningLocation(turn: TurnSummary | undefined): MessageLocation {
  if (turn === undefined) return { at: 'running', step: 'beginning', attempt: 0 };
  const { runningSinceMs, step, attempt } = turn;
  return { at: 'running', ...(runningSinceMs !== undefined && { sinceMs: runningSinceMs }), step, attempt };
}
