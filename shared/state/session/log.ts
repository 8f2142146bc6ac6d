import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { bindScript, readScript } from '../../redis/script.ts';
import { recordStep } from '../turn/record.ts';
import type { Turn } from '../turn/turn.ts';

/**
 * The part of the window that the caller has cached: the index after the newest record, the SHA-1 of that record's line, and
 * the index of the cached head. `[0, '', -1]` if nothing is cached.
 */
export type CachedEnd = readonly [end: number, newestSha1: string, headIndex: number];

/** The reply of `open.lua`. */
export type OpenReply =
  | ['fenced']
  | [
      'opened',
      logRecords: number,
      first: number,
      windowStart: number,
      head: string,
      lines: string[],
      headIndex: number,
      start: number,
      pending: number,
      isCacheValid: 0 | 1,
    ];

/** The maximum number of records in a range. An archive's segment is one range. */
export const RANGE_RECORDS_MAX = 500;
/** The maximum number of bytes in a range; a larger record is a range of its own. */
export const RANGE_BYTES_MAX = 1024 * 1024;

/** The text of the script that `range` runs with `EVAL`, because bound scripts cannot reply with bytes. */
const RANGE = readScript(join(import.meta.dirname, 'range.lua'));

/** The logs of a shard's sessions. Methods reject when Redis cannot be reached. */
export function sessionLogs(redis: RedisClient, keys: Pick<Keys, 'turn' | 'session' | 'log' | 'archive'>) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const open = script<OpenReply>('open');
  const tail = script<[size: number, first: number, newestFirst: string[]]>('tail');
  return {
    /** Appends a line to the session's log, once, unless the line is empty. Loads the window after its cached part. */
    open({ entry, session, fencingToken, asWrite }: Turn, line: string, bytesMax: number, cached: CachedEnd) {
      const at = [keys.turn(entry), keys.session(session), keys.log(session)];
      const args = [fencingToken, recordStep(session), line, bytesMax];
      return asWrite((writeNumbers) => open(at, [...args, writeNumbers, ...cached]));
    },
    /**
     * Reads the newest lines before the index `end`: at most `bytesMax` bytes, but at least one line if there is one. `first`
     * is the index of the oldest line. Indexes count from the session's first record, and `size` includes archived records.
     */
    async tail(session: SessionId, bytesMax: number, end = Number.POSITIVE_INFINITY) {
      const args = [bytesMax, Number.isFinite(end) ? end : ''];
      const [size, first, newestFirst] = await tail([keys.log(session), keys.session(session)], args);
      return { size, first, newestFirst };
    },
    /**
     * Reads one range of lines from an index on, or from the log's first record if that is later; `archived` is the index of
     * the log's first record. `segments` counts the archive's segments at the time `readAtS`, in seconds by Redis' clock.
     */
    async range(session: SessionId, from: number) {
      const at = [keys.session(session), keys.log(session), keys.archive(session)];
      const args = [RANGE, at.length, ...at, from, RANGE_RECORDS_MAX, RANGE_BYTES_MAX];
      const reply = (await redis.callBuffer('EVAL', args)) as [number, number, Buffer[], number];
      const [archived, segments, lines, readAtS] = reply;
      return { archived, segments, lines, readAtS };
    },
  };
}
