import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Slot } from '../lane/slots.ts';

/** The time limits of one attempt. */
interface Deadline extends TurnTime {
  /** Aborts the attempt and any recovery in it. */
  cutShort(): void;
  /** Whether the attempt was silent for too long, or the turn has lasted for too long. */
  isTimedOut(): boolean;
  end(): void;
}

/** The limits of an attempt's time, with its slot and its stop signal. */
interface TurnLimits extends Pick<TurnTime, 'slot' | 'stopSignal'> {
  /** The longest time without any progress. */
  silenceMs: number;
  /** The time left for the whole turn. */
  leftMs: number;
  /** Called when the attempt makes progress: at most once in `progressEveryMs`, first after that time. */
  onProgress?: () => void;
  progressEveryMs?: number;
}

const CUT_SHORT = 'cut short';
const SILENT = 'silent';
const OVER = 'over';
const RECOVERY_OVER = 'recovery over';
/** Timers may fire up to a millisecond early. With this margin the turn's measured time is never below its limit. */
const TIMER_SLACK_MS = 2;
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Starts the two clocks of an attempt: `silenceMs` without progress, and `leftMs` in all; either aborts `signal`. A recovery
 * stops both clocks and has its own limit. The recovery's work gets two signals: the first aborts on any stop, the second
 * only when the recovery's limit is over.
 */
export function startDeadline(limits: TurnLimits): Deadline {
  const { silenceMs, leftMs, slot, stopSignal, onProgress, progressEveryMs = 0 } = limits;
  const attempt = new AbortController();
  const silenceTimer = setTimeout(() => attempt.abort(SILENT), silenceMs);
  const totalTimer = setTimeout(
    () => attempt.abort(OVER),
    Math.min(TIMER_MS_MAX, Math.max(0, leftMs) + TIMER_SLACK_MS),
  );
  let isRunning = true;
  let progressMs = performance.now();
  let isVisible = false;
  const stop = (): void => {
    isRunning = false;
    clearTimeout(silenceTimer);
    clearTimeout(totalTimer);
  };
  return {
    signal: attempt.signal,
    slot,
    stopSignal,
    async runRecovery(limitMs, work) {
      stop();
      const recovery = new AbortController();
      const timer = setTimeout(() => recovery.abort(RECOVERY_OVER), Math.max(0, limitMs));
      try {
        return await work(AbortSignal.any([attempt.signal, recovery.signal]), recovery.signal);
      } finally {
        clearTimeout(timer);
      }
    },
    progress() {
      if (isRunning) silenceTimer.refresh();
      if (performance.now() - progressMs < progressEveryMs) return;
      progressMs = performance.now();
      onProgress?.();
    },
    isSilent: () => attempt.signal.reason === SILENT,
    markVisible() {
      isVisible = true;
    },
    isAnswerVisible: () => isVisible,
    cutShort: () => attempt.abort(CUT_SHORT),
    isTimedOut: () => attempt.signal.reason === SILENT || attempt.signal.reason === OVER,
    end: stop,
  };
}

/** The time that an attempt has. */
export interface TurnTime {
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  /** Runs a recovery under its own deadline. The turn's clock stops meanwhile, since the turn ends with the recovery. */
  runRecovery<T>(limitMs: number, work: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>): Promise<T>;
  /** Restarts the clock of silence: data has arrived, or a step has ended. */
  progress(): void;
  /** Whether the attempt was stopped because nothing arrived for too long. */
  isSilent(): boolean;
  /** Call before the chat sees any of the answer. From then on no other message joins this one. */
  markVisible(): void;
  isAnswerVisible(): boolean;
  /** Set during the compaction after the reply: whether the compaction must stop for a waiting message. */
  stopsCompactionFor?: (message: InboundMessage) => boolean;
  /** The slot among the running turns; released before the delivery. */
  readonly slot: Slot;
  /** Aborted when the process ends or has lost the job. Sends that still wait for their time are then not made. */
  readonly stopSignal: AbortSignal;
}
