import type { Telegram } from '../../shared/telegram/client.ts';
import type { Destination } from '../../shared/telegram/messages.ts';

/** Telegram shows the action for 5 seconds. */
const REPEAT_MS = 4_500;

/** Shows "typing…" in a chat until the returned function is called. Failures are ignored. */
export function showTyping(telegram: Telegram, to: Destination): () => void {
  void telegram.sendTyping(to);
  const timer = setInterval(() => void telegram.sendTyping(to), REPEAT_MS);
  return () => clearInterval(timer);
}
