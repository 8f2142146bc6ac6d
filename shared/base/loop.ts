import { pause, type Service } from './lifecycle.ts';

/** The work of a service that runs in rounds. */
export interface Rounds {
  name: string;
  /**
   * Runs one round. Returns the wait before the next round, in ms. `stop` aborts `signal` and waits for the end of the round,
   * so every wait inside the round must end when `signal` aborts. Contract: may throw; then the next round follows after
   * `retryMs`.
   */
  round(signal: AbortSignal): Promise<number>;
  /** The wait after a failed round, in ms. */
  retryMs: number;
  /** Logs a failed round. Called for the first error of each kind since the last successful round. Contract: never throws. */
  onError(error: unknown): void;
  /** The wait before the first round, in ms; 0 if absent. */
  firstAfterMs?: number;
}

/**
 * Runs rounds, one at a time, until `stop`; no error ends the loop. `stop` ends a wait between rounds at once; if a round runs,
 * `stop` waits for the end of the round and ignores its error. `stop` never rejects and may be called twice.
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
      // Errors that differ only in their numbers, such as a port or a count, are of one kind.
      const kind = String(error).replaceAll(/\d+/g, '0');
      if (!reported.has(kind)) onError(error);
      reported.add(kind);
      waitMs = retryMs;
    }
  }
}
