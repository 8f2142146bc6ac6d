import type { RedisClient } from '../../shared/redis/connection.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import type { EntryId, Keys } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream-id.ts';

const PAGE = 200;

/** The id of the dead letter of a message; `undefined` when there is none, or it was put back or removed. */
export async function deadLetterOf(redis: RedisClient, keys: Keys, entry: EntryId): Promise<string | undefined> {
  // A letter is written after its message was accepted, and by the same clock.
  for (let from = `${msOf(entry)}-0`; ; ) {
    const page = await redis.xrange(keys.dead, from, '+', 'COUNT', PAGE);
    const found = page.find(([, fields]) => fieldsOf(fields.slice(0, 4)).get('entry') === entry);
    if (found) return found[0];
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return undefined;
    from = `(${last}`;
  }
}
