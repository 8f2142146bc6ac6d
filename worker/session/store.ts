import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, Keys, SessionId } from '../../shared/redis/keys.ts';
import { type Change, FencedError } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { chainOf, readHeader } from '../../shared/state/session/header.ts';
import { sessionLogs } from '../../shared/state/session/log.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { type LoadedSession, placeOf, readWindow, WindowCache } from './held-window.ts';
import { decodeRecord, encodeRecord, isEntry, type LogRecord, type UserRecord } from './record.ts';

/** The newest records of a session and of its parents, the sessions before it. */
interface Tail {
  /** Oldest first. */
  records: LogRecord[];
  /** The number of the session's own messages, answers and tool results, without compactions, seeds, scrubs and trims. */
  entries: number;
  bytes: number;
}

/**
 * The session logs of one shard. A cache of windows (`windows`) lets each load read only new records.
 *
 * Contract: a load takes time in proportion to the window, not to the session. Each method rejects when Redis cannot be
 * reached; `open` and `load` throw `FencedError` if another attempt has taken over the turn.
 */
export type Sessions = ReturnType<typeof createSessions>;

/** The maximum number of parents (earlier sessions) that count as a chat's history. */
export const PARENTS_MAX = 8;

/** The number of bytes at the end of a log that are never archived. A seed is built from no more than these bytes. */
export const SEED_READ_BYTES_MAX = 512 * 1024;

/** Binds the session logs of a shard to a connection. `windows` may be shared by all shards of the process. */
export function createSessions(redis: RedisClient, keys: Keys, windows = new WindowCache()) {
  const logs = sessionLogs(redis, keys);
  const load = async (turn: Turn, pending: string, bytesMax: number): Promise<LoadedSession> => {
    const cached = windows.of(turn.session);
    const reply = await logs.open(turn, pending, bytesMax, placeOf(cached));
    if (reply[0] === 'fenced') throw new FencedError();
    const read =
      readWindow(cached, reply, bytesMax) ??
      readWindow(undefined, await logs.open(turn, pending, bytesMax, placeOf(undefined)), bytesMax);
    if (read === undefined) throw new FencedError();
    windows.store(turn.session, read.toCache);
    return read.loadedSession;
  };
  return {
    /**
     * Records the pending message, once per session and message. Loads at most `bytesMax` bytes of the window, but always the
     * message and all records after it.
     */
    open: (turn: Turn, pending: UserRecord, bytesMax: number) => load(turn, encodeRecord(pending), bytesMax),
    /** Loads at most `bytesMax` bytes of the window, and records no message. */
    load: (turn: Turn, bytesMax: number) => load(turn, '', bytesMax),
    /**
     * Reads the newest records of the session and then of its parents, about `bytesMax` bytes in total. Does not read archived
     * records: up to `SEED_READ_BYTES_MAX`, none are archived.
     */
    async tail(session: SessionId, bytesMax: number): Promise<Tail> {
      const { entries } = await readHeader(redis, keys, session);
      const result: Tail = { records: [], entries, bytes: 0 };
      for (const at of await chainOf(redis, keys, session, PARENTS_MAX)) {
        const { size, newestFirst } = await logs.tail(at, bytesMax - result.bytes);
        result.records.unshift(...newestFirst.reverse().map(decodeRecord));
        result.bytes += newestFirst.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
        if (newestFirst.length < size || result.bytes >= bytesMax) break;
      }
      return result;
    },
  };
}

/** Creates the id of a new session. */
export function newSessionId(): SessionId {
  return `s-${randomUUID()}` as SessionId;
}

/** Changes that bind a chat to a new, empty session and close the chat's previous session, which becomes the parent. */
export function emptySession(keys: Keys, chat: ChatKey, from: SessionId, to: SessionId): Change[] {
  return [
    chatState(keys, chat).moveTo(to),
    sessionState(keys, to).begin(from, new Date().toISOString()),
    ...sessionState(keys, from).closeFor(to),
  ];
}

/** Changes that append records to the log of a session. */
export function append(keys: Keys, session: SessionId, records: readonly LogRecord[]): Change[] {
  return sessionState(keys, session).append(records.map(encodeRecord), records.filter(isEntry).length);
}
