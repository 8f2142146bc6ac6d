import { DelayedError, type Job, WaitingError } from 'bullmq';
import { withLogFields } from '../../shared/base/log.ts';
import { SPAN, traceIdOf } from '../../shared/base/telemetry.ts';
import { chatOf, parseChatKey } from '../../shared/redis/keys.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';
import { FencedError } from '../../shared/state/change.ts';
import type { Begun } from '../../shared/state/turn/begin.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { DEFAULT_LANGUAGE, TEXTS } from '../../shared/texts/language.ts';
import { unendedAlert } from '../alerts/causes/unanswered.ts';
import { BlobStoreError } from '../blob/blobs.ts';
import type { Env } from '../env.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { JobEnd, TurnJob } from '../lane/queue.ts';
import type { Slot } from '../lane/slots.ts';
import type { AttemptResult } from '../lane/verdict.ts';
import { newSessionId } from '../session/store.ts';
import { startDeadline, type TurnTime } from './deadline.ts';
import { findLaterMessageToJoin, mustStopCompaction } from './gather.ts';
import {
  agentAttributes,
  attemptAttributes,
  moveJob,
  postpone,
  returnJobWithoutSlot,
  settle,
  showRunning,
  showVerdict,
  TURN_TIMEOUT,
  traceTimeBefore,
} from './settle.ts';
import { failTurn, INTERNAL_ERROR, runTurn } from './turn.ts';

/** Runs one job. After the result `parked`, the caller must call `resumeParked`. */
export type Processor = (
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
) => Promise<JobEnd>;

/** Only the oldest poison candidate (a message whose last attempts crashed) runs. The others try again at this interval. */
const POISON_CANDIDATE_WAIT_MS = 1_000;
/** How long a job waits for a slot before this process returns it to the queue. */
const SLOT_TIMEOUT_MS = 2_000;
/** The delay of a job whose lane this version does not know, so that a worker of a later version can take the job. */
const FOREIGN_WAIT_MS = 2_000;
const STORE_RETRY_MS_MIN = 1_000;
const STORE_RETRY_MS_MAX = 30_000;
/** The interval at which a running turn looks for messages that cancel or join it. */
const LOOK_MS = 1_000;
/** The interval in the first `EARLY_MS` of an attempt: forwards sent with a text arrive soon after the text, or never. */
const EARLY_LOOK_MS = 250;
const EARLY_MS = 2_000;

/** Creates the function that runs a job: it takes a slot, begins an attempt, runs the turn, and carries out the verdict. */
export function createProcessor(env: Env): Processor {
  return async (job, token, lockLost) => {
    const slot = await env.share.take(SLOT_TIMEOUT_MS, job.data.person);
    if (!slot) return returnJobWithoutSlot(env, job, token);
    try {
      return await run(env, job, token, { lockLost, slot });
    } finally {
      slot.end();
    }
  };
}

/** The slot of a running job, and a signal that is aborted when BullMQ's lock on the job is lost. */
interface Hold {
  slot: Slot;
  lockLost: AbortSignal | undefined;
}

async function run(env: Env, job: Job<TurnJob>, token: string | undefined, hold: Hold): Promise<JobEnd> {
  // A later version added the job. Leave the job to that version, which knows its lane.
  if (!parseChatKey(chatOf(job.data.chat))) return postpone(env, job, token, FOREIGN_WAIT_MS);
  const attempt = await begin(env, job);
  if (attempt.kind === 'dead-lettered') return;
  if (attempt.kind === 'poison candidate') return postpone(env, job, token, POISON_CANDIDATE_WAIT_MS);
  // The chat is paused. The job ends, and its message stays the head of its lane.
  if (attempt.kind === 'paused') return;
  if (attempt.kind === 'fenced') throw new FencedError();
  if (attempt.kind !== 'begun') {
    if (attempt.head) await env.queue.add([attempt.head]);
    return;
  }
  env.reach('attempt begun');
  const turn = attempt.turn.withEnv(env);
  const { entry, chat, traceparent } = turn;
  env.running.set(entry, chat);
  try {
    return await withLogFields({ traceId: traceIdOf(traceparent), chat, entry }, () =>
      carryOutAttempt(turn, job, token, hold),
    );
  } catch (error) {
    const isMoved = error instanceof DelayedError || error instanceof WaitingError;
    if (isMoved || isInfrastructureError(error) || turn.attempts < env.settings.MAX_ATTEMPTS) {
      env.lane.uncountIfWriteRefused(turn, error, env.ending);
      throw error;
    }
    await deadLetterUnendable(env, turn, error, turn.conclusion ? undefined : turn.texts.unavailable);
    return;
  } finally {
    env.running.delete(entry);
  }
}

