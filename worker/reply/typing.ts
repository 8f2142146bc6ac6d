import { within } from '../../shared/base/lifecycle.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';

/** Telegram shows the action for 5 seconds. */
const REPEAT_MS = 4_500;
/** A reply waits this long for a call in flight, which would show "typing…" below it. */
const LAST_MS_MAX = 1_000;

/**
 * Shows "typing…" in a chat until the returned function is called; it resolves when nothing more is shown. Failures are
 * ignored.
 */
export function showTyping(telegram: Pick<Telegram, 'sendTyping'>, to: Destination): () => Promise<void> {
  let last: Promise<unknown> | undefined;
  const show = () => {
    const sent = telegram.sendTyping(to).finally(() => {
      if (last === sent) last = undefined;
    });
    last = sent;
  };
  show();
  const timer = setInterval(show, REPEAT_MS);
  return async () => {
    clearInterval(timer);
    if (last) await within(last, LAST_MS_MAX);
  };
}
