import type { Telegram } from './client.ts';
import type { TelegramResult } from './failure.ts';

const WAIT_MS = 5_000;
const WAIT_MS_MAX = 600_000;

/**
 * Stops calls while Telegram rejects the bot's token, because Telegram may delete a bot that keeps calling. The wait after a
 * rejection is 5 seconds, and doubles with each further rejection up to 10 minutes; then a call goes through again. A call
 * during the wait fails as `unauthorized`, without a request; its `retryAfterMs` is the remaining wait.
 */
export function guardToken(telegram: Telegram, now: () => number = Date.now): Telegram {
  let refusals = 0;
  let closedUntilMs = 0;
  const guardCall = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const waitMs = closedUntilMs - now();
    const description = 'not called: the bot token was not accepted just before';
    if (waitMs > 0) return { ok: false, failure: { kind: 'unauthorized', description, retryAfterMs: waitMs } };
    const result = await call();
    if (result.ok) refusals = 0;
    // Of several calls at the same time, only the first rejection counts.
    else if (result.failure.kind === 'unauthorized' && now() >= closedUntilMs) {
      refusals += 1;
      closedUntilMs = now() + Math.min(WAIT_MS * 2 ** (refusals - 1), WAIT_MS_MAX);
    }
    return result;
  };
  const members = Object.entries(telegram).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member];
    const call = member as (...args: unknown[]) => Promise<TelegramResult<unknown>>;
    return [name, (...args: unknown[]) => guardCall(() => call(...args))];
  });
  return Object.fromEntries(members) as Telegram;
}
