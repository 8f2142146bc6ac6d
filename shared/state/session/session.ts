import type { Keys, SessionId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** A window that errors of a provider showed, for whom it holds, and until when, in ms since the epoch. */
interface LearntWindow {
  tokens: number;
  untilMs: number;
  of: string;
}

/** What a compaction leaves of a session's window. Indexes count from the session's first record. */
export interface Compacted {
  /** Where the record stands that stands for all before the window. */
  head: number;
  windowStart: number;
  /** ISO time. */
  at: string;
  tokens: number;
  /** The messages that the summary stands for; the next answer says so. */
  unreported: number;
}

/** An import that was interrupted leaves nothing for longer than this. */
const UNFINISHED_SECONDS = 3_600;

type ShardKeys = Pick<Keys, 'session' | 'log' | 'archive' | 'archivable'>;

/** The field of a session for a fresh one that was tried in its place. */
export const TRIED = 'tried:';

/** Verbs of one session, for a fenced write. */
export function sessionState(keys: ShardKeys, id: SessionId) {
  const key = keys.session(id);
  const archivable: Change = ['SADD', keys.archivable, id];
  return {
    /** A session that continues another one, where its chat had one; `seeded` where its first record is the seed, which stands for all before. */
    begin: (parent: SessionId | undefined, at: string, { isSeeded = false } = {}): Change => [
      'HSET',
      key,
      ...['createdAt', at, ...(parent === undefined ? [] : ['parent', parent])],
      ...(isSeeded ? ['head', 0, 'windowStart', 1] : []),
    ],
    /** Adds lines to its log, of which so many are messages or answers. */
    append: (lines: readonly string[], entries: number): Change[] => [
      ['RPUSH', keys.log(id), ...lines],
      ['HINCRBY', key, 'entries', entries],
      ['HINCRBY', key, 'bytes', lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)],
    ],
    /** Adds lines to the log of a session that no chat is in yet: they expire unless the import is finished. */
    stage: (lines: readonly string[]): Change[] => [
      ['RPUSH', keys.log(id), ...lines],
      ['EXPIRE', keys.log(id), UNFINISHED_SECONDS],
    ],
    finishImport: (entries: number, bytes: number): Change[] => [
      ['PERSIST', keys.log(id)],
      ['HSET', key, 'entries', entries, 'bytes', bytes, 'imported', 1],
    ],
    /** Its chat goes on in another one. The archivist is told, since nothing is in its window any more. */
    closeFor: (next: SessionId): Change[] => [['HSET', key, 'closedBy', next], archivable],
    /** A fresh session is tried in its place: whoever erases the chat finds it here, if it is given up. */
    tryAnother: (fresh: SessionId): Change => ['HSET', key, `${TRIED}${fresh}`, 1],
    learnWindow: ({ tokens, untilMs, of }: LearntWindow): Change => [
      'HSET',
      key,
      ...['limitTokens', tokens, 'limitUntilMs', untilMs, 'limitOf', of],
    ],
    forgetWindow: (): Change => ['HDEL', key, 'limitTokens', 'limitUntilMs', 'limitOf'],
    /** A summary stands for what left the window. */
    compact: ({ head, windowStart, at, tokens, unreported }: Compacted): Change[] => [
      [
        'HSET',
        key,
        ...['head', head, 'windowStart', windowStart],
        ...['compactedAt', at, 'compactedTokens', tokens, 'unreportedCompactions', unreported],
      ],
      archivable,
    ],
    /** How many compactions in a row did not help. */
    setVainCompactions: (count: number): Change => ['HSET', key, 'vainCompactions', count],
    /** An answer said what was summarised, or the reply to whoever asked for it. */
    reportCompactions: (): Change => ['HDEL', key, 'unreportedCompactions'],
    countRefusal: (): Change => ['HINCRBY', key, 'refusalsInRow', 1],
    forgiveRefusals: (): Change => ['HSET', key, 'refusalsInRow', 0],
    erase: (): Change[] => [
      ['UNLINK', key, keys.log(id), keys.archive(id)],
      ['SREM', keys.archivable, id],
    ],
  };
}

/** Verbs of the finished part of a session's summary, which is JSON of the room that makes it. */
export function summaryPart(keys: Pick<Keys, 'session'>, id: SessionId) {
  const key = keys.session(id);
  return {
    keep: (part: string): Change => ['HSET', key, 'summaryPart', part],
    forget: (): Change => ['HDEL', key, 'summaryPart'],
  };
}

/** Verbs of what is remembered about its chat, as every request of a session shows it. */
export function carriedMemory(keys: Pick<Keys, 'session'>, id: SessionId) {
  const key = keys.session(id);
  return {
    fix: (memory: string): Change => ['HSET', key, 'memory', memory],
    /** The next attempt fixes it as it is then. */
    renew: (): Change => ['HDEL', key, 'memory'],
  };
}
