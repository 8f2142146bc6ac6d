import { CacheSpace } from '../../../shared/base/cache-space.ts';
import type { RedisClient } from '../../../shared/redis/connection.ts';
import type { Keys, SessionId } from '../../../shared/redis/keys.ts';
import { isSession } from '../../../shared/state/session/header.ts';
import type { MemoryIndex } from './search-index.ts';

/** The index of a chat, as the shelf sees it. */
export interface Shelved {
  readonly index: MemoryIndex;
  bytes: number;
  /** How many work with it. Who drops it meanwhile leaves it to the last of them to close it. */
  users: number;
  isDropped: boolean;
}

export interface ShelfPorts {
  redis: RedisClient;
  keys: Keys;
  space?: CacheSpace;
  /** Upper bound of the bytes of all chats together. */
  bytesMax: number;
  erasedEveryMs?: number;
}

const CHATS_MAX = 4;
const ERASED_EVERY_MS = 60_000;

/**
 * The indexes of the few chats that were searched last, each by its newest session.
 *
 * Contract: what is dropped is closed as soon as nobody works with it. A chat whose session was erased is dropped at the
 * next look for such, or the first one at which Redis can be reached.
 */
export function createShelf<Chat extends Shelved>(ports: ShelfPorts) {
  const { redis, keys, bytesMax, space = new CacheSpace(), erasedEveryMs = ERASED_EVERY_MS } = ports;
  const chats = new Map<SessionId, Chat>();
  let isLooking = false;
  const drop = (chat: Chat): void => {
    for (const [session, each] of chats) if (each === chat) chats.delete(session);
    space.release(chat);
    chat.isDropped = true;
    if (chat.users === 0) chat.index.close();
  };
  const hold = (chat: Chat): void => {
    if (!space.hold(chat, chat.index.heldBytes, () => drop(chat))) drop(chat);
  };
  /** The least recently used chats first. */
  const dropOthers = (used: Chat): void => {
    for (const chat of chats.values()) {
      const bytes = [...chats.values()].reduce((sum, each) => sum + each.bytes, 0);
      if (chats.size <= CHATS_MAX && bytes <= bytesMax) return;
      if (chat !== used) drop(chat);
    }
  };
  const dropErased = async (): Promise<void> => {
    for (const [session, chat] of [...chats]) {
      const isKept = await isSession(redis, keys, session).catch(() => true);
      if (!isKept && chats.get(session) === chat) drop(chat);
    }
    isLooking = chats.size > 0;
    if (isLooking) lookLater();
  };
  const lookLater = () => setTimeout(() => void dropErased(), erasedEveryMs).unref();
  return {
    /** The index of a session, or of the nearest parent: the parent's content is a part of this one's. */
    take(lineage: readonly { session: SessionId }[], create: () => Chat): Chat {
      const known = lineage.find(({ session }) => chats.has(session))?.session;
      const chat = (known && chats.get(known)) ?? create();
      if (known) chats.delete(known);
      const current = lineage[0]?.session;
      if (current) chats.set(current, chat);
      chat.users += 1;
      hold(chat);
      if (!isLooking) lookLater();
      isLooking = true;
      return chat;
    },
    /** Ends the work with what was taken. */
    putBack(chat: Chat): void {
      chat.users -= 1;
      if (!chat.isDropped) {
        hold(chat);
        dropOthers(chat);
      } else if (chat.users === 0) chat.index.close();
    },
    drop,
  };
}
