import { pause } from '../../shared/base/lifecycle.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import type { Waiting } from '../../shared/flow/message.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { EntryId, Keys, LaneKey, SessionId } from '../../shared/redis/keys.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';
import type { ChatTable } from '../../shared/state/chat/chat-settings.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import {
  type Admission,
  createClock,
  createLaneStore,
  type Readmission,
  type Settled,
} from '../../shared/state/lane/lanes.ts';
import { createLedger, type Ledger } from '../../shared/state/lane/ledger.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import { readBehind, readDepth } from '../../shared/state/lane/waiting.ts';
import { createPasses, proveWrites } from '../../shared/state/process/process.ts';
import { type BeginReply, type Begun, beginTurn } from '../../shared/state/turn/begin.ts';
import { bindTurnScripts, turnReads } from '../../shared/state/turn/summary.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { unreadableLanesAlert } from '../alerts/causes/watch.ts';

/**
 * The FIFOs of unanswered messages of one shard: one per chat, and one more per chat for the commands that act while a
 * message is being answered. Only a lane's head becomes a job, so order per chat holds by construction, whatever BullMQ
 * does with retries and delays.
 *
 * Contract: each write is one atomic script, unless its method says otherwise, and may be repeated; a command that is
 * re-sent because its reply was lost changes nothing more and gets the same reply. Methods reject when Redis cannot be
 * reached.
 */
export interface Lane {
  /** The time of Redis, in ms since the epoch: the clock behind entry ids. */
  nowMs(): number;
  /** How many messages entered and left these lanes, and whether that adds up. */
  readonly ledger: Ledger;
  /** Creates the consumer group if it is missing. */
  prepare(): Promise<void>;
  /**
   * One call at a time. Reads at most `count` new entries and queues each in its lane. `newest` is the newest entry
   * ever read. An entry that cancels others marks the earlier entries of its lane; `cancelled` lists the heads among
   * them. Messages that a full lane refuses are settled in the same step.
   */
  admit(count: number): Promise<Admission>;
  /** The next messages behind a lane's head, in order, without refused, cancelled and unreadable ones. */
  behind(lane: LaneKey): Promise<Waiting[]>;
  /** How many messages stand in a lane, its head included. */
  depth(lane: LaneKey): Promise<number>;
  /** Whether a later message cancelled this one. */
  isCancelled(entry: EntryId): Promise<boolean>;
  /** Takes the reconciler's pass for the next `everyMs`. Returns 0, or for how long another process still has it. */
  takePass(everyMs: number): Promise<number>;
  /**
   * Restores pending entries that are in no lane to their place, and finds the heads of all lanes that are not paused:
   * slice by slice, each an atomic script. `foreign` ones are in a lane that a later version may know, and are left alone: each
   * is named once, and a later alert counts those that nobody takes.
   */
  readmit(): Promise<Readmission>;
  /** Begins an attempt. Rejects while Redis takes no writes. */
  begin(entry: EntryId, lane: LaneKey, newSession: SessionId): Promise<Begun>;
  /** Notes that an attempt makes progress: its message is not overdue as long as it does. */
  noteProgress(turn: Pick<Turn, 'entry' | 'fencingToken'>): Promise<void>;
  /** Reports the error that ended an attempt. If Redis refused its write, the attempt is not counted. Returns at once. */
  releaseRefusedAttempt(turn: Pick<Turn, 'entry' | 'fencingToken'>, error: unknown, ending: AbortSignal): void;
  /**
   * Writes the outcome, acknowledges the entry, and returns the lane's next head. With `keepsAnswer` the dead letter holds
   * what was to be delivered.
   */
  settle(turn: Turn, record: OutcomeRecord, keepsAnswer?: boolean): Promise<Settled>;
  /** Dead-letters an entry that names no chat, or that no turn can end. */
  discard(entry: EntryId, record: OutcomeRecord, alert: string): Promise<boolean>;
}

const LANE_MESSAGES_MAX = 50;
const DAY_SECONDS = 24 * 3600;

/**
 * Binds the lanes of one shard to a connection. A message that finds `messagesMax` others in its lane is refused; the
 * chat's next reply says how many were. An open session in which nobody writes for `idleDays` is forgotten; 0 for never.
 */
