import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindLetterCount } from '../../shared/state/lane/dead-letters.ts';
import type { Book } from './book.ts';
import { hasLetters, type Incident, incidentOf } from './incident.ts';

/** Failures from this long before an incident's opening count as part of the incident, since their alerts may arrive late. */
const BEFORE_MS = 600_000;

/** The time span of the failures that belong to an incident; for the cause `dead-letters`, all time until now. Pure. */
export function timeOfLetters(
  incident: Pick<Incident, 'openedMs' | 'isOpen' | 'endedMs'> & { cause: string },
  nowMs: number,
) {
  const { cause, openedMs, isOpen, endedMs } = incident;
  if (cause === 'dead-letters') return { sinceMs: 0, untilMs: nowMs };
  return { sinceMs: Math.max(0, openedMs - BEFORE_MS), untilMs: isOpen ? nowMs : Math.min(endedMs ?? nowMs, nowMs) };
}

/**
 * Counts the remaining dead letters of each incident whose failed messages can be replayed. Returns the counts by the names
 * of the incidents. Rejects when Redis cannot be reached.
 */
export async function countLettersOf(redis: RedisClient, shards: number, book: Book, nowMs: number) {
  const count = bindLetterCount(redis);
  const all = [...book.values()].filter(({ cause }) => hasLetters(cause));
  const counts = all.map(async (incident): Promise<[name: string, letters: number]> => {
    const { sinceMs, untilMs } = timeOfLetters(incident, nowMs);
    const shardCounts = await Promise.all(
      Array.from({ length: shards }, (_, shard) => count(keysOf(shard), sinceMs, untilMs)),
    );
    return [incidentOf(incident), shardCounts.reduce((sum, each) => sum + each, 0)];
  });
  return new Map(await Promise.all(counts));
}
