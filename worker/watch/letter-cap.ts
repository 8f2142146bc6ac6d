import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { noticeQueue } from '../../shared/state/incident/notices.ts';
import { bindDrop } from '../../shared/state/lane/dead-letters.ts';
import type { Book } from '../alerts/book.ts';
import { noticeOf } from '../alerts/book-store.ts';
import { LETTERS_FULL } from '../alerts/causes/unanswered.ts';
import { incidentOf } from '../alerts/incident.ts';
import type { Snapshot } from './snapshot.ts';

export interface LetterCapPorts {
  redis: RedisClient;
  log: Logger;
  /** Of each shard. */
  lettersMax: number;
}

const INCIDENT = incidentOf({ cause: 'dead-letters' });

/**
 * Keeps the dead letters of each shard to a number: the oldest go, counted and logged without their content, but only
 * once an operator has been notified that this begins. Until then, and while no alert can be sent, all stay.
 *
 * Contract: the returned function may be repeated and run by several processes at once. It rejects when Redis cannot be
 * reached.
 */
export function createLetterCap({ redis, log, lettersMax }: LetterCapPorts) {
  const drop = bindDrop(redis);
  return async (now: Pick<Snapshot, 'shards' | 'alerting'>, book: Book): Promise<void> => {
    const over = now.shards.filter(({ deadLetters }) => deadLetters > lettersMax);
    if (over.length === 0 || now.alerting.failing !== undefined || !(await isNotified(redis, book))) return;
    for (const { shard } of over) {
      for (const record of await drop(keysOf(shard), lettersMax))
        log.warn({ shard, record }, 'the oldest dead letter was removed: there are too many');
    }
  };
}

/** A notice leaves its queue when an operator has it. */
async function isNotified(redis: RedisClient, book: Book): Promise<boolean> {
  const incident = book.get(INCIDENT);
  if (!incident?.isOpen || incident.notified?.level !== LETTERS_FULL) return false;
  return (await noticeQueue(redis).waiting()).every(([id, json]) => noticeOf(id, json).incident !== INCIDENT);
}
