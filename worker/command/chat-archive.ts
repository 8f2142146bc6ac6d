import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { applyTogether, type Change } from '../../shared/state/change.ts';
import { chatState, sessionOf, withFormerGroup } from '../../shared/state/chat/chat.ts';
import { noteErasure } from '../../shared/state/chat/erasures.ts';
import { createDeadLetters } from '../../shared/state/lane/dead-letters.ts';
import { chainOf, readHeader, trialSessionsOf } from '../../shared/state/session/header.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import { createUsageBook } from '../../shared/state/spending/usage-book.ts';
import type { MediaStore } from '../media/store.ts';
import type { SessionSource } from '../session/archive.ts';
import { isEntry, type LogRecord } from '../session/record.ts';
import { readSession } from '../session/transfer.ts';

export type ChatArchive = ReturnType<typeof createChatArchive>;

const SENDING_SECONDS = 3_600;

/**
 * Reads and erases the stored data of the chats of one shard, including the earlier sessions of each chat.
 * Each function in `erasures` returns the changes that erase the data of one feature for a chat.
 *
 * Contract: rejects while Redis or the blob store is unavailable.
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
    /** Yields the messages and answers of a session and of the sessions before it, oldest first, each once. */
    async *messages(session: SessionId): AsyncGenerator<LogRecord> {
      const ids = new Set<string>();
      for (const each of await inOrderOfCreation(source, session)) {
        for await (const record of readSession(source, each)) {
          // Skip repeats: a fresh session begins with a copy of the message that its parent could not answer.
          if (!isEntry(record) || ids.has(record.id)) continue;
          ids.add(record.id);
          yield record;
        }
      }
    },
    /** Stores the bytes of a file for a chat for at least an hour, so that a reply can send the file. Returns their SHA-256. */
    keepForSending: (chat: ChatKey, bytes: Buffer): Promise<string> => media.keep(chat, bytes, SENDING_SECONDS),
    /**
     * Erases the data of a chat: its files, the archives of its sessions, earlier sessions, failed messages and booked usage.
     * Returns the changes that erase the rest, such as the present session. Store these changes last, in one step with the
     * reply. If the process dies before that, a retry still finds the remaining data, and no reply reports an erasure that did
     * not happen. May be repeated.
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

/** A session and the sessions before it, the oldest first. People may have gone back from a newer session to an older one. */
async function inOrderOfCreation({ redis, keys }: SessionSource, session: SessionId): Promise<SessionId[]> {
  const chain = (await chainOf(redis, keys, session)).reverse();
  const headers = await Promise.all(chain.map((each) => readHeader(redis, keys, each)));
  const createdAt = new Map(chain.map((each, at) => [each, headers[at]?.createdAt ?? '']));
  return chain.sort((one, other) => (createdAt.get(one) ?? '').localeCompare(createdAt.get(other) ?? ''));
}

/**
 * A session, the sessions before it, and the trials of each, oldest first. They are erased in this order, because only a newer
 * session leads to the older ones: after a crash, a retry still finds the rest.
 */
async function sessionsOf({ redis, keys }: SessionSource, session: SessionId): Promise<SessionId[]> {
  const all = new Set<SessionId>();
  for (const each of await chainOf(redis, keys, session)) {
    all.add(each);
    for (const trial of await trialSessionsOf(redis, keys, each)) all.add(trial);
  }
  return [...all].reverse();
}
