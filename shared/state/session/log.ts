import { join } from 'node:path';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys, SessionId } from '../../redis/keys.ts';
import { bindScript, readScript } from '../../redis/script.ts';
import { recordStep } from '../turn/record.ts';
import type { Turn } from '../turn/turn.ts';

/** The end of what a caller holds of a log, or `[0, '', -1]`. */
export type HeldPlace = readonly [end: number, newestSha1: string, headIndex: number];

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
      isHeld: 0 | 1,
    ];

/** Most records of a range, and so of a segment of an archive. */
export const RANGE_RECORDS_MAX = 500;
/** Most bytes of it; a larger record is a range of its own. */
export const RANGE_BYTES_MAX = 1024 * 1024;

/** It replies with bytes, which a bound script cannot; its text is small beside the records that it carries. */
const RANGE = readScript(join(import.meta.dirname, 'range.lua'));

/** The logs of a shard's sessions. Methods reject when Redis cannot be reached. */
export function sessionLogs(redis: RedisClient, keys: Pick<Keys, 'turn' | 'session' | 'log' | 'archive'>) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const open = script<OpenReply>('open');
  const tail = script<[size: number, first: number, newestFirst: string[]]>('tail');
  return {
    /** Records a line in the session of an attempt, once, and loads the window behind what is held; `''` only loads. */
    open({ entry, session, fencingToken, asWrite }: Turn, line: string, bytesMax: number, held: HeldPlace) {
      const at = [keys.turn(entry), keys.session(session), keys.log(session)];
      const args = [fencingToken, recordStep(session), line, bytesMax];
      return asWrite((place) => open(at, [...args, place, ...held]));
    },
    /**
     * Reads at most `bytesMax` of the newest lines before an index, but always one. Indexes count from the session's first
     * record: `first` is that of the oldest line. `size` counts the archived records, too.
     */
    async tail(session: SessionId, bytesMax: number, before = Number.POSITIVE_INFINITY) {
      const end = Number.isFinite(before) ? before : '';
      const [size, first, newestFirst] = await tail([keys.log(session), keys.session(session)], [bytesMax, end]);
      return { size, first, newestFirst };
    },
    /**
     * Reads lines from an index on, or from the log's first record if that comes later: `archived` is the index of that one.
     * Also how many segments the archive has at that moment, and the moment in seconds by Redis' clock.
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
