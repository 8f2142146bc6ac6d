import { setImmediate } from 'node:timers/promises';
import { within } from '../../../shared/base/lifecycle.ts';
import type { Logger } from '../../../shared/base/log.ts';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { sessionArchives } from '../../../shared/state/session/archive.ts';
import { chainOf, windowStartOf } from '../../../shared/state/session/header.ts';
import { sessionLogs } from '../../../shared/state/session/log.ts';
import { readSegment, type SessionSource } from '../../session/archive.ts';
import { decodeRecord } from '../../session/record.ts';
import { PARENTS_MAX } from '../../session/store.ts';
import { type Quote, quotesIn } from './document.ts';
import { createSearch, type Search } from './search.ts';

/** The source and the bounds of a search. */
export interface SearchSource extends SessionSource {
  log?: Logger | undefined;
  /** A search ends once it has read this many bytes, newest records first. Default: 64 MiB. */
  bytesMax?: number;
  /** The maximum time that a search may spend on reading. Default: 20 seconds. */
  readMsMax?: number;
}

/** The result of a search in the messages of a chat that are older than the window of its session. */
export interface SearchResult extends Pick<Search, 'size' | 'span'> {
  /** Best match first. */
  quotes: readonly Quote[];
  /** Whether the search may have ended before the oldest record, because of a bound or an abort. */
  isCut: boolean;
  /** How many archive segments were skipped because they are damaged. */
  unreadable: number;
}

/**
 * Searches the messages of a chat that are older than the window of its session. There is no index: each search reads all of
 * these messages, up to the bounds.
 *
 * Contract: a search reads only the session and at most 8 of the sessions before it (its parents). Rejects if Redis or the blob
 * store is unavailable. If one of them is slow, or on abort, the result covers only the records read so far. A search yields to
 * other work about every 10 ms.
 */
export interface ChatMemory {
  search(session: SessionId, question: string, signal?: AbortSignal): Promise<SearchResult>;
}

const BYTES_MAX = 64 * 1024 * 1024;
const READ_MS_MAX = 20_000;
const READ_BYTES = 256 * 1024;
/** How many segments a search fetches and unpacks at once. */
const SEGMENTS_AT_ONCE = 4;
/** How long a search runs before it yields to other work. */
const SLICE_MS = 10;

/** Creates the search for the chats of one shard. */
export function createChatMemory(source: SearchSource): ChatMemory {
  const { redis, keys } = source;
  return {
    async search(session, question, signal) {
      const window = await windowStartOf(redis, keys, session);
      // A fresh session begins with a copy of its parent's unanswered message. The window shows the copy, so quotes omit it.
      const firstShown = window.line === undefined ? undefined : decodeRecord(window.line).id;
      const damage = { unreadable: 0 };
      const search = createSearch(question);
      const chain = await chainOf(redis, keys, session, PARENTS_MAX + 1);
      const isCut = await searchLines(search, linesOf(source, chain, window.start, damage), { ...source, signal });
      const { size, span } = search;
      return { ...damage, isCut, size, span, quotes: quotesIn(search, firstShown) };
    },
  };
}

/** Adds lines to a search until there are no more, or until a bound or an abort. Returns whether lines may be missing. */
async function searchLines(
  search: Search,
  lines: ReturnType<typeof linesOf>,
  { bytesMax = BYTES_MAX, readMsMax = READ_MS_MAX, signal }: SearchSource & { signal: AbortSignal | undefined },
): Promise<boolean> {
  const endMs = performance.now() + readMsMax;
  for (let bytes = 0; ; ) {
    const leftMs = signal?.aborted ? 0 : endMs - performance.now();
    const next = leftMs > 0 ? await within(lines.next(), leftMs, signal) : undefined;
    if (next?.done) return false;
    // A pending `lines.next()` may still end later, but its lines are ignored.
    if (next === undefined || bytes >= bytesMax) return true;
    bytes += await addLines(search, next.value);
  }
}

/** Adds lines to a search, and returns the size of the lines in bytes. */
async function addLines(search: Search, newestFirst: readonly (Buffer | string)[]): Promise<number> {
  let bytes = 0;
  let untilMs = performance.now() + SLICE_MS;
  for (const line of newestFirst) {
    search.take(decodeRecord(line.toString()));
    bytes += Buffer.byteLength(line);
    if (performance.now() < untilMs) continue;
    await setImmediate();
    untilMs = performance.now() + SLICE_MS;
  }
  return bytes;
}

/**
 * The log lines of a chain of sessions that are older than the newest session's window; newest first, in groups. The window
 * begins at index `windowStart` of the newest session's log. All lines of the other sessions are older.
 */
async function* linesOf(
  source: SearchSource,
  chain: readonly SessionId[],
  windowStart: number,
  damage: { unreadable: number },
): AsyncGenerator<readonly (Buffer | string)[]> {
  for (const [at, session] of chain.entries()) {
    yield* logOf(source, session, at === 0 ? windowStart : Number.POSITIVE_INFINITY);
    yield* archiveOf(source, session, (segment, error) => {
      damage.unreadable += 1;
      source.log?.warn({ err: error, session, segment }, 'a segment of an archive is damaged');
    });
  }
}

async function* logOf({ redis, keys }: SearchSource, session: SessionId, end: number) {
  const logs = sessionLogs(redis, keys);
  for (let before = end; ; ) {
    const { first, newestFirst } = await logs.tail(session, READ_BYTES, before);
    if (newestFirst.length === 0) return;
    yield newestFirst;
    before = first;
  }
}

/**
 * The archived lines of a session, newest first, one group per segment. Records that are archived during the search may be read
 * twice. This does no harm, because a search counts each record once.
 */
async function* archiveOf(source: SearchSource, session: SessionId, onUnreadable: Parameters<typeof readSegment>[3]) {
  const segments = await sessionArchives(source.redis, source.keys).segments(session);
  for (let end = segments; end > 0; end -= SEGMENTS_AT_ONCE) {
    const places = Array.from({ length: Math.min(SEGMENTS_AT_ONCE, end) }, (_, n) => end - 1 - n);
    const read = await Promise.all(places.map((place) => readSegment(source, session, place, onUnreadable)));
    for (const lines of read) yield (lines ?? []).toReversed();
  }
}
