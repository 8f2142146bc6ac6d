import type { Logger } from '../../../shared/base/log.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { sessionArchives } from '../../../shared/state/session/archive.ts';
import { chainOf, windowStartOf } from '../../../shared/state/session/header.ts';
import { sessionLogs } from '../../../shared/state/session/log.ts';
import { readSegment, type SessionSource } from '../../session/archive.ts';
import { decodeRecord } from '../../session/record.ts';
import { PARENTS_MAX } from '../../session/store.ts';
import { createMemoryIndex, type MemoryIndex } from './search-index.ts';

export interface ChatMemoryPorts extends SessionSource {
  log?: Logger | undefined;
  /** Upper bound of what is read of a chat, newest first, and of what all indexes together hold; 64 MiB if absent. */
  bytesMax?: number;
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
 * reached. A caller that stops waiting stops nothing: the next one finds more of the work done.
 */
export interface ChatMemory {
  of(session: SessionId): Promise<Remembered>;
}

const CHATS_MAX = 4;
const BYTES_MAX = 64 * 1024 * 1024;
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

interface Chat extends Omit<Remembered, 'shown'> {
  covered: Map<SessionId, Covered>;
  /** Bytes of the records that were read. */
  read: number;
  /** These, or the weight of the index if that is more; and the limit at which it is rebuilt. */
  bytes: number;
  bytesMax: number;
  /** Serialises updates: the index takes one at a time. */
  updated: Promise<void>;
}

/** Binds the memory of a shard's chats to a connection. */
export function createChatMemory({ redis, keys, blobs, log, bytesMax = BYTES_MAX }: ChatMemoryPorts): ChatMemory {
  const chats = new Map<SessionId, Chat>();

  /** The index of a session, or of the nearest parent: the parent's content is a part of this one's. */
  const take = (lineage: readonly AncestorSession[]): Chat => {
    const known = lineage.find(({ session }) => chats.has(session))?.session;
    const chat = (known && chats.get(known)) ?? emptyChat();
    if (known) chats.delete(known);
    const current = lineage[0]?.session;
    if (current) chats.set(current, chat);
    forgetOthers(chats, chat, bytesMax);
    return chat;
  };
  return {
    async of(session) {
      const window = await windowStartOf(redis, keys, session);
      const chain = await chainOf(redis, keys, session, PARENTS_MAX + 1);
      // All of a parent is older than the window.
      const lineage = chain.map((each) => ({
        session: each,
        end: each === session ? window.start : Number.POSITIVE_INFINITY,
      }));
      const chat = take(lineage);
      const reading = { redis, keys, blobs, log, bytesMax };
      const forget = () => chats.get(session) === chat && chats.delete(session);
      chat.updated = chat.updated.then(() => update(reading, chat, lineage));
      try {
        await chat.updated;
      } catch (error) {
        // Its content is no longer certain.
        forget();
        throw error;
      }
      if (chat.bytes > chat.bytesMax) {
        forget();
        return this.of(session);
      }
      forgetOthers(chats, chat, bytesMax);
      const { index, isCut, unreadable } = chat;
      // A fresh session begins with a copy of the message that its parent could not answer.
      const shown = window.line === undefined ? undefined : decodeRecord(window.line).id;
      return { index, isCut, unreadable, shown };
    },
  };
}

function emptyChat(): Chat {
  return {
    index: createMemoryIndex(),
    covered: new Map(),
    read: 0,
    bytes: 0,
    bytesMax: 0,
    isCut: false,
    unreadable: 0,
    updated: Promise.resolve(),
  };
}

/** Removes the least recently used chats first. */
function forgetOthers(chats: Map<SessionId, Chat>, used: Chat, bytesMax: number): void {
  for (const [session, chat] of chats) {
    const bytes = [...chats.values()].reduce((sum, each) => sum + each.bytes, 0);
    if (chats.size <= CHATS_MAX && bytes <= bytesMax) return;
    if (chat !== used) chats.delete(session);
  }
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
  chat.bytes = Math.max(chat.read, chat.index.weight);
}
