import { pause } from '../../shared/base/lifecycle.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
const CONFLICT_MS = 10_000;

/** The wait after `failures` failures in a row (at least one): from one second to half a minute. */
export function backoffMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS);
}

/**
 * Waits before the next call to Telegram: as long as Telegram asks, else with growing backoff. Returns early when
 * `signal` is aborted.
 */
export async function waitOut(failure: TelegramFailure, failures: number, signal: AbortSignal): Promise<void> {
  // Without this wait, two pollers would do nothing but end each other's polls.
  if (failure.kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(failure.retryAfterMs ?? backoffMs(failures), signal);
}
