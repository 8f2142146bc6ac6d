import { pause, type Service } from './lifecycle.ts';

/** The work of a service that runs in rounds. */
export interface Rounds {
  name: string;
  /**
   * Runs one round. Returns the wait before the next one, in ms. `stop` aborts `signal` and then waits for the round, so
   * every wait inside the round must end on `signal`. Contract: may throw; then the loop runs a round again after `retryMs`.
   */
  round(signal: AbortSignal): Promise<number>;
  /** The wait after a failed round, in ms. */
  retryMs: number;
  /** Logs a failed round. Called once for each kind of error until a round succeeds. Contract: never throws. */
  onError(error: unknown): void;
  /** The wait before the first round, in ms; none when absent. */
  firstAfterMs?: number;
}

/**
 * Runs rounds, one at a time, until `stop`; no error ends the loop. `stop` ends a wait between rounds at once, or waits for the
 * current round and ignores its error. `stop` never rejects and may be called twice.
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

/** The kind of an error: its text without its numbers, such as ports, line numbers or counts. */
function kindOf(error: unknown): string {
  return String(error).replaceAll(/\d+/g, '0');
}
