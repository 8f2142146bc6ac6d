import type { Alert } from '../../shared/flow/alert.ts';
import type { Outcome, Waiting } from '../../shared/flow/message.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { ChatKey, EntryId, Keys, LaneKey, SessionId } from '../../shared/redis/keys.ts';
import { queueAlert } from '../../shared/state/incident/book.ts';
import {
  type Admission,
  createLaneStore,
  type Head,
  type Readmission,
  type Settled,
} from '../../shared/state/lane/lanes.ts';
import { createLedger, type Ledger } from '../../shared/state/lane/ledger.ts';
import { readBehind, readDepth, readRefusedNext } from '../../shared/state/lane/waiting.ts';
import { createPasses, proveWrites } from '../../shared/state/process/process.ts';
import { bindTurnScripts, turnReads } from '../../shared/state/turn/summary.ts';
import { leftLanesAlert } from '../alerts/causes/watch.ts';
import type { Attempt } from './attempt.ts';
import { type BeginReply, beginAttempt } from './begin-attempt.ts';
import type { ChatTable } from './chat-settings.ts';
import { createRefusedAttempts } from './refused-attempts.ts';

/**
 * The time of a shard's Redis server, which names entries and schedules jobs: clocks of different machines differ. It
 * is learnt from replies to ordinary requests, and carried forward by the monotonic clock.
 */
export interface RedisClock {
  /** Ms since the epoch; this process's own time until a reply has set it. */
  nowMs(): number;
  /** Sends a request to Redis whose reply states the time. */
  learn<T>(ask: () => Promise<T>, timeOf: (reply: T) => number | undefined): Promise<T>;
}

/** A reply that took longer was delayed or re-sent, and says too little about the present. */
const ROUND_TRIP_MS_MAX = 1_000;

/** A clock that has learnt nothing yet. */
export function createClock(): RedisClock {
  /** The time of Redis at which our monotonic clock began. */
  let startMs: number | undefined;
  return {
    nowMs: () => Math.round(startMs === undefined ? Date.now() : startMs + performance.now()),
    async learn(ask, timeOf) {
      const askedMs = performance.now();
      const reply = await ask();
      const answeredMs = performance.now();
      const timeMs = timeOf(reply);
      const isQuick = answeredMs - askedMs <= ROUND_TRIP_MS_MAX;
      if (timeMs !== undefined && (isQuick || startMs === undefined)) startMs = timeMs - (askedMs + answeredMs) / 2;
      return reply;
    },
  };
}

/** Telegram's word on the parts of a reply: the ledger's proof that `answered` was seen. */
export interface DeliveryRecord {
  parts: number;
  /** Telegram has confirmed them. */
  confirmed: number;
  /** Repeated and marked as such, while Telegram confirmed other messages; it did not say whether it took the repeat. */
  unsure: number;
}

/** One line of the ledger: how a message ended. Times are ms since the epoch. */
export interface OutcomeRecord {
  entry: EntryId;
  chat?: ChatKey;
  outcome: Outcome;
  /** A short code, e.g. `prompt_too_long`; absent for a plain answer. */
  reason?: string;
  /** The message into which this one was merged. */
  into?: EntryId;
  traceId: string;
  sentAtMs?: number;
  settledAtMs: number;
  attempts: number;
  recoveries: number;
  session?: SessionId;
  /** Absent where nothing was sent, and in what a version before 0.3 wrote. */
  delivery?: DeliveryRecord;
}

