import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** Whether our message stands in a chat that the bot is not part of, as Telegram said. */
export type Place =
  /** Our message is there, under this id. */
  | { kind: 'there'; inlineId: string }
  /** Telegram takes no answer, or not any more. */
  | { kind: 'refused' };

/** How long the process that accepts a summons tries to send the message that the answer will replace. After that a worker does. */
export const BEGUN_WITHIN_MS = 3_000;

export type SummonsBook = ReturnType<typeof summonsBook>;

/**
 * Stores on the turn of a summons what Telegram said of its answer. That holds for every attempt, so no attempt has to own
 * the turn. Each method returns what is known then, and rejects when Redis cannot be reached.
 */
export function summonsBook(redis: RedisClient, keys: Pick<Keys, 'inbound' | 'turn'>) {
  const run = bindScript<[inlineId: string, isRefused: string]>(redis, join(import.meta.dirname, 'summons.lua'));
  const noting = async (entry: EntryId, inlineId: string, refused: '' | 1): Promise<Place | undefined> => {
    const [there, isRefused] = await run([keys.inbound, keys.turn(entry)], [entry, inlineId, refused]);
    if (there !== '') return { kind: 'there', inlineId: there };
    return isRefused === '' ? undefined : { kind: 'refused' };
  };
  return {
    look: (entry: EntryId) => noting(entry, '', ''),
    put: (entry: EntryId, inlineId: string) => noting(entry, inlineId, ''),
    refuse: (entry: EntryId) => noting(entry, '', 1),
  };
}
