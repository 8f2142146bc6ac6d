const BACKOFF_FACTOR = 2.5;
const BACKOFF_MS_MAX = 30_000;

/**
 * The delay after the nth failed attempt: exponential from `baseMs`, bounded, with jitter. At least `retryAfterMs`, the
 * delay that the other side asks for.
 */
export function backoffMs(attempt: number, baseMs: number, retryAfterMs?: number, random = Math.random): number {
  const delayMs = Math.min(baseMs * BACKOFF_FACTOR ** Math.max(0, attempt - 1), BACKOFF_MS_MAX);
  const jitteredMs = delayMs * (0.75 + 0.25 * random());
  return Math.round(Math.max(jitteredMs, retryAfterMs || 0));
}
