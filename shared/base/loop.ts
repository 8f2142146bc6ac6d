import { pause, type Service } from './lifecycle.ts';

/** The work of a service that runs in rounds. */
export interface Rounds {
  name: string;
  /**
   * One round. Returns how long to wait before the next one, in ms. `signal` aborts at the stop, which then waits for
   * the current round: every wait inside a round must end on it. Contract: may throw, and is then retried.
   */
  round(signal: AbortSignal): Promise<number>;
  /** The wait after a round that failed, in ms. */
  retryMs: number;
  /** Logs why a round failed; called once for each kind of error until a round succeeds. Contract: never throws. */
  onError(error: unknown): void;
  /** The wait before the first round, in ms; none when absent. */
  firstAfterMs?: number;
}

/**
 * Runs round after round, one at a time, until stopped; no error ends it. `stop` ends the wait between two rounds at
 * once and waits for the current round, whose errors are then ignored. It never rejects, and may be called twice.
 */
export function runLoop(rounds: Rounds): Service {
  const stopping = new AbortController();
  const running = run(rounds, stopping.signal);
  return {
    name: rounds.name,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function run({ round, retryMs, onError, firstAfterMs = 0 }: Rounds, signal: AbortSignal): Promise<void> {
  const reported = new Set<string>();
  let waitMs = firstAfterMs;
  for (;;) {
    if (waitMs > 0) await pause(waitMs, signal);
    if (signal.aborted) return;
    try {
      waitMs = await round(signal);
      reported.clear();
    } catch (error) {
      if (signal.aborted) return;
      const kind = kindOf(error);
      if (!reported.has(kind)) onError(error);
      reported.add(kind);
      waitMs = retryMs;
    }
  }
}

/** Errors that differ only in ports, line numbers or counts are of one kind. */
function kindOf(error: unknown): string {
  return String(error).replaceAll(/\d+/g, '0');
}
