import { pause } from '../../shared/base/lifecycle.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';

const RETRY_MS = 1_000;
const RETRY_MAX_MS = 30_000;
const CONFLICT_MS = 10_000;

/** How long to wait after so many failures in a row, at least one: from a second to half a minute. */
export function backoffMs(failures: number): number {
  return Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS);
}

/** Waits before Telegram is asked again: as long as it wants, or ever longer; returns early when `signal` is aborted. */
export async function waitOut(failure: TelegramFailure, failures: number, signal: AbortSignal): Promise<void> {
  // Two that end each other's polls at once would do nothing else.
  if (failure.kind === 'conflict') return pause(CONFLICT_MS, signal);
  return pause(failure.retryAfterMs ?? backoffMs(failures), signal);
}
