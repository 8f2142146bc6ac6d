import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindDrop } from '../../shared/state/lane/dead-letters.ts';
import type { StoredBook } from '../alerts/book-store.ts';
import { LETTERS_FULL } from '../alerts/causes/unanswered.ts';
import { deliveredOf } from '../alerts/next-sending.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Creates a function that deletes the oldest dead letters of each shard with more than `lettersMax` letters, and logs each
 * deleted letter without the user's text. The function deletes nothing until the operator has been notified that a shard is
 * full, or while no alert can be sent.
 *
 * Contract: several processes may call the function at the same time. It rejects when Redis cannot be reached.
 */
export function createLetterCap(redis: RedisClient, lettersMax: number, log: Logger) {
  const drop = bindDrop(redis);
  return async (
    now: Pick<Snapshot, 'shards' | 'alerting'>,
    stored: Pick<StoredBook, 'book' | 'delivered'>,
  ): Promise<void> => {
    const fullShards = now.shards.filter(({ deadLetters }) => deadLetters > lettersMax);
    if (fullShards.length === 0 || now.alerting.failing !== undefined || !isNotified(stored)) return;
    for (const { shard } of fullShards) {
      for (const record of await drop(keysOf(shard), lettersMax))
        log.warn({ shard, record }, 'the oldest dead letter was removed: there are too many');
    }
  };
}

/** Whether the operator has been notified that a shard is full. A full shard has severity `page`, hence stage 2 or higher. */
function isNotified({ book, delivered }: Pick<StoredBook, 'book' | 'delivered'>): boolean {
  const incident = book.get('dead-letters');
  return incident?.isOpen === true && incident.level === LETTERS_FULL && deliveredOf(incident, delivered).stage >= 2;
}
