import type { TurnTime } from '../ask/time.ts';

/** The time limits of one attempt. */
export interface Deadline extends TurnTime {
  /** Aborts the attempt and any recovery in it. */
  cutShort(): void;
  /** Whether the turn's own time ran out. */
  isTimedOut(): boolean;
  end(): void;
}

const CUT_SHORT = 'cut short';
const TIMED_OUT = 'timed out';

/**
 * Starts the clock of an attempt. A recovery may take longer than the rest of the turn: it gets its own `leftMs`, and
 * its second signal aborts when that time is over. Either limit aborts the first signal.
 */
export function startDeadline(turnTimeoutMs: number): Deadline {
  const cut = new AbortController();
  let timer = setTimeout(() => cut.abort(TIMED_OUT), turnTimeoutMs);
  return {
    signal: cut.signal,
    async recovering(leftMs, work) {
      clearTimeout(timer);
      const own = new AbortController();
      timer = setTimeout(() => own.abort(TIMED_OUT), Math.max(0, leftMs));
      try {
        return await work(AbortSignal.any([cut.signal, own.signal]), own.signal);
      } finally {
        clearTimeout(timer);
      }
    },
    cutShort: () => cut.abort(CUT_SHORT),
    isTimedOut: () => cut.signal.reason === TIMED_OUT,
    end: () => clearTimeout(timer),
  };
}
