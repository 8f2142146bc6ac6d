import type { ChatKey, SessionId } from '../../shared/redis/keys.ts';
import type { SessionSource } from '../session/archive.ts';
import { isEntry, type LogRecord } from '../session/record.ts';
import { readSession } from '../session/transfer.ts';

/**
 * All that is kept of a chat: its session and every earlier one.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now. Erasing may be repeated at will, and a part
 * that is gone is no failure.
 */
export interface ChatArchive {
  /** The messages of a chat, oldest first, each once. */
  messages(session: SessionId): AsyncGenerator<LogRecord>;
  /** Keeps the bytes of a file for an hour, until it is sent; returns their SHA-256. */
  keepForSending(bytes: Buffer): Promise<string>;
  /** Erases the earlier sessions of a chat and its failed messages; its files too, but those of `session` itself. */
  erasePast(chat: ChatKey, session: SessionId): Promise<void>;
  /** Erases the files that a session refers to, and the bytes of its archive outside of Redis. */
  eraseBytes(session: SessionId): Promise<void>;
}

const SHA256 = /"sha256":"([0-9a-f]{64})"/g;
const CHAIN_MAX = 10_000;

export interface ArchivePorts extends SessionSource {
  keep: (bytes: Buffer, seconds: number) => Promise<string>;
  eraseLetters: (chat: ChatKey) => Promise<void>;
}

const SENDING_SECONDS = 3_600;

/** The archives of the chats of one shard. */
export function createChatArchive({ keep, eraseLetters, ...source }: ArchivePorts): ChatArchive {
  const { redis, keys, blobs } = source;
  /** A session and its parents, newest first. */
  const chain = async (session: SessionId): Promise<SessionId[]> => {
    const all: SessionId[] = [];
    for (let at: SessionId | null = session; at !== null && all.length < CHAIN_MAX; ) {
      all.push(at);
      at = (await redis.hget(keys.session(at), 'parent')) as SessionId | null;
    }
    return all;
  };
  /** The files first: once the archive's bytes are gone, nobody knows which files it referred to. */
  const eraseBytes = async (session: SessionId): Promise<void> => {
    for (const sha256 of await filesOf(source, session)) {
      await redis.unlink(keys.media(sha256), keys.blob(sha256));
      await blobs?.delete('media', sha256);
    }
    await blobs?.deleteArchive(session);
  };
  return {
    async *messages(session) {
      const seen = new Set<string>();
      for (const each of (await chain(session)).reverse()) {
        for await (const record of readSession(source, each)) {
          // A fresh session begins with a copy of the message that its parent could not answer.
          if (!isEntry(record) || seen.has(record.id)) continue;
          seen.add(record.id);
          yield record;
        }
      }
    },
    keepForSending: (bytes) => keep(bytes, SENDING_SECONDS),
    eraseBytes,
    async erasePast(chat, session) {
      // Oldest first: after a crash the rest of the chain can still be found.
      for (const each of (await chain(session)).slice(1).reverse()) {
        await eraseBytes(each);
        await redis.unlink(keys.log(each), keys.archive(each));
        await redis.srem(keys.archivable, each);
        await redis.unlink(keys.session(each));
      }
      await eraseLetters(chat);
    },
  };
}

/** The ids of the files that a session refers to. */
async function filesOf(source: SessionSource, session: SessionId): Promise<string[]> {
  const found = new Set<string>();
  for await (const record of readSession(source, session))
    for (const [, sha256 = ''] of JSON.stringify(record).matchAll(SHA256)) found.add(sha256);
  return [...found];
}
