import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { applyTogether, type Change } from '../../shared/state/change.ts';
import { chatState, sessionOf, withFormerGroup } from '../../shared/state/chat/chat.ts';
import { noteErasure } from '../../shared/state/chat/erasures.ts';
import { createDeadLetters } from '../../shared/state/lane/dead-letters.ts';
import { chainOf, trialSessionsOf } from '../../shared/state/session/header.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import { createUsageBook } from '../../shared/state/spending/usage-book.ts';
import type { MediaStore } from '../media/store.ts';
import type { SessionSource } from '../session/archive.ts';
import { isEntry, type LogRecord } from '../session/record.ts';
import { readSession } from '../session/transfer.ts';

export type ChatArchive = ReturnType<typeof createChatArchive>;

const SENDING_SECONDS = 3_600;

/**
 * All that is kept of the chats of one shard: of each, its session and every earlier one. `erasures` are the changes that erase
 * what features keep of a chat.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now.
 */
export function createChatArchive(
  source: SessionSource,
  media: Pick<MediaStore, 'erase' | 'keep'>,
  erasures: readonly ((redis: RedisClient, keys: Keys, chat: ChatKey) => Promise<readonly Change[]>)[] = [],
) {
  const { redis, keys, blobs } = source;
  const letters = createDeadLetters(redis, keys);
  const usage = createUsageBook(redis, keys);
  return {
    /** The messages of a chat, oldest first, each once. */
    async *messages(session: SessionId): AsyncGenerator<LogRecord> {
      const seen = new Set<string>();
      for (const each of (await chainOf(redis, keys, session)).reverse()) {
        for await (const record of readSession(source, each)) {
          // A fresh session begins with a copy of the message that its parent could not answer.
          if (!isEntry(record) || seen.has(record.id)) continue;
          seen.add(record.id);
          yield record;
        }
      }
    },
    /** Keeps the bytes of a chat's file for an hour, until it is sent; returns their SHA-256. */
    keepForSending: (chat: ChatKey, bytes: Buffer): Promise<string> => media.keep(chat, bytes, SENDING_SECONDS),
    /**
     * Erases all of a chat but its present session: its files, earlier conversations, failed messages and booked usage.
     * Returns the changes that erase the rest. They come last, in one step: until then everything can still be found,
     * so whoever was killed in between begins again, and nothing is said to be erased that is not. May be repeated.
     */
    async erase(chat: ChatKey, nowMs: number): Promise<Change[]> {
      const chats = await withFormerGroup(redis, keys, chat);
      const bound = await Promise.all(chats.map((each) => sessionOf(redis, keys, each)));
      const present = [...new Set(bound.filter((each) => each !== undefined))];
      await media.erase(chat);
      for (const session of (await Promise.all(present.map((each) => sessionsOf(source, each)))).flat()) {
        await blobs?.deleteAll(session);
        if (!present.includes(session)) await applyTogether(redis, sessionState(keys, session).erase());
      }
      for (const each of chats) {
        await letters.erase(each);
        await usage.erase(each, nowMs);
      }
      return [
        ...present.flatMap((session) => sessionState(keys, session).erase()),
        ...(await Promise.all(erasures.map((erasure) => erasure(redis, keys, chat)))).flat(),
        ...chats.map((each) => chatState(keys, each).forget()),
        noteErasure(keys),
      ];
    },
  };
}

/** A session's chain, and what recoveries tried for it, oldest first: after a crash the rest can still be found. */
async function sessionsOf({ redis, keys }: SessionSource, session: SessionId): Promise<SessionId[]> {
  const all = new Set<SessionId>();
  for (const each of await chainOf(redis, keys, session)) {
    all.add(each);
    for (const tried of await trialSessionsOf(redis, keys, each)) all.add(tried);
  }
  return [...all].reverse();
}
