import { DelayedError, type Job, WaitingError } from 'bullmq';
import { loggingAbout } from '../../shared/base/log.ts';
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
import { failTurn, runTurn } from './turn.ts';

/** Runs one job. Returns how it ended: `parked` calls for `resumeParked`. */
export type Processor = (
  job: Job<TurnJob>,
  token: string | undefined,
  lockLost: AbortSignal | undefined,
) => Promise<JobEnd>;

/** How long a poison candidate waits before the next check whether it is the oldest. */
const POISON_CANDIDATE_WAIT_MS = 1_000;
/** How long a job that was taken waits for a slot. */
const SLOT_TIMEOUT_MS = 2_000;
/** How long a job of a lane that this version does not know is left to a later one. */
const FOREIGN_WAIT_MS = 2_000;
const INTERNAL_ERROR = 'internal_error';
const STORE_RETRY_MS_MIN = 1_000;
const STORE_RETRY_MS_MAX = 30_000;
/** How soon a running turn notices that its user cancelled it. */
const LOOK_MS = 1_000;
/** How soon a running turn notices forwards that were sent with its text: they come at once, or not at all. */
const EARLY_LOOK_MS = 250;
const EARLY_MS = 2_000;

/** The life of a job: begin, run the turn, carry out its verdict, make the lane's next head a job. */
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

/** The slot of a running job, and the signal that the job's lock was lost to another process. */
interface Hold {
  slot: Slot;
  lockLost: AbortSignal | undefined;
}

async function run(env: Env, job: Job<TurnJob>, token: string | undefined, hold: Hold): Promise<JobEnd> {
  // A later version added the job, and knows its lane.
  if (!parseChatKey(chatOf(job.data.chat))) return postpone(env, job, token, FOREIGN_WAIT_MS);
  const begun = await begin(env, job);
  if (begun.kind === 'dead-lettered') return;
  if (begun.kind === 'poison candidate') return postpone(env, job, token, POISON_CANDIDATE_WAIT_MS);
  // The job ends, and its message stays the head of its lane.
  if (begun.kind === 'paused') return;
  if (begun.kind === 'fenced') throw new FencedError();
  if (begun.kind !== 'begun') {
    if (begun.head) await env.queue.add([begun.head]);
    return;
  }
  env.reach('attempt begun');
  const turn = begun.turn.withEnv(env);
  const { entry, chat, traceparent } = turn;
  env.running.set(entry, chat);
  try {
    return await loggingAbout({ traceId: traceIdOf(traceparent), chat, entry }, () =>
      carryOutAttempt(turn, job, token, hold),
    );
  } catch (error) {
    const isMoved = error instanceof DelayedError || error instanceof WaitingError;
    if (isMoved || isInfrastructureError(error) || turn.attempts < env.settings.MAX_ATTEMPTS) {
      env.lane.releaseRefusedAttempt(turn, error, env.ending);
      throw error;
    }
    await deadLetterUnendable(env, turn, error, turn.conclusion ? undefined : turn.texts.unavailable);
    return;
  } finally {
    env.running.delete(entry);
  }
}

/** Runs a begun attempt and moves the job as its verdict says. Each log line meanwhile names the message. */
async function carryOutAttempt(
  turn: Turn<Env>,
  job: Job<TurnJob>,
  token: string | undefined,
  hold: Hold,
): Promise<JobEnd> {
  const { env } = turn;
  const { telemetry, log } = env;
  log.debug({ attempt: turn.attempts, stage: turn.stage, session: turn.session }, 'attempt began');
  const attributes = attemptAttributes(telemetry, turn);
  traceTimeBefore(telemetry, turn, job);
  const verdict = await telemetry.span(
    SPAN.turn,
    { ...attributes, ...agentAttributes(telemetry, turn) },
    async (span) => {
      const ended = showRunning(telemetry, attributes);
      const decided = await attemptTurn(turn, hold)
        .catch((error) => verdictForError(turn, hold, error))
        .finally(ended);
      showVerdict(telemetry, span, decided);
      if (decided.kind === 'settle') await settle(turn, decided);
      return decided;
    },
    { parent: turn.traceparent, token: turn.fencingToken, after: turn.previousFence },
  );
  await moveJob(job, token, turn, verdict);
  return verdict.kind === 'park' ? 'parked' : undefined;
}

/** Begins an attempt. If this throws on as many tries as a message has attempts, the message is dead-lettered. */
async function begin(env: Env, job: Job<TurnJob>): Promise<Begun | { kind: 'dead-lettered' }> {
  const { entry, chat } = job.data;
  try {
    return await env.lane.begin(entry, chat, newSessionId());
  } catch (error) {
    if (isInfrastructureError(error) || job.attemptsMade + 1 < env.settings.MAX_ATTEMPTS) throw error;
    const place = { entry, chat: chatOf(chat), traceparent: '' };
    await deadLetterUnendable(env, place, error, TEXTS[DEFAULT_LANGUAGE].unreadable);
    return { kind: 'dead-lettered' };
  }
}

