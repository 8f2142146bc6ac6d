const BACKOFF_FACTOR = 2.5;
const BACKOFF_MS_MAX = 30_000;

/**
 * The delay before a retry, after attempt number `attempt` has failed. Grows exponentially from `baseMs` to at most 30 seconds,
 * and is shortened at random by up to a quarter. Never shorter than `retryAfterMs`, the wait that the server demands.
 */
export function backoffMs(attempt: number, baseMs: number, retryAfterMs?: number, random = Math.random): number {
  const delayMs = Math.min(baseMs * BACKOFF_FACTOR ** Math.max(0, attempt - 1), BACKOFF_MS_MAX);
  const jitteredMs = delayMs * (0.75 + 0.25 * random());
  return Math.round(Math.max(jitteredMs, retryAfterMs || 0));
}
