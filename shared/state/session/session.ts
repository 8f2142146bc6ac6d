import type { Keys, SessionId } from '../../redis/keys.ts';
import type { Change } from '../change.ts';

/** A model's window, as an error of its provider stated it. */
interface LearntWindow {
  tokens: number;
  /** The time until which the gateway relies on this window, in ms since the epoch. */
  untilMs: number;
  /** The name of the model. */
  of: string;
}

/** A session's window after a compaction. Indexes count from the session's first record. */
export interface Compaction {
  /** The index of the record with the summary. */
  head: number;
  windowStart: number;
  /** ISO time. */
  at: string;
  /** The size of the window after the compaction. */
  tokens: number;
  /** The number of messages that the summary replaced; the next answer reports this number. */
  unreported: number;
}

/** An unfinished import's log expires after this time without new lines. */
const UNFINISHED_SECONDS = 3_600;

type ShardKeys = Pick<Keys, 'session' | 'log' | 'archive' | 'archivable'>;

/** Prefix of the fields of a session that name the fresh sessions of its messages' trials. */
export const TRIAL = 'tried:';

/** Changes to one session, for a fenced write. */
export function sessionState(keys: ShardKeys, id: SessionId) {
  const key = keys.session(id);
  const archivable: Change = ['SADD', keys.archivable, id];
  return {
    /** Creates a session, which continues `parent` if given. `isSeeded`: the first record is a seed, the window's head. */
    begin: (parent: SessionId | undefined, at: string, { isSeeded = false } = {}): Change => [
      'HSET',
      key,
      ...['createdAt', at, ...(parent === undefined ? [] : ['parent', parent])],
      ...(isSeeded ? ['head', 0, 'windowStart', 1] : []),
    ],
    /** Appends lines to the log; `entries` counts the messages and answers among them. */
    append: (lines: readonly string[], entries: number): Change[] => [
      ['RPUSH', keys.log(id), ...lines],
      ['HINCRBY', key, 'entries', entries],
      ['HINCRBY', key, 'bytes', lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)],
    ],
    /** Appends lines of an import to the log. The log expires unless `finishImport` follows. */
    stage: (lines: readonly string[]): Change[] => [
      ['RPUSH', keys.log(id), ...lines],
      ['EXPIRE', keys.log(id), UNFINISHED_SECONDS],
    ],
    finishImport: (entries: number, bytes: number): Change[] => [
      ['PERSIST', keys.log(id)],
      ['HSET', key, 'entries', entries, 'bytes', bytes, 'imported', 1],
    ],
    /** Closes the session, whose chat continues in `next`. It then expires after the retention, unless it is opened again. */
    closeFor: (next: SessionId): Change[] => [['HSET', key, 'closedBy', next], archivable],
    /** Stores the fresh session of a trial, so that an erasure of the chat also finds the session of a failed trial. */
    addTrial: (fresh: SessionId): Change => ['HSET', key, `${TRIAL}${fresh}`, 1],
    learnWindow: ({ tokens, untilMs, of }: LearntWindow): Change => [
      'HSET',
      key,
      ...['limitTokens', tokens, 'limitUntilMs', untilMs, 'limitOf', of],
    ],
    forgetWindow: (): Change => ['HDEL', key, 'limitTokens', 'limitUntilMs', 'limitOf'],
    /** Stores a compaction. From then on, the records before the new window may be archived. */
    compact: ({ head, windowStart, at, tokens, unreported }: Compaction): Change[] => [
      [
        'HSET',
        key,
        ...['head', head, 'windowStart', windowStart],
        ...['compactedAt', at, 'compactedTokens', tokens, 'unreportedCompactions', unreported],
      ],
      archivable,
    ],
    /** Stores how many compactions in a row failed or did not make the window small enough. */
    setVainCompactions: (count: number): Change => ['HSET', key, 'vainCompactions', count],
    /** Marks all compactions as reported to the user. */
    reportCompactions: (): Change => ['HDEL', key, 'unreportedCompactions'],
    countRefusal: (): Change => ['HINCRBY', key, 'refusalsInRow', 1],
    forgiveRefusals: (): Change => ['HSET', key, 'refusalsInRow', 0],
    erase: (): Change[] => [
      ['UNLINK', key, keys.log(id), keys.archive(id)],
      ['SREM', keys.archivable, id],
    ],
  };
}

/** Changes to a session as one of its chat's conversations, which people may leave and open again. */
export function conversation(keys: Pick<Keys, 'session' | 'log'>, id: SessionId) {
  const key = keys.session(id);
  return {
    /** Opens a closed session again, with its log as it was. Its archive expires as that of any other open session. */
    reopen: (): Change[] => [
      ['HDEL', key, 'closedBy'],
      ['PERSIST', key],
      ['PERSIST', keys.log(id)],
    ],
    /** Changes which session comes before this one in the chat; `undefined` if none does. */
    setParent: (parent: string | undefined): Change =>
      parent === undefined ? ['HDEL', key, 'parent'] : ['HSET', key, 'parent', parent],
    /** Sets the name that people gave to the conversation; an empty one removes it. */
    rename: (name: string): Change => (name === '' ? ['HDEL', key, 'name'] : ['HSET', key, 'name', name]),
  };
}

/** Changes to the finished part of a session's summary, for a fenced write. `part` is JSON that `worker/recovery` writes. */
export function summaryPart(keys: Pick<Keys, 'session'>, id: SessionId) {
  const key = keys.session(id);
  return {
    keep: (part: string): Change => ['HSET', key, 'summaryPart', part],
    forget: (): Change => ['HDEL', key, 'summaryPart'],
  };
}

/** Changes to a session's copy of its chat's memory. Each request of the session states the copy. */
export function sessionMemory(keys: Pick<Keys, 'session'>, id: SessionId) {
  const key = keys.session(id);
  return {
    fix: (memory: string): Change => ['HSET', key, 'memory', memory],
    /** Removes the copy, so that the next attempt copies the memory again. */
    renew: (): Change => ['HDEL', key, 'memory'],
  };
}
