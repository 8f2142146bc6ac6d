import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { isEntry, type LogRecord } from '../session/record.ts';
import { readSession } from '../session/transfer.ts';

/**
 * All that is kept of a chat: its session and every earlier one.
 *
 * Contract: rejects when Redis cannot be reached. Erasing may be repeated at will, and a part that is gone is no failure.
 */
export interface ChatArchive {
  /** The messages of a chat, oldest first, each once. */
  messages(session: SessionId): AsyncGenerator<LogRecord>;
  /** Keeps the bytes of a file for an hour, until it is sent; returns their SHA-256. */
  keepForSending(bytes: Buffer): Promise<string>;
  /** Erases the earlier sessions of a chat and its failed messages; its files too, but those of `session` itself. */
  erasePast(chat: ChatKey, session: SessionId): Promise<void>;
  /** The ids of the files that a session refers to. */
  filesOf(session: SessionId): Promise<string[]>;
}

const SHA256 = /"sha256":"([0-9a-f]{64})"/g;
const CHAIN_MAX = 10_000;

export interface ArchivePorts {
  redis: RedisClient;
  keys: Keys;
  keep: (bytes: Buffer, seconds: number) => Promise<string>;
  eraseLetters: (chat: ChatKey) => Promise<void>;
}

const SENDING_SECONDS = 3_600;

/** The archives of the chats of one shard. */
export function createChatArchive({ redis, keys, keep, eraseLetters }: ArchivePorts): ChatArchive {
  /** A session and its parents, newest first. */
  const chain = async (session: SessionId): Promise<SessionId[]> => {
    const all: SessionId[] = [];
    for (let at: SessionId | null = session; at !== null && all.length < CHAIN_MAX; ) {
      all.push(at);
      at = (await redis.hget(keys.session(at), 'parent')) as SessionId | null;
    }
    return all;
  };
  const filesOf = async (session: SessionId): Promise<string[]> => {
    const found = new Set<string>();
    for await (const record of readSession(redis, keys, session))
      for (const [, sha256 = ''] of JSON.stringify(record).matchAll(SHA256)) found.add(sha256);
    return [...found];
  };
  return {
    async *messages(session) {
      const seen = new Set<string>();
      for (const each of (await chain(session)).reverse()) {
        for await (const record of readSession(redis, keys, each)) {
          // A fresh session begins with a copy of the message that its parent could not answer.
          if (!isEntry(record) || seen.has(record.id)) continue;
          seen.add(record.id);
          yield record;
        }
      }
    },
    keepForSending: (bytes) => keep(bytes, SENDING_SECONDS),
    filesOf,
    async erasePast(chat, session) {
      // Oldest first: after a crash the rest of the chain can still be found.
      for (const each of (await chain(session)).slice(1).reverse()) {
        for (const sha256 of await filesOf(each)) await redis.unlink(keys.media(sha256));
        await redis.unlink(keys.log(each), keys.archive(each));
        await redis.srem(keys.archivable, each);
        await redis.unlink(keys.session(each));
      }
      await eraseLetters(chat);
    },
  };
}
