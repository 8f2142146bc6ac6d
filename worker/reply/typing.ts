import { pause } from '../../shared/lifecycle.ts';
import type { Destination, Telegram } from '../../shared/telegram.ts';

/** Telegram shows the action for 5 seconds. */
const REPEAT_MS = 4_500;

/** Shows "typing…" in a chat until the returned function is called or `signal` is aborted. Failures are of no account. */
export function showTyping(telegram: Telegram, to: Destination, signal: AbortSignal): () => void {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  void (async () => {
    while (!either.aborted) {
      await telegram.sendTyping(to);
      await pause(REPEAT_MS, either);
    }
  })();
  return () => done.abort();
}