/**
 * The FIFOs of unanswered messages of one shard, one per chat, and one more per chat for the commands that act while a
 * message is being answered. Only a lane's head becomes a job, so order per chat
 * holds by construction, whatever BullMQ does with retries and delays.
 *
 * Contract: every method is one atomic script and may be repeated at will; a command that is re-sent because its reply
 * was lost changes nothing more and gets the same reply. Each method rejects when Redis cannot be reached.
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
   * slice by slice, each an atomic script. `foreign` ones are in a lane that a later version may know, and are left alone.
   */
  readmit(): Promise<Readmission>;
  /** Begins an attempt. Rejects while Redis takes no writes. */
  begin(entry: EntryId, lane: LaneKey, newSession: SessionId): Promise<Begun>;
  /** The message directly behind a lane's head, if it was refused at admission and not cancelled since. */
  refusedNext(lane: LaneKey): Promise<EntryId | undefined>;
  /** Notes that an attempt makes progress: its message is not overdue as long as it does. */
  noteProgress(attempt: Pick<Attempt, 'entry' | 'fencingToken'>): Promise<void>;
  /** Reports the error that ended an attempt. If Redis refused its write, the attempt is not counted. Returns at once. */
  afterThrow(attempt: Pick<Attempt, 'entry' | 'fencingToken'>, error: unknown, ending: AbortSignal): void;
  /**
   * Writes the outcome, acknowledges the entry, and returns the lane's next head. With `keepsAnswer` the dead letter holds
   * what was to be delivered.
   */
  settle(attempt: Attempt, record: OutcomeRecord, keepsAnswer?: boolean): Promise<Settled>;
  /** Dead-letters an entry that names no chat, or that no turn can end. */
  discard(entry: EntryId, record: OutcomeRecord, alert: string): Promise<boolean>;
}

/** The result of beginning an attempt. */
export type Begun =
  | { kind: 'begun'; attempt: Attempt }
  /** The outcome is written already. A crash may have kept the lane's next head from becoming a job. */
  | { kind: 'settled'; head?: Head }
  /** Another message of the chat comes first. */
  | { kind: 'waiting'; head: Head }
  /** The message may have killed processes, and an older poison candidate comes first. */
  | { kind: 'poison candidate' }
  /** An operator has paused the chat: the reconciler makes it a job again when that is over. */
  | { kind: 'paused' }
  /** The reply was lost, and another attempt took over before the command was re-sent. */
  | { kind: 'fenced' };

const LANE_MESSAGES_MAX = 50;
const DAY_SECONDS = 24 * 3600;

/**
 * Binds the lanes of one shard to a connection. A message that finds `messagesMax` others in its lane is refused; the
 * turn of the first refused one tells the user how many were refused. An open session in which nobody writes for
 * `idleDays` is forgotten; 0 for never.
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
  const refused = createRefusedAttempts({
    release: (entry, fence) => release([keys.turn(entry), keys.absent], [fence]),
    proveWrites: () => proveWrites(redis, keys),
  });
  const { settle, readmit, ...store } = createLaneStore(redis, keys, clock, messagesMax);
  return {
    ...store,
    nowMs: clock.nowMs,
    ledger: createLedger(redis, keys),
    behind: (lane) => readBehind(redis, keys, lane),
    depth: (lane) => readDepth(redis, keys, lane),
    isCancelled: turnReads(redis, keys).isCancelled,
    takePass: createPasses(redis, keys).takeReconciler,
    readmit: tellingOfLeft(readmit, (alert) => queueAlert(redis, keys, alert)),
    async begin(entry, lane, newSession) {
      await refused.beforeBegin(entry);
      return beginAttempt({ begin, write, keys, clock, chats }, entry, lane, newSession);
    },
    noteProgress: async ({ entry, fencingToken }) => void (await noteProgress([keys.turn(entry)], [fencingToken])),
    afterThrow: ({ entry, fencingToken }, error, ending) => void refused.ended(entry, fencingToken, error, ending),
    settle: (attempt, record, keepsAnswer = false) =>
      settle(attempt, { record, keepsAnswer, idleSeconds: idleDays * DAY_SECONDS }),
    refusedNext: (lane) => readRefusedNext(redis, keys, lane),
  };
}

/** Longer than a rolling upgrade takes from one process to the next. */
const LEFT_MS = 60_000;

/** Alerts the operator of foreign entries that no later version takes for `leftMs`: nothing else would tell of them. */
export function tellingOfLeft(
  readmit: () => Promise<Readmission>,
  tell: (alert: Alert) => Promise<void>,
  leftMs = LEFT_MS,
): () => Promise<Readmission> {
  /** Since when this process has seen each foreign entry, by a clock that never steps, and of how many it has told. */
  let seenMs: ReadonlyMap<EntryId, number> = new Map();
  let told = 0;
  return async () => {
    const found = await readmit();
    const nowMs = performance.now();
    seenMs = new Map(found.foreign.map((entry) => [entry, seenMs.get(entry) ?? nowMs]));
    const left = [...seenMs.values()].filter((sinceMs) => nowMs - sinceMs >= leftMs).length;
    if (left > told) await tell(leftLanesAlert(left));
    told = left;
    return found;
  };
}
