import type { CacheSpace } from '../../../shared/base/cache-space.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { sessionArchives } from '../../../shared/state/session/archive.ts';
import { chainOf, windowStartOf } from '../../../shared/state/session/header.ts';
import { sessionLogs } from '../../../shared/state/session/log.ts';
import { readSegment, type SessionSource } from '../../session/archive.ts';
import { decodeRecord } from '../../session/record.ts';
import { PARENTS_MAX } from '../../session/store.ts';
import { createMemoryIndex, IN_MEMORY, isIndexFailure, type MemoryIndex, UNNAMED_FILE } from './search-index.ts';
import { createShelf, type Shelved } from './shelf.ts';

export interface ChatMemoryPorts extends SessionSource {
  log?: Logger | undefined;
  /** Shared with what else the process keeps of chats; one of its own if absent. */
  space?: CacheSpace;
  /** Upper bound of what is read of a chat, newest first, and of the files of all indexes together; 64 MiB if absent. */
  bytesMax?: number;
  /** The file of an index: none that has a name if absent. */
  indexFile?: string;
  openIndex?: (place: string) => MemoryIndex;
  /** How often chats that were erased are looked for. */
  erasedEveryMs?: number;
}

/** Everything of a chat that is older than the window of one of its sessions, ready to be searched. */
export interface Remembered {
  index: MemoryIndex;
  /** A record of the index that is in the window as well: the message that opened a fresh session. */
  shown: string | undefined;
  /** Whether older records were omitted to keep to the bound. */
  isCut: boolean;
  /** Damaged archive segments. */
  unreadable: number;
}

/**
 * Indexes of the few most recently used chats, each brought up to date on request.
 *
 * Contract: a chat is its session and at most 8 parents, and nothing else is ever read. Rejects when Redis cannot be
 * reached. A caller that stops waiting stops nothing: the next one finds more of the work done. Where the disk takes no
 * index, a small one of the newest records is kept in memory. A chat that is erased is gone from here within a minute.
 */
export interface ChatMemory {
  /** What `use` makes of a chat's past. The index is only good until `use` returns. */
  within<Result>(session: SessionId, use: (remembered: Remembered) => Result): Promise<Result>;
}

const BYTES_MAX = 64 * 1024 * 1024;
/** How much is read for an index in memory. */
const IN_MEMORY_BYTES_MAX = 4 * 1024 * 1024;
const READ_BYTES = 256 * 1024;
/** An index that exceeds its bound by this factor is rebuilt from the newest records. */
const GROWTH_MAX = 1.25;

/** A session of a chat, and the index where its window begins, counted from its first record. */
interface AncestorSession {
  session: SessionId;
  end: number;
}

/** The part of a session that is in the index: all records before `next`, and as many segments of its archive. */
interface Covered {
  next: number;
  segments: number;
}

interface Chat extends Shelved, Omit<Remembered, 'shown' | 'index'> {
  covered: Map<SessionId, Covered>;
  /** Bytes of the records that were read. */
  read: number;
  /** The limit of `bytes` at which it is rebuilt. */
  bytesMax: number;
  /** Serialises updates: the index takes one at a time. */
  updated: Promise<void>;
}

