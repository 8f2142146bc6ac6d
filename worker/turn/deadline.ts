import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Slot } from '../lane/slots.ts';

/** The time limits of an attempt, for the code that starts and ends the attempt. */
interface Deadline extends TurnTime {
  /** Aborts the attempt and any recovery in it. */
  cutShort(): void;
  /** Whether the attempt was silent for too long, or the turn has lasted for too long. */
  isTimedOut(): boolean;
  end(): void;
}

interface TurnLimits extends Pick<TurnTime, 'slot' | 'stopSignal'> {
  /** The longest permitted time without progress. */
  silenceMs: number;
  /** The time left for the whole turn. */
  leftMs: number;
  /** Called when the attempt makes progress, if `progressEveryMs` has passed since the start or the last call. */
  onProgress?: () => void;
  progressEveryMs?: number;
}

const CUT_SHORT = 'cut short';
const SILENT = 'silent';
const OVER = 'over';
const RECOVERY_OVER = 'recovery over';
/** A timer may fire up to a millisecond early. With this margin, the turn's limit has passed when the timer fires. */
const TIMER_SLACK_MS = 2;
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Starts the two timers of an attempt: one aborts `signal` after `silenceMs` without progress, the other after `leftMs` in all.
 * A recovery stops both timers for good and has its own limit. The recovery's work gets two signals: the first aborts when the
 * attempt or the recovery must stop, the second only when the recovery's time is over.
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

/** The time limits of an attempt for its steps, and the signals that stop the attempt. */
export interface TurnTime {
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  /** Runs a recovery with its own time limit. Stops the attempt's timers, since the attempt ends with the recovery. */
  runRecovery<T>(limitMs: number, work: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>): Promise<T>;
  /** Call when data has arrived or a step has ended: restarts the silence timer. */
  progress(): void;
  /** Whether the attempt was stopped because nothing arrived for too long. */
  isSilent(): boolean;
  /** Call before the chat sees any of the answer. Forwards then stop the turn only with `busy: interrupt`. */
  markVisible(): void;
  isAnswerVisible(): boolean;
  /** Set during the compaction after the reply: whether the compaction must stop for a waiting message. */
  stopsCompactionFor?: (message: InboundMessage) => boolean;
  /** The attempt's slot. The turn releases the slot before the delivery. */
  readonly slot: Slot;
  /** Aborted when the process ends or has lost the job. Sends that still wait for the rate limit are then not made. */
  readonly stopSignal: AbortSignal;
}
