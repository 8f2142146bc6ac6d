import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindLetterCount } from '../../shared/state/lane/dead-letters.ts';
import type { Book } from './book.ts';
import { hasLetters, type Incident, incidentOf } from './incident.ts';

/** How long before the opening the time begins: a gateway that was away enters alerts of earlier failures. */
const BEFORE_MS = 600_000;

/** When messages failed that belong to an incident: in its time, or at any time where dead letters pile up. Pure. */
export function timeOfLetters(
  incident: Pick<Incident, 'openedMs' | 'isOpen' | 'endedMs'> & { cause: string },
  nowMs: number,
) {
  const { cause, openedMs, isOpen, endedMs } = incident;
  if (cause === 'dead-letters') return { sinceMs: 0, untilMs: nowMs };
  return { sinceMs: Math.max(0, openedMs - BEFORE_MS), untilMs: isOpen ? nowMs : Math.min(endedMs ?? nowMs, nowMs) };
}

/**
 * Counts the dead letters that are left of each incident during which messages may fail, by its name. Rejects when Redis
 * cannot be reached.
 */
export async function countLettersOf(redis: RedisClient, shards: number, book: Book, nowMs: number) {
  const count = bindLetterCount(redis);
  const all = [...book.values()].filter(({ cause }) => hasLetters(cause));
  const counts = all.map(async (incident): Promise<[name: string, left: number]> => {
    const { sinceMs, untilMs } = timeOfLetters(incident, nowMs);
    const left = await Promise.all(
      Array.from({ length: shards }, (_, shard) => count(keysOf(shard), sinceMs, untilMs)),
    );
    return [incidentOf(incident), left.reduce((sum, each) => sum + each, 0)];
  });
  return new Map(await Promise.all(counts));
}
