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
 * The lanes of one shard: FIFO queues of unanswered messages. Each chat has one lane for its messages, and further lanes for
 * commands that run while a message is being answered. Only a lane's head becomes a job, so retries and delays cannot reorder a
 * chat's messages.
 *
 * Contract: unless a method says otherwise, its write is one atomic, idempotent script: if a request is sent again because its
 * reply was lost, the repeat changes nothing more. Methods reject when Redis cannot be reached.
 */
export interface Lane {
  /** The time of Redis, in ms since the epoch; before its first reply, the time of this process. */
  nowMs(): number;
  /** The ledger of these lanes: how many messages were accepted, how many are settled, and how many are pending. */
  readonly ledger: Ledger;
  /** Creates the consumer group if it is missing. */
  prepare(): Promise<void>;
  /**
   * Reads at most `count` new entries and appends each to its lane. `newest` is the newest entry ever read. A cancelling
   * command marks the messages before it in its lane as cancelled; `cancelled` lists the heads that are cancelled. Messages
   * that a full lane refuses are settled in the same step, except summonses. Make only one call at a time.
   */
  admit(count: number): Promise<Admission>;
  /** The next messages after a lane's head, in the lane's order, without refused, cancelled and unreadable messages. */
  behind(lane: LaneKey): Promise<Waiting[]>;
  /** The number of messages in a lane, including its head. */
  depth(lane: LaneKey): Promise<number>;
  /** Whether a user or an operator has cancelled this message. */
  isCancelled(entry: EntryId): Promise<boolean>;
  /** Reserves the reconciler for `everyMs` and returns 0. If there is a reservation already, returns its remaining ms. */
  takePass(everyMs: number): Promise<number>;
  /**
   * Puts pending entries back into the lanes that lack them, and finds the heads that may run. Works slice by slice, each slice
   * in one atomic script. `foreign` entries belong to lanes that only a later version knows, and stay unchanged. `foreign`
   * lists each of them only once; an alert reports how many of them no worker takes.
   */
  readmit(): Promise<Readmission>;
  /** Begins an attempt at a message, or returns why none can begin now. Rejects while Redis refuses writes. */
  begin(entry: EntryId, lane: LaneKey, newSession: SessionId): Promise<Begun>;
  /** Stores that an attempt makes progress, so that its message does not count as overdue. */
  noteProgress(turn: Pick<Turn, 'entry' | 'fencingToken'>): Promise<void>;
  /** Uncounts an attempt that threw this error, if the error is a refused write. Returns at once; works in the background. */
  uncountIfWriteRefused(turn: Pick<Turn, 'entry' | 'fencingToken'>, error: unknown, ending: AbortSignal): void;
  /**
   * Stores the outcome, acknowledges and removes the entry, and returns the lane's next head, if any. With `keepsAnswer`, a
   * dead letter contains the stored reply. Changes nothing if another attempt has taken over (`fenced`).
   */
  settle(turn: Turn, record: OutcomeRecord, keepsAnswer?: boolean): Promise<Settled>;
  /** Turns an entry that no turn can settle into a dead letter, with an alert. Returns false for a settled entry. */
  discard(entry: EntryId, record: OutcomeRecord, alert: string): Promise<boolean>;
}

const LANE_MESSAGES_MAX = 50;
const DAY_SECONDS = 24 * 3600;

/**
 * Binds the lanes of one shard to a connection. A lane with `messagesMax` messages refuses further ones, and the chat's next
 * reply says how many were refused. A session expires after `idleDays` without a message, or never if `idleDays` is 0.
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
  const refusedAttempts = createRefusedAttempts(
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
    readmit: withForeignAlerts(readmit, (alert) => queueAlert(redis, keys, alert)),
    async begin(entry, lane, newSession) {
      await refusedAttempts.beforeBegin(entry);
      return beginTurn({ begin, write, keys, clock, chats }, entry, lane, newSession);
    },
    noteProgress: async ({ entry, fencingToken }) => void (await noteProgress([keys.turn(entry)], [fencingToken])),
    uncountIfWriteRefused: (turn, error, ending) =>
      void refusedAttempts.afterError(turn.entry, turn.fencingToken, error, ending),
    settle: (turn, record, keepsAnswer = false) =>
      settle(turn, { record, keepsAnswer, idleSeconds: idleDays * DAY_SECONDS }),
  };
}

/** How long entries may stay foreign without an alert. In a rolling upgrade, a process of the later version starts sooner. */
const FOREIGN_MS = 60_000;

/** Wraps `readmit`: returns each foreign entry once, and alerts if entries stay foreign for at least `foreignMs`. */
export function withForeignAlerts(
  readmit: () => Promise<Readmission>,
  queue: (alert: Alert) => Promise<void>,
  foreignMs = FOREIGN_MS,
): () => Promise<Readmission> {
  /** The time at which this process first saw each foreign entry, by the monotonic clock. */
  let firstSeenMs: ReadonlyMap<EntryId, number> = new Map();
  let alertedCount = 0;
  return async () => {
    const readmission = await readmit();
    const nowMs = performance.now();
    const previous = firstSeenMs;
    firstSeenMs = new Map(readmission.foreign.map((entry) => [entry, previous.get(entry) ?? nowMs]));
    const overdueCount = [...firstSeenMs.values()].filter((sinceMs) => nowMs - sinceMs >= foreignMs).length;
    if (overdueCount > alertedCount) await queue(unreadableLanesAlert(overdueCount));
    alertedCount = overdueCount;
    return { ...readmission, foreign: readmission.foreign.filter((entry) => !previous.has(entry)) };
  };
}

const RETRY_MS = 1_000;

/**
 * The attempts of this process that ended because Redis refused a write. Such an attempt counts neither as an attempt nor as a
 * crash: this process corrects the counts once Redis takes writes. After a refusal, no attempt begins until a test write
 * succeeds, because otherwise the gateway would pay for an answer that Redis does not store.
 */
function createRefusedAttempts(
  /** Ends the attempt with this fencing token, and takes it off the message's count of attempts. */
  release: (entry: EntryId, fence: string) => Promise<unknown>,
  /** Makes a test write. Rejects while Redis refuses writes. */
  proveWrites: () => Promise<void>,
) {
  const fencesToRelease = new Map<EntryId, string>();
  let isRefusing = false;
  const releaseNow = async (entry: EntryId): Promise<void> => {
    const fence = fencesToRelease.get(entry);
    if (fence === undefined) return;
    await release(entry, fence);
    if (fencesToRelease.get(entry) === fence) fencesToRelease.delete(entry);
  };
  return {
    /** Call before an attempt begins. Uncounts the entry's refused attempt, if any. Rejects if Redis still refuses writes. */
    async beforeBegin(entry: EntryId): Promise<void> {
      await releaseNow(entry);
      if (isRefusing) await proveWrites();
      isRefusing = false;
    },
    /**
     * Call after an attempt threw. If Redis refused a write, uncounts the attempt, with retries until `ending` aborts. Never
     * rejects.
     */
    async afterError(entry: EntryId, fence: string, error: unknown, ending: AbortSignal): Promise<void> {
      if (refusalOf(error) === undefined) return;
      isRefusing = true;
      fencesToRelease.set(entry, fence);
      while (fencesToRelease.has(entry) && !ending.aborted) {
        try {
          await releaseNow(entry);
        } catch {
          await pause(RETRY_MS, ending);
        }
      }
    },
  };
}
