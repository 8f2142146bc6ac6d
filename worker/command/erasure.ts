import type { ChatKey, SessionId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState, sessionOf, withFormerGroup } from '../../shared/state/chat/chat.ts';
import { createDeadLetters } from '../../shared/state/lane/dead-letters.ts';
import { createReminderBook } from '../../shared/state/reminder/book.ts';
import { sessionState, triedIn } from '../../shared/state/session/session.ts';
import { createUsageBook } from '../../shared/state/spending/usage-book.ts';
import type { MediaStore } from '../media/store.ts';
import type { SessionSource } from '../session/archive.ts';
import { chainOf } from './chat-archive.ts';

/**
 * Erases all of a chat but its present session: its files, earlier conversations, failed messages and booked usage.
 * Returns the commands that erase the rest. They come last, in one step: until then everything can still be found, so
 * whoever was killed in between begins again, and nothing is said to be erased that is not.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now. May be repeated at will.
 */
export type EraseChat = (chat: ChatKey, nowMs: number) => Promise<Change[]>;

/** Erases the chats of one shard. */
export function createErasure({ media, ...source }: SessionSource & { media: Pick<MediaStore, 'erase'> }): EraseChat {
  const { redis, keys, blobs } = source;
  const [letters, usage, reminders] = [
    createDeadLetters(redis, keys),
    createUsageBook(redis, keys),
    createReminderBook(redis, keys),
  ];
  return async (chat, nowMs) => {
    const chats = await withFormerGroup(redis, keys, chat);
    const bound = await Promise.all(chats.map((each) => sessionOf(redis, keys, each)));
    const present = [...new Set(bound.filter((each) => each !== undefined))];
    await media.erase(chat);
    for (const session of (await Promise.all(present.map((each) => sessionsOf(source, each)))).flat()) {
      await blobs?.deleteAll(session);
      if (present.includes(session)) continue;
      await redis.unlink(keys.log(session), keys.archive(session));
      await redis.srem(keys.archivable, session);
      await redis.unlink(keys.session(session));
    }
    for (const each of chats) {
      await letters.erase(each);
      await usage.erase(each, nowMs);
    }
    return [
      ...present.flatMap((session) => sessionState(keys, session).erase()),
      ...reminders.cancelling(await reminders.of(chat)),
      ...chats.map((each) => chatState(keys, each).forget()),
    ];
  };
}

/** A session's chain, and what recoveries tried for it, oldest first: after a crash the rest can still be found. */
async function sessionsOf(source: SessionSource, session: SessionId): Promise<SessionId[]> {
  const all = new Set<SessionId>();
  for (const each of await chainOf(source, session)) {
    all.add(each);
    for (const tried of triedIn(await source.redis.hkeys(source.keys.session(each)))) all.add(tried);
  }
  return [...all].reverse();
}
