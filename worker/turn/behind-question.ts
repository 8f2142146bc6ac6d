import type { Waiting } from '../../shared/flow/message.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { Asking } from '../tools/asking.ts';
import { isForModel } from './gather.ts';
import type { TurnPorts } from './ports.ts';

/**
 * Notifies the people whose messages wait behind a question that stands in the chat. Each person but the one who was asked
 * gets one line for the question: what the chat waits for, and who can decide. A due reminder is said in its own words at
 * once; the model answers it in its turn. Each notice is marked as sent before it is sent: if the process dies in between,
 * that notice is lost, and the message is still answered later.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function notifyBehindQuestion(
  { telegram }: Pick<TurnPorts, 'telegram'>,
  attempt: Attempt,
  { id }: Asking,
  waiting: readonly Waiting[],
  to: Destination,
): Promise<void> {
  if (!attempt.message.ok) return;
  const { from: asker } = attempt.message.value;
  const { approval, reminders } = attempt.texts;
  for (const { entry, message, isTaken } of waiting) {
    const { content, from, messageId } = message;
    if (content.kind === 'reminder') {
      const step = `said before its turn: ${entry}`;
      if ((await attempt.write(step, [])) === 'written')
        await telegram.sendMessage(to, reminders.behindQuestion(content.text));
    } else if (!isTaken && from.id !== asker.id && isForModel(message)) {
      const step = `question ${id} named to ${from.id}`;
      if ((await attempt.write(step, [])) === 'written')
        await telegram.sendMessage(to, approval.behind(asker.name ?? ''), { replyTo: messageId });
    }
  }
}
