import type { RedisClient } from '../../redis/connection.ts';
import type { EntryId, Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** The state of the gateway's message in the chat of a summons. */
export type Place =
  /** The message is in the chat, with this id. */
  | { kind: 'there'; inlineId: string }
  /** Telegram refuses the message for good. */
  | { kind: 'refused' };

/** How long the process that accepts a summons tries to send the first message, which the answer replaces; then workers try. */
export const FIRST_MESSAGE_WITHIN_MS = 3_000;

export type SummonsBook = ReturnType<typeof summonsBook>;

/**
 * The state of the gateway's message in the chat of a summons, stored in the turn of the summons. Writes need no fencing
 * token, because Telegram's reply is the same for every attempt. Each method returns the stored state, if any, and rejects
 * when Redis cannot be reached.
 */
export function summonsBook(redis: RedisClient, keys: Pick<Keys, 'inbound' | 'turn'>) {
  const run = bindScript<[inlineId: string, isRefused: string]>(redis, `${import.meta.dirname}/summons.lua`);
  const store = async (entry: EntryId, inlineId: string, refusal: '' | 1): Promise<Place | undefined> => {
    const [storedId, isRefused] = await run([keys.inbound, keys.turn(entry)], [entry, inlineId, refusal]);
    if (storedId !== '') return { kind: 'there', inlineId: storedId };
    return isRefused === '' ? undefined : { kind: 'refused' };
  };
  return {
    look: (entry: EntryId) => store(entry, '', ''),
    put: (entry: EntryId, inlineId: string) => store(entry, inlineId, ''),
    refuse: (entry: EntryId) => store(entry, '', 1),
  };
}
