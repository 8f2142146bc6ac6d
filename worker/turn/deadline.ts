import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Slot } from '../lane/slots.ts';

/** The time limits of one attempt. */
interface Deadline extends TurnTime {
  /** Aborts the attempt and any recovery in it. */
  cutShort(): void;
  /** Whether the attempt's own time ran out: it was silent, or the turn has lasted for too long. */
  isTimedOut(): boolean;
  end(): void;
}

/** The limits of an attempt's time, and what else decides about it. */
interface TurnLimits extends Pick<TurnTime, 'slot' | 'leaving'> {
  /** Without any progress. */
  silenceMs: number;
  /** In all. */
  leftMs: number;
  /** Called when the attempt makes progress: at most once in `progressEveryMs`, first after that time. */
  onProgress?: () => void;
  progressEveryMs?: number;
}

const CUT_SHORT = 'cut short';
const SILENT = 'silent';
const OVER = 'over';
const RECOVERY_OVER = 'recovery over';
/** A timer may be early by a part of a millisecond; what is then counted must not be less than the limit. */
const TIMER_SLACK_MS = 2;
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Starts the two clocks of an attempt: `silenceMs` without progress, and `leftMs` in all; either aborts `signal`. A recovery
 * stops both and has a limit of its own. Its work gets two signals: the first aborts on any stop, the second only when
 * that limit is over.
 */
export function startDeadline(limits: TurnLimits): Deadline {
  const { silenceMs, leftMs, slot, leaving, onProgress, progressEveryMs = 0 } = limits;
  const cut = new AbortController();
  const silence = setTimeout(() => cut.abort(SILENT), silenceMs);
  const over = setTimeout(() => cut.abort(OVER), Math.min(TIMER_MS_MAX, Math.max(0, leftMs) + TIMER_SLACK_MS));
  let isRunning = true;
  let notedMs = performance.now();
  let isSeen = false;
  const stop = (): void => {
    isRunning = false;
    clearTimeout(silence);
    clearTimeout(over);
  };
  return {
    signal: cut.signal,
    slot,
    leaving,
    async recovering(ownMs, work) {
      stop();
      const own = new AbortController();
      const timer = setTimeout(() => own.abort(RECOVERY_OVER), Math.max(0, ownMs));
      try {
        return await work(AbortSignal.any([cut.signal, own.signal]), own.signal);
      } finally {
        clearTimeout(timer);
      }
    },
    progress() {
      if (isRunning) silence.refresh();
      if (performance.now() - notedMs < progressEveryMs) return;
      notedMs = performance.now();
      onProgress?.();
    },
    isSilent: () => cut.signal.reason === SILENT,
    markVisible() {
      isSeen = true;
    },
    isAnswerVisible: () => isSeen,
    cutShort: () => cut.abort(CUT_SHORT),
    isTimedOut: () => cut.signal.reason === SILENT || cut.signal.reason === OVER,
    end: stop,
  };
}

/** The time that an attempt has. */
export interface TurnTime {
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
  /** Runs a recovery under its own deadline. The turn's clock stops meanwhile, since the turn ends with the recovery. */
  recovering<T>(leftMs: number, work: (signal: AbortSignal, deadline: AbortSignal) => Promise<T>): Promise<T>;
  /** Notes that something arrived or ended: the attempt is not silent. */
  progress(): void;
  /** Whether the attempt was stopped because nothing arrived for too long. */
  isSilent(): boolean;
  /** The chat is about to see something of the answer: from then on nothing joins its message. */
  markVisible(): void;
  isAnswerVisible(): boolean;
  /** Set during the compaction after the reply: whether that compaction must stop for this waiting message. */
  stopsCompactionFor?: (message: InboundMessage) => boolean;
  /** The slot among the running turns; released before the delivery. */
  readonly slot: Slot;
  /** Aborted when the process ends, or has lost the job: then it sends nothing more that waits. */
  readonly leaving: AbortSignal;
}
