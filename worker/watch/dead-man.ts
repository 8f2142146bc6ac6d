import type { Logger } from '../../shared/base/log.ts';
import type { Limits } from '../limits.ts';
import { type Checked, isIntended, type Watch } from './rules.ts';

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

/**
 * Whether the dead-man's switch may be pinged: everything could be checked, nothing is wrong, nothing but what an
 * operator has paused is overdue, not even while one incident stands for what follows from it, and messages are received.
 */
export function mayPing(watch: Watch, { conditions, failures }: Checked): boolean {
  if (failures.length > 0 || !conditions.every(isIntended)) return false;
  return isPolled(watch) && watch.now.shards.every(({ overdue }) => overdue.oldest === undefined);
}

/**
 * Whether messages are received: a poll succeeded recently, or a recent check found the webhook healthy. Unlike the
 * alert about it, this has no grace period for a process that has just begun to watch.
 */
export function isPolled({ now, limits }: Watch): boolean {
  return now.poll?.lastAnswerMs !== undefined && now.nowMs - now.poll.lastAnswerMs < limits.pollAgeMs;
}
