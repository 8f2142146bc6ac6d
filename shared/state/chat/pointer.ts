import type { RedisClient } from '../../redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../redis/keys.ts';

/** Where the conversation of a chat is. */
export interface ChatPointer {
  /** Whether anything is stored of the chat. */
  isKnown: boolean;
  session?: SessionId;
  /** The supergroup that the group became, and the group that the supergroup was. */
  movedTo?: ChatKey;
  movedFrom?: ChatKey;
}

/** Reads where the conversation of a chat is. Rejects when Redis cannot be reached. */
export async function readPointer(redis: RedisClient, keys: Keys, chat: ChatKey): Promise<ChatPointer> {
  const { session, movedTo, movedFrom, ...others } = await redis.hgetall(keys.chat(chat));
  return {
    isKnown: [session, movedTo, movedFrom].some(Boolean) || Object.keys(others).length > 0,
    ...(session !== undefined && { session: session as SessionId }),
    ...(movedTo !== undefined && { movedTo: movedTo as ChatKey }),
    ...(movedFrom !== undefined && { movedFrom: movedFrom as ChatKey }),
  };
}
