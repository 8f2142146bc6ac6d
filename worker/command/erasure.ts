import type { ChatKey, SessionId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { createDeadLetters } from '../../shared/state/lane/dead-letters.ts';
import { NOBODY } from '../blob/blobs.ts';
import { BUSY, LANGUAGE, MODEL, TIME_ZONE } from '../lane/attempt.ts';
import { createUsageBook } from '../lane/usage-book.ts';
import type { MediaStore } from '../media/store.ts';
import { createReminderBook } from '../reminders/book.ts';
import type { SessionSource } from '../session/archive.ts';
import { TRIED } from '../session/store.ts';
import { readSession } from '../session/transfer.ts';
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
    const before = (await redis.hget(keys.chat(chat), 'movedFrom')) as ChatKey | null;
    const chats = [chat, ...(before === null ? [] : [before])];
    const bound = await Promise.all(chats.map((each) => redis.hget(keys.chat(each), 'session')));
    const present = [...new Set(bound.filter((each) => each !== null))] as SessionId[];
    await media.erase(chat);
    for (const session of (await Promise.all(present.map((each) => sessionsOf(source, each)))).flat()) {
      // The files of nobody first: once the archive's bytes are gone, nobody knows which it referred to.
      await eraseNobodysFiles(source, session);
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
      ...present.flatMap((session): Change[] => [
        ['UNLINK', keys.session(session), keys.log(session), keys.archive(session)],
        ['SREM', keys.archivable, session],
      ]),
      ...reminders.cancelling(await reminders.of(chat)),
      ...chats.map((each): Change => ['HDEL', keys.chat(each), 'session', 'calibration', ...CHOSEN]),
    ];
  };
}

const CHOSEN = [LANGUAGE, MODEL, BUSY, TIME_ZONE];

/** A session's chain, and what recoveries tried for it, oldest first: after a crash the rest can still be found. */
async function sessionsOf(source: SessionSource, session: SessionId): Promise<SessionId[]> {
  const all = new Set<SessionId>();
  for (const each of await chainOf(source, session)) {
    all.add(each);
    for (const field of await source.redis.hkeys(source.keys.session(each)))
      if (field.startsWith(TRIED)) all.add(field.slice(TRIED.length) as SessionId);
  }
  return [...all].reverse();
}

const NOBODYS = /(?:"sha256":"|\\"ref\\":\\")([0-9a-f]{64})/g;

/** Erases what a version that kept files for all chats together has left of those that a session refers to. */
async function eraseNobodysFiles(source: SessionSource, session: SessionId): Promise<void> {
  const { redis, keys, blobs } = source;
  const found = new Set<string>();
  for await (const record of readSession(source, session))
    for (const [, sha256 = ''] of JSON.stringify(record).matchAll(NOBODYS)) found.add(sha256);
  for (const sha256 of found)
    if ((await redis.unlink(keys.media(sha256), keys.blob(sha256))) > 0) await blobs?.delete(NOBODY, sha256);
}
