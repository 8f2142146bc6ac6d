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
 * message is being answered. Only a lane's head becomes a job, so BullMQ's retries and delays cannot reorder a chat.
 *
 * Contract: each write is one atomic, idempotent script, unless its method says otherwise: a command that is sent again
 * because its reply was lost changes nothing more and gets the same reply. Methods reject when Redis cannot be reached.
 */
export interface Lane {
  /** The time of Redis, in ms since the epoch: the clock behind entry ids. */
  nowMs(): number;
  /** The counts of messages that entered and left these lanes. */
  readonly ledger: Ledger;
  /** Creates the consumer group if it is missing. */
  prepare(): Promise<void>;
  /**
   * One call at a time. Reads at most `count` new entries and queues each in its lane. `newest` is the newest entry
   * ever read. An entry that cancels others marks the earlier entries of its lane; `cancelled` lists the heads among
   * them. Messages that a full lane refuses are settled in the same step.
   */
  admit(count: number): Promise<Admission>;
  /** The next messages behind a lane's head, in order, without refused, cancelled and unreadable messages. */
  behind(lane: LaneKey): Promise<Waiting[]>;
  /** The number of messages in a lane, its head included. */
  depth(lane: LaneKey): Promise<number>;
  /** Whether a later message cancelled this one. */
  isCancelled(entry: EntryId): Promise<boolean>;
  /** Takes the reconciler's pass for the next `everyMs`. Returns 0, or the rest of another process's pass. */
  takePass(everyMs: number): Promise<number>;
  /**
   * Puts pending entries that are in no lane back into their lane, and finds the heads of all lanes that are not paused:
   * slice by slice, each an atomic script. `foreign` entries are in a lane that only a later version knows, and stay
   * unchanged. Each is returned once; an alert counts those that no worker takes.
   */
  readmit(): Promise<Readmission>;
  /** Begins an attempt. Rejects while Redis takes no writes. */
  begin(entry: EntryId, lane: LaneKey, newSession: SessionId): Promise<Begun>;
  /** Notes the progress of an attempt, so that its message does not count as overdue. */
  noteProgress(turn: Pick<Turn, 'entry' | 'fencingToken'>): Promise<void>;
  /** Uncounts an attempt that ended with this error, if Redis refused a write in it. Returns at once. */
  uncountIfWriteRefused(turn: Pick<Turn, 'entry' | 'fencingToken'>, error: unknown, ending: AbortSignal): void;
  /**
   * Writes the outcome, acknowledges the entry, and returns the lane's next head. With `keepsAnswer` the dead letter
   * contains the stored reply.
   */
  settle(turn: Turn, record: OutcomeRecord, keepsAnswer?: boolean): Promise<Settled>;
  /** Dead-letters an entry that names no chat, or that no turn can end. */
  discard(entry: EntryId, record: OutcomeRecord, alert: string): Promise<boolean>;
}

const LANE_MESSAGES_MAX = 50;
const DAY_SECONDS = 24 * 3600;

/**
 * Binds the lanes of one shard to a connection. A lane with `messagesMax` messages refuses further ones; the chat's next
 * reply says how many. A session expires after `idleDays` without a message; 0 for never.
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

/** Longer than the gap between two processes of a rolling upgrade. */
const FOREIGN_MS = 60_000;

/** Wraps `readmit`: returns each foreign entry once, and alerts if no later version takes some for `foreignMs`. */
export function withForeignAlerts(
  readmit: () => Promise<Readmission>,
  queue: (alert: Alert) => Promise<void>,
  foreignMs = FOREIGN_MS,
): () => Promise<Readmission> {
  /** When this process first saw each foreign entry, by a clock that never steps. */
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
 * The attempts of this process that ended because Redis refused a write. Such an attempt counts neither as an attempt
 * nor as a crash; this process corrects the counts as soon as Redis accepts writes. After a refusal, no attempt begins
 * until a test write succeeds: the model would be paid for an answer that Redis does not store.
 */
function createRefusedAttempts(
  /** Uncounts the attempt with this fencing token. */
  release: (entry: EntryId, fence: string) => Promise<unknown>,
  /** Rejects while Redis takes no writes. */
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
    /** Call before an attempt begins. Uncounts the entry's refused attempt, and rejects while Redis refuses writes. */
    async beforeBegin(entry: EntryId): Promise<void> {
      await releaseNow(entry);
      if (isRefusing) await proveWrites();
      isRefusing = false;
    },
    /** Call when an attempt threw. If Redis refused a write, retries to uncount it until `ending` aborts. Never rejects. */
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
