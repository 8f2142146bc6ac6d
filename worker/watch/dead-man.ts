import type { Logger } from '../../shared/base/log.ts';
import type { Limits } from '../limits.ts';

export type DeadMan = ReturnType<typeof createDeadMan>;

const TIMEOUT_MS = 10_000;

/**
 * Reports to an outside service that all is well, with a `GET`, so that it raises an alarm when the reports stop.
 *
 * Contract: `ping` returns at once and never throws; it asks the service at most once per interval, also after a
 * failure. `stop` ends a request in flight. The URL is a secret: anyone who has it can keep the alarm silent; it is never logged.
 */
export function createDeadMan(url: string, { deadManEveryMs: everyMs }: Limits, log: Logger) {
  const stopping = new AbortController();
  let lastMs = Number.NEGATIVE_INFINITY;
  let sending = Promise.resolve();
  return {
    ping(): void {
      if (stopping.signal.aborted || performance.now() - lastMs < everyMs) return;
      lastMs = performance.now();
      sending = send(url, stopping.signal, log);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await sending;
    },
  };
}

async function send(url: string, stopping: AbortSignal, log: Logger): Promise<void> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]) });
    await response.body?.cancel();
    if (!response.ok) log.debug({ status: response.status }, 'the dead-man ping was refused');
  } catch (error) {
    // Only the code: the message may quote the URL.
    const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
    log.debug({ error: name, code: cause?.code }, 'the dead-man ping failed');
  }
}