/**
 * Ends a message that its turn cannot end, because beginning or failing it throws on every try. First moves the entry into a
 * dead letter, then sends the chat a notice. If the process dies between these steps, the chat gets no notice. In the
 * opposite order, the chat would get the notice on every retry while Redis cannot store the dead letter.
 */
async function deadLetterUnendable(
  env: Env,
  place: Pick<Turn, 'entry' | 'chat' | 'traceparent'>,
  error: unknown,
  notice: string | undefined,
): Promise<void> {
  const { entry, chat, traceparent } = place;
  env.log.error({ err: error, entry, chat }, 'a message cannot be ended by its turn');
  const alert = unendedAlert(place, error instanceof Error ? error.name : 'no error');
  await env.discard([entry], { chat, reason: INTERNAL_ERROR, traceId: traceIdOf(traceparent), alert });
  const to = parseChatKey(chat);
  if (to && notice !== undefined) await env.telegram.sendMessage(to, notice);
}

/**
 * The verdict for an error that a turn threw. A bug of ours or an unusable value is retried as often as any failure of
 * the model, then the user is notified. A blob store that fails is waited for, as Redis is.
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
  const leaving = leavingOf(env, lockLost);
  return failTurn(turn, leaving, INTERNAL_ERROR, error instanceof Error ? error.name : 'no error');
}

/** Grows with the age of the message: each retry downloads its file again. */
function storeRetryMs(turn: Turn): number {
  return Math.min(STORE_RETRY_MS_MAX, Math.max(STORE_RETRY_MS_MIN, turn.ageMs() / 5));
}

function whyCutShort({ ending }: Env, lockLost: AbortSignal | undefined): string {
  if (ending.aborted) return 'process_ends';
  return lockLost?.aborted === true ? 'lock_lost' : 'overtaken';
}

/** Whether a later message stops the running turn: it cancels the turn, joins it, or waits during its compaction. */
async function isOvertaken(turn: Turn<Env>, time: TurnTime): Promise<boolean> {
  if (await turn.env.lane.isCancelled(turn.entry)) return true;
  if (time.stopsCompactionFor) return mustStopCompaction(turn, time);
  return (await findLaterMessageToJoin(turn, { isAnswerVisible: time.isAnswerVisible() })) !== undefined;
}

/** Implements `Env.watch`. */
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

function leavingOf({ ending }: Env, lockLost: AbortSignal | undefined): AbortSignal {
  return lockLost ? AbortSignal.any([ending, lockLost]) : ending;
}

async function attemptTurn(turn: Turn<Env>, { slot, lockLost }: Hold): Promise<AttemptResult> {
  const { env } = turn;
  const { settings } = env;
  const leaving = leavingOf(env, lockLost);
  const deadline = startDeadline({
    silenceMs: settings.TURN_TIMEOUT_MS,
    leftMs: settings.TURN_MAX_MS - turn.totalMs(),
    slot,
    leaving,
    // Best effort: if the note is lost, the watchdogs may count the message as overdue, nothing worse.
    onProgress: () => void env.lane.noteProgress(turn).catch(() => undefined),
    progressEveryMs: env.limits.progressEveryMs,
  });
  const cutShort = () => deadline.cutShort();
  const stopWatching = env.watch(turn, async () => {
    // Abort the attempt: the next one starts at once and sees the cancellation. While Redis is away none can arrive.
    if (await isOvertaken(turn, deadline).catch(() => false)) cutShort();
  });
  leaving.addEventListener('abort', cutShort, { once: true });
  if (leaving.aborted) cutShort();
  try {
    const verdict = await runTurn(turn, deadline);
    if (verdict.kind !== 'hand back') return verdict;
    if (!deadline.isTimedOut()) return { ...verdict, reason: verdict.reason ?? whyCutShort(env, lockLost) };
    return { kind: 'later', delayMs: 1_000, reason: TURN_TIMEOUT };
  } finally {
    deadline.end();
    stopWatching();
    leaving.removeEventListener('abort', cutShort);
  }
}

/** The errors of ioredis when it could not send the command: its own, and those of sockets. */
const UNASKED = /^(?:AbortError|MaxRetriesPerRequestError|ClusterAllFailedError)$/;
const CLOSED = /^(?:Connection is closed|Stream isn't writeable|Socket closed|Command timed out)/i;
/** Replies that fault the command or its value: repeating the command gives the same reply. */
const LASTING = /^(?:WRONGTYPE|ERR|CROSSSLOT)\b/;

/**
 * Whether an error is unrelated to the message in progress: Redis is unavailable or takes no writes just now, or
 * another attempt took over. Any other error is a bug of ours or an unusable value, and returns with the message.
 */
function isInfrastructureError(error: unknown): boolean {
  if (error instanceof FencedError) return true;
  if (refusalOf(error) !== undefined) return true;
  if (!(error instanceof Error)) return false;
  if (error.name === 'ReplyError') return !LASTING.test(error.message);
  return UNASKED.test(error.name) || CLOSED.test(error.message) || 'syscall' in error;
}
