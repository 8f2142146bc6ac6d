import type { ChatKey, SessionId } from '../../shared/redis/keys.ts';
import type { SessionSource } from '../session/archive.ts';
import { isEntry, type LogRecord } from '../session/record.ts';
import { readSession } from '../session/transfer.ts';

/**
 * All that is kept of a chat: its session and every earlier one.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now.
 */
export interface ChatArchive {
  /** The messages of a chat, oldest first, each once. */
  messages(session: SessionId): AsyncGenerator<LogRecord>;
  /** Keeps the bytes of a chat's file for an hour, until it is sent; returns their SHA-256. */
  keepForSending(chat: ChatKey, bytes: Buffer): Promise<string>;
}

const CHAIN_MAX = 10_000;
const SENDING_SECONDS = 3_600;

export interface ArchivePorts extends SessionSource {
  keep: (chat: ChatKey, bytes: Buffer, seconds: number) => Promise<string>;
}

/** The archives of the chats of one shard. */
export function createChatArchive({ keep, ...source }: ArchivePorts): ChatArchive {
  return {
    async *messages(session) {
      const seen = new Set<string>();
      for (const each of (await chainOf(source, session)).reverse()) {
        for await (const record of readSession(source, each)) {
          // A fresh session begins with a copy of the message that its parent could not answer.
          if (!isEntry(record) || seen.has(record.id)) continue;
          seen.add(record.id);
          yield record;
        }
      }
    },
    keepForSending: (chat, bytes) => keep(chat, bytes, SENDING_SECONDS),
  };
}

/** A session and its parents, newest first. */
export async function chainOf({ redis, keys }: SessionSource, session: SessionId): Promise<SessionId[]> {
  const all: SessionId[] = [];
  for (let at: SessionId | null = session; at !== null && all.length < CHAIN_MAX; ) {
    all.push(at);
    at = (await redis.hget(keys.session(at), 'parent')) as SessionId | null;
  }
  return all;
}
