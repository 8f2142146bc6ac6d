import type { Destination } from '../../shared/telegram/client.ts';
import type { Attempt, Command, Conclusion } from '../lane/attempt.ts';
import { DELIVERED, type Delivery, markPart, notDelivered, type OutboxPorts, sendMarked } from './part.ts';
import { isUnsure, repeatPart } from './repeat.ts';

/** When a conclusion is delivered. */
export interface DeliveryTime {
  /** This very attempt stored the conclusion, so nothing of it was sent yet. */
  isNew: boolean;
  /** Something else comes before the message is settled, so the last part is marked too. */
  isFollowed: boolean;
}

/**
 * Delivers the parts of a conclusion, in order, each as a message of its own: a phone's notification shows what is sent,
 * never what is edited in. Each part is marked before it is sent and after; the outcome is the mark of the last one. A
 * part is not sent before the one before it is known to be. A send with an unknown result is repeated by the next
 * attempt, and says that it may be a repeat. Only the first part rings.
 *
 * Contract: throws `FencedError`, or what Redis throws. The first part of a new conclusion was marked when the
 * conclusion was stored.
 */
export async function deliver(
  ports: OutboxPorts,
  attempt: Attempt,
  { parts }: Conclusion,
  to: Destination,
  { isNew, isFollowed }: DeliveryTime,
): Promise<Delivery> {
  for (const [index, text] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const isMarked = isNew && index === 0;
    const sent =
      !isMarked && isUnsure(attempt, index)
        ? await repeatPart(ports, attempt, index, text, to)
        : await sendPart(ports, attempt, index, text, to, { isMarked, isFollowed: isFollowed || !isLast });
    if (sent.kind !== 'delivered') return sent;
  }
  return DELIVERED;
}

/** The command that marks the first part of a conclusion as being sent. */
export function markFirst(attempt: Attempt): Command {
  return markPart(attempt, 0, 'sending');
}

async function sendPart(
  ports: OutboxPorts,
  attempt: Attempt,
  index: number,
  text: string,
  to: Destination,
  { isMarked, isFollowed }: { isMarked: boolean; isFollowed: boolean },
): Promise<Delivery> {
  if (attempt.part(index) === 'sent') return DELIVERED;
  const sent = await sendMarked(ports, attempt, index, text, to, { isMarked, isFurther: index > 0 });
  if (!sent.ok) return notDelivered(sent.failure);
  ports.instruments.reach('part sent');
  if (!isFollowed) return DELIVERED;
  await attempt.write('', [markPart(attempt, index, 'sent')]);
  ports.instruments.reach('part marked');
  return DELIVERED;
}
