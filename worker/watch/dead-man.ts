import type { Logger } from '../../shared/base/log.ts';
import type { Limits } from '../limits.ts';
import { type CheckResult, isHarmless, type RuleInput } from './rules.ts';

export type DeadMan = ReturnType<typeof createDeadMan>;

const TIMEOUT_MS = 10_000;

/**
 * Creates the dead-man's switch. It pings an outside service, with a `GET`; the service raises an alarm when the pings stop.
 *
 * Contract: `ping` returns at once and never throws. It sends at most one request per interval, even after a failure. `stop`
 * ends a request in flight. The URL is never logged, because anyone who has it can keep the alarm silent.
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
    // Do not log the error's message, because it may quote the URL.
    const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
    log.debug({ error: name, code: cause?.code }, 'the dead-man ping failed');
  }
}

/**
 * Whether the watchdog may ping: each rule could be checked, no condition needs an operator, messages are received, and
 * no message is overdue except in paused chats.
 */
export function mayPing(watch: RuleInput, { conditions, failures }: CheckResult): boolean {
  if (failures.length > 0 || !conditions.every(isHarmless)) return false;
  return isReceiving(watch) && watch.now.shards.every(({ overdue }) => overdue.oldest === undefined);
}

/**
 * Whether messages are received: a poll succeeded recently, or a recent check found the webhook healthy. Unlike the condition
 * `no-poll`, this check has no grace period after a start.
 */
export function isReceiving({ now, limits }: RuleInput): boolean {
  return now.poll?.lastAnswerMs !== undefined && now.nowMs - now.poll.lastAnswerMs < limits.pollAgeMs;
}