export function createLane(
  redis: RedisClient,
  keys: Keys,
  messagesMax = LANE_MESSAGES_MAX,
  idleDays = 0,
  chats: ChatTable = new Map(),
): Lane {
  const { begin, write, release, noteProgress } = bindTurnScripts<BeginReply>(redis);
  const clock = createClock();
  const refused = createRefusedAttempts(
    (entry, fence) => release([keys.turn(entry), keys.absent], [fence]),
    () => proveWrites(redis, keys),
  );
  const { settle, readmit, ...store } = createLaneStore(redis, keys, clock, messagesMax);
  return {
    ...store,
    nowMs: clock.nowMs,
    ledger: createLedger(redis, keys),
    behind: (lane) => readBehind(redis, keys, lane),
    depth: (lane) => readDepth(redis, keys, lane),
    isCancelled: turnReads(redis, keys).isCancelled,
    takePass: createPasses(redis, keys).takeReconciler,
    readmit: alertingOfForeign(readmit, (alert) => queueAlert(redis, keys, alert)),
    async begin(entry, lane, newSession) {
      await refused.beforeBegin(entry);
      return beginTurn({ begin, write, keys, clock, chats }, entry, lane, newSession);
    },
    noteProgress: async ({ entry, fencingToken }) => void (await noteProgress([keys.turn(entry)], [fencingToken])),
    releaseRefusedAttempt: (turn, error, ending) => void refused.ended(turn.entry, turn.fencingToken, error, ending),
    settle: (turn, record, keepsAnswer = false) =>
      settle(turn, { record, keepsAnswer, idleSeconds: idleDays * DAY_SECONDS }),
  };
}

/** Longer than a rolling upgrade takes from one process to the next. */
const FOREIGN_MS = 60_000;

/** Names each foreign entry once, and alerts the operator of those that no later version takes for `foreignMs`. */
export function alertingOfForeign(
  readmit: () => Promise<Readmission>,
  queue: (alert: Alert) => Promise<void>,
  foreignMs = FOREIGN_MS,
): () => Promise<Readmission> {
  /** When this process first saw each foreign entry, by a clock that never steps. */
  let seenMs: ReadonlyMap<EntryId, number> = new Map();
  let alerted = 0;
  return async () => {
    const readmission = await readmit();
    const nowMs = performance.now();
    const before = seenMs;
    seenMs = new Map(readmission.foreign.map((entry) => [entry, before.get(entry) ?? nowMs]));
    const old = [...seenMs.values()].filter((sinceMs) => nowMs - sinceMs >= foreignMs).length;
    if (old > alerted) await queue(unreadableLanesAlert(old));
    alerted = old;
    return { ...readmission, foreign: readmission.foreign.filter((entry) => !before.has(entry)) };
  };
}

const RETRY_MS = 1_000;

/**
 * The attempts of this process that ended because Redis refused a write. Such an attempt counts neither
 * as an attempt nor as a process death; Redis gets this correction as soon as it accepts writes. After a refusal, no
 * attempt begins until a test write succeeds, so that no model call is paid for an answer that cannot be stored.
 */
function createRefusedAttempts(
  /** Ends the attempt with this fencing token as if it had not begun. */
  release: (entry: EntryId, fence: string) => Promise<unknown>,
  /** Rejects while Redis takes no writes. */
  proveWrites: () => Promise<void>,
) {
  const unreleased = new Map<EntryId, string>();
  let isRefusing = false;
  const releaseNow = async (entry: EntryId): Promise<void> => {
    const fence = unreleased.get(entry);
    if (fence === undefined) return;
    await release(entry, fence);
    if (unreleased.get(entry) === fence) unreleased.delete(entry);
  };
  return {
    /** Call before an attempt begins: releases the entry's refused attempt, and rejects while Redis refuses writes. */
    async beforeBegin(entry: EntryId): Promise<void> {
      await releaseNow(entry);
      if (isRefusing) await proveWrites();
      isRefusing = false;
    },
    /** An attempt threw. If Redis refused a write, releases the attempt, now or later, until `ending` aborts. Never rejects. */
    async ended(entry: EntryId, fence: string, error: unknown, ending: AbortSignal): Promise<void> {
      if (refusalOf(error) === undefined) return;
      isRefusing = true;
      unreleased.set(entry, fence);
      while (unreleased.has(entry) && !ending.aborted) {
        try {
          await releaseNow(entry);
        } catch {
          await pause(RETRY_MS, ending);
        }
      }
    },
  };
}