/** Runs an attempt; then settles the message, or moves the job as the verdict says. */
async function carryOutAttempt(
  turn: Turn<Env>,
  job: Job<TurnJob>,
  token: string | undefined,
  hold: Hold,
): Promise<JobEnd> {
  const { telemetry, log } = turn.env;
  log.debug({ attempt: turn.attempts, stage: turn.stage, session: turn.session }, 'attempt began');
  const attributes = attemptAttributes(telemetry, turn);
  traceTimeBefore(telemetry, turn, job);
  const verdict = await telemetry.span(
    SPAN.turn,
    { ...attributes, ...agentAttributes(telemetry, turn) },
    async (span) => {
      const stopTimer = showRunning(telemetry, attributes);
      const result = await attemptTurn(turn, hold)
        .catch((error) => verdictForError(turn, hold, error))
        .finally(stopTimer);
      showVerdict(telemetry, span, result);
      if (result.kind === 'settle') await settle(turn, result);
      return result;
    },
    { parent: turn.traceparent, token: turn.fencingToken, after: turn.previousFence },
  );
  await moveJob(job, token, turn, verdict);
  return verdict.kind === 'park' ? 'parked' : undefined;
}

/** Begins an attempt. If that throws on the last permitted try, and Redis is not the cause, dead-letters the message. */
async function begin(env: Env, job: Job<TurnJob>): Promise<Begun | { kind: 'dead-lettered' }> {
  const { entry, chat } = job.data;
  try {
    return await env.lane.begin(entry, chat, newSessionId());
  } catch (error) {
    if (isInfrastructureError(error) || job.attemptsMade + 1 < env.settings.MAX_ATTEMPTS) throw error;
    const ids = { entry, chat: chatOf(chat), traceparent: '' };
    await deadLetterUnendable(env, ids, error, TEXTS[DEFAULT_LANGUAGE].unreadable);
    return { kind: 'dead-lettered' };
  }
}

/**
 * Ends a message that its own turn cannot end, because the last permitted attempt threw. Stores a dead letter, then sends the
 * chat the notice, if any. If the process dies between these steps, the chat gets no notice. In the opposite order, the chat
 * would get a notice with every retry while Redis cannot store the dead letter.
 */
async function deadLetterUnendable(
  env: Env,
  ids: Pick<Turn, 'entry' | 'chat' | 'traceparent'>,
  error: unknown,
  notice: string | undefined,
): Promise<void> {
  const { entry, chat, traceparent } = ids;
  env.log.error({ err: error, entry, chat }, 'a message cannot be ended by its turn');
  const alert = unendedAlert(ids, error instanceof Error ? error.name : 'no error');
  await env.discard([entry], { chat, reason: INTERNAL_ERROR, traceId: traceIdOf(traceparent), alert });
  const destination = parseChatKey(chat);
  if (destination && notice !== undefined) await env.telegram.sendMessage(destination, notice);
}

/**
 * The result of an attempt whose turn threw. After a bug or an unusable value, the message is tried up to `MAX_ATTEMPTS` times;
 * then its user gets a notice. While the blob store fails, the message waits without a limit. Rethrows an infrastructure error.
 */
async function verdictForError(turn: Turn<Env>, { slot, lockLost }: Hold, error: unknown): Promise<AttemptResult> {
  const { env } = turn;
  if (isInfrastructureError(error)) throw error;
  if (error instanceof BlobStoreError)
    return { kind: 'later', delayMs: storeRetryMs(turn), reason: `blob_store_${error.code}`, isUncounted: true };
  const { entry, chat, attempts } = turn;
  env.log.error({ err: error, entry, chat, attempts }, 'a turn threw');
  if (attempts < env.settings.MAX_ATTEMPTS)
    return { kind: 'later', delayMs: backoffMs(attempts, env.settings.RETRY_MS), reason: INTERNAL_ERROR };
  slot.release();
  return failTurn(turn, stopSignalOf(env, lockLost), error instanceof Error ? error.name : 'no error');
}