/** Binds the memory of a shard's chats to a connection. */
export function createChatMemory(ports: ChatMemoryPorts): ChatMemory {
  const { redis, keys, log, bytesMax = BYTES_MAX, indexFile = UNNAMED_FILE, openIndex = createMemoryIndex } = ports;
  const shelf = createShelf<Chat>({ ...ports, bytesMax });
  const search = async <Result>(
    session: SessionId,
    use: (remembered: Remembered) => Result,
    place: string,
  ): Promise<Result> => {
    const window = await windowStartOf(redis, keys, session);
    const chain = await chainOf(redis, keys, session, PARENTS_MAX + 1);
    // All of a parent is older than the window.
    const lineage = chain.map((each) => ({
      session: each,
      end: each === session ? window.start : Number.POSITIVE_INFINITY,
    }));
    const bound = place === IN_MEMORY ? Math.min(bytesMax, IN_MEMORY_BYTES_MAX) : bytesMax;
    const chat = shelf.take(lineage, () => emptyChat(openIndex(place)));
    const reading = { ...ports, bytesMax: bound };
    chat.updated = chat.updated.then(() => update(reading, chat, lineage));
    try {
      await chat.updated;
      if (chat.bytes <= chat.bytesMax) {
        // A fresh session begins with a copy of the message that its parent could not answer.
        const shown = window.line === undefined ? undefined : decodeRecord(window.line).id;
        return use({ ...chat, shown });
      }
      shelf.drop(chat);
    } catch (error) {
      // Its content is no longer certain.
      shelf.drop(chat);
      throw error;
    } finally {
      shelf.putBack(chat);
    }
    return search(session, use, place);
  };
  return {
    async within(session, use) {
      try {
        return await search(session, use, indexFile);
      } catch (error) {
        if (!isIndexFailure(error)) throw error;
        log?.warn({ err: error, session }, 'the disk takes no search index: a small one is kept in memory');
        return search(session, use, IN_MEMORY);
      }
    },
  };
}

function emptyChat(index: MemoryIndex): Chat {
  return {
    ...{ index, covered: new Map(), read: 0, bytes: 0, bytesMax: 0, isCut: false, unreadable: 0 },
    ...{ users: 0, isDropped: false, updated: Promise.resolve() },
  };
}

type Reading = ChatMemoryPorts & { bytesMax: number };

/** A first read stops at the bound. Later, new records must get in; an index that grows too far is rebuilt. */
async function update(reading: Reading, chat: Chat, lineage: readonly AncestorSession[]): Promise<void> {
  const isFirst = chat.covered.size === 0;
  const known = new Set(chat.covered.keys());
  const bytesMax = isFirst ? reading.bytesMax : chat.bytesMax + 1;
  let isOlder = false;
  for (const ancestor of lineage) {
    const covered = chat.covered.get(ancestor.session);
    // What is older than everything read was omitted on purpose.
    if (!covered && isOlder) break;
    isOlder ||= known.has(ancestor.session);
    if (chat.bytes >= bytesMax) chat.isCut = true;
    else await readBack({ ...reading, bytesMax }, chat, ancestor, covered ?? { next: 0, segments: 0 });
  }
  if (isFirst) chat.bytesMax = Math.max(chat.bytes, reading.bytesMax) * GROWTH_MAX;
}

/** Reads a session backwards from the end of its past to what is covered: first its log, then its archive. */
async function readBack(
  reading: Reading,
  chat: Chat,
  { session, end }: AncestorSession,
  covered: Covered,
): Promise<void> {
  const { redis, keys, bytesMax } = reading;
  const logs = sessionLogs(redis, keys);
  let before = end;
  let next: number | undefined;
  let hasMore = true;
  while (hasMore && chat.bytes < bytesMax) {
    const { size, first, newestFirst } = await logs.tail(session, READ_BYTES, before);
    next ??= Math.max(covered.next, Math.min(size, end));
    await add(chat, newestFirst.slice(0, Math.max(0, first + newestFirst.length - covered.next)).reverse());
    before = first;
    hasMore = newestFirst.length > 0 && first > covered.next;
  }
  const segments = await sessionArchives(redis, keys).segments(session);
  // Fewer segments than before are new ones: the older archive has passed its retention.
  const floor = before <= covered.next ? segments : segments < covered.segments ? 0 : covered.segments;
  let segment = segments;
  while (!hasMore && segment > floor && chat.bytes < bytesMax) {
    segment -= 1;
    const lines = await readSegment(reading, session, segment, (_place, error) => {
      chat.unreadable += 1;
      reading.log?.warn({ err: error, session, segment }, 'a segment of an archive is damaged');
    });
    await add(
      chat,
      (lines ?? []).map((line) => line.toString()),
    );
  }
  chat.isCut ||= hasMore || segment > floor;
  chat.covered.set(session, { next: next ?? covered.next, segments });
}

async function add(chat: Chat, lines: readonly string[]): Promise<void> {
  await chat.index.add(lines.map(decodeRecord));
  chat.read += lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
  chat.bytes = Math.max(chat.read, chat.index.fileBytes);
}
