import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindDrop } from '../../shared/state/lane/dead-letters.ts';
import type { StoredBook } from '../alerts/book-store.ts';
import { LETTERS_FULL } from '../alerts/causes/unanswered.ts';
import { deliveredOf } from '../alerts/next-sending.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Deletes the oldest dead letters of each shard above a number, counted and logged without their content, but only once an
 * operator was notified that this begins. Until then, and while no alert can be sent, all stay.
 *
 * Contract: the returned function may be repeated and run by several processes at once. It rejects when Redis cannot be
 * reached.
 */
export function createLetterCap(redis: RedisClient, lettersMax: number, log: Logger) {
  const drop = bindDrop(redis);
  return async (
    now: Pick<Snapshot, 'shards' | 'alerting'>,
    stored: Pick<StoredBook, 'book' | 'delivered'>,
  ): Promise<void> => {
    const over = now.shards.filter(({ deadLetters }) => deadLetters > lettersMax);
    if (over.length === 0 || now.alerting.failing !== undefined || !isNotified(stored)) return;
    for (const { shard } of over) {
      for (const record of await drop(keysOf(shard), lettersMax))
        log.warn({ shard, record }, 'the oldest dead letter was removed: there are too many');
    }
  };
}

/** Whether the operator was notified that a shard is full: that is a page, and a stage of its own. */
function isNotified({ book, delivered }: Pick<StoredBook, 'book' | 'delivered'>): boolean {
  const incident = book.get('dead-letters');
  return incident?.isOpen === true && incident.level === LETTERS_FULL && deliveredOf(incident, delivered).stage >= 2;
}