/** The delay of a retry while the blob store fails. Grows with the age of the message: a retry may download files again. */
function storeRetryMs(turn: Turn): number {
  return Math.min(STORE_RETRY_MS_MAX, Math.max(STORE_RETRY_MS_MIN, turn.ageMs() / 5));
}

function whyCutShort({ ending }: Env, lockLost: AbortSignal | undefined): string {
  if (ending.aborted) return 'process_ends';
  return lockLost?.aborted === true ? 'lock_lost' : 'overtaken';
}

/** Whether the running turn must stop: it was cancelled, should join a later message, or must end its compaction for one. */
async function isOvertaken(turn: Turn<Env>, time: TurnTime): Promise<boolean> {
  if (await turn.env.lane.isCancelled(turn.entry)) return true;
  if (time.stopsCompactionFor) return mustStopCompaction(turn, time);
  return (await findLaterMessageToJoin(turn, { isAnswerVisible: time.isAnswerVisible() })) !== undefined;
}

/** Calls `look` every 250 ms in the attempt's first 2 s, then every second, until the returned function is called. */
export function pollWhileRunning(turn: Turn, look: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    const waitMs = turn.elapsedMs() < EARLY_MS ? EARLY_LOOK_MS : LOOK_MS;
    timer = setTimeout(() => void look().then(() => timer && next()), waitMs);
  };
  next();
  return () => {
    clearTimeout(timer);
    timer = undefined;
  };
}

function stopSignalOf({ ending }: Env, lockLost: AbortSignal | undefined): AbortSignal {
  return lockLost ? AbortSignal.any([ending, lockLost]) : ending;
}

async function attemptTurn(turn: Turn<Env>, { slot, lockLost }: Hold): Promise<AttemptResult> {
  const { env } = turn;
  const stopSignal = stopSignalOf(env, lockLost);
  const deadline = startDeadline({
    silenceMs: env.settings.TURN_TIMEOUT_MS,
    leftMs: env.settings.TURN_MAX_MS - turn.totalMs(),
    slot,
    stopSignal,
    // Best effort: without this note, a watchdog may count the message as overdue.
    onProgress: () => void env.lane.noteProgress(turn).catch(() => undefined),
    progressEveryMs: env.limits.progressEveryMs,
  });
  const cutShort = () => deadline.cutShort();
  const stopWatching = env.watch(turn, async () => {
    // The next attempt starts at once and reads the cancellation or the later message. While Redis is down, neither can arrive.
    if (await isOvertaken(turn, deadline).catch(() => false)) cutShort();
  });
  stopSignal.addEventListener('abort', cutShort, { once: true });
  if (stopSignal.aborted) cutShort();
  try {
    const verdict = await runTurn(turn, deadline);
    if (verdict.kind !== 'hand back') return verdict;
    if (!deadline.isTimedOut()) return { ...verdict, reason: verdict.reason ?? whyCutShort(env, lockLost) };
    return { kind: 'later', delayMs: 1_000, reason: TURN_TIMEOUT };
  } finally {
    deadline.end();
    stopWatching();
    stopSignal.removeEventListener('abort', cutShort);
  }
}

/** Names and messages of ioredis's errors for a command that it could not send, or that got no reply in time. */
const UNSENT_NAMES = /^(?:AbortError|MaxRetriesPerRequestError|ClusterAllFailedError)$/;
const UNSENT_MESSAGES = /^(?:Connection is closed|Stream isn't writeable|Socket closed|Command timed out)/i;
/** Error replies that repeat with every retry, because the command or its value is wrong. */
const PERMANENT_REPLIES = /^(?:WRONGTYPE|ERR|CROSSSLOT)\b/;

/**
 * Whether an error is unrelated to the message in progress: Redis or the network is unavailable, Redis refuses writes, or
 * another attempt has taken over. Any other error is a bug or an unusable value, and would occur again with this message.
 */
function isInfrastructureError(error: unknown): boolean {
  if (error instanceof FencedError) return true;
  if (refusalOf(error) !== undefined) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return !PERMANENT_REPLIES.test(error.message);
  return UNSENT_NAMES.test(error.name) || UNSENT_MESSAGES.test(error.message) || 'syscall' in error;
}
