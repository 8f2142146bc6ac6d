import type { DeliveryRecord } from '../../shared/state/lane/record-streams.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import { BY_OPERATOR } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Env } from '../env.ts';
import {
  CONFIRMED,
  type Content,
  deliveredBefore,
  marksOf,
  notDelivered,
  type PartDelivery,
  type PartSlot,
  sendMarked,
  type Undelivered,
} from './part.ts';
import { albumFrom, contentAt, isFormatted, ringingPart, simplify } from './plan.ts';
import { isUnsure, repeatPart } from './repeat.ts';

/** When a conclusion is delivered. */
export interface DeliveryTime {
  /** This very attempt stored the conclusion, so nothing of it was sent yet. */
  isNew: boolean;
  /** Something else comes before the message is settled, so the last part is marked too. */
  isFollowed: boolean;
  /** Aborted when the process ends, or has lost the job: a call that still waits for its turn is not made. */
  leaving: AbortSignal;
}

/** The result of a delivery. */
export type Delivery = { kind: 'delivered'; record: DeliveryRecord } | Undelivered;

/**
 * Delivers the parts of a conclusion, in order, each as a message of its own: a phone's notification shows what is
 * sent, never what is edited in. Each part is marked before it is sent and after; the outcome is the mark of the last
 * one. The next part waits until the previous part is confirmed or counts as unsure. If the result of a send is unknown, a
 * later attempt sends the part once more as soon as Telegram answers, and marks it as a possible repeat. If Telegram refuses
 * the format of a part, the part is sent in a simpler format; a timeout never changes the format. Only the beginning of an
 * answer rings. The reply to a button press, and the end of a message that its user stopped, do not ring.
 *
 * Contract: throws `FencedError`, or what Redis throws. The first part of a new conclusion was marked when the
 * conclusion was stored.
 */
export async function deliver(
  turn: Turn<Env>,
  stored: Conclusion,
  to: Destination,
  { isNew, isFollowed, leaving }: DeliveryTime,
): Promise<Delivery> {
  let conclusion = stored;
  let isMarked = isNew;
  let unsure = 0;
  const isStopped = conclusion.outcome === 'cancelled' && conclusion.reason !== BY_OPERATOR;
  const isQuiet = isStopped || isPressed(turn);
  for (let index = 0; index < conclusion.parts.length; ) {
    const isRepeat = !isMarked && isUnsure(turn, index);
    const count = albumFrom(conclusion, index, turn.reply);
    const isLast = index + count === conclusion.parts.length;
    const content = contentAt(conclusion, index, count);
    const isFurther = index !== ringingPart(conclusion);
    const slot = { index, count, isSilent: isQuiet || isFurther, isFurther, leaving };
    const sent = isRepeat
      ? await repeatPart(turn, slot, content, to)
      : await sendPart(turn, slot, content, to, { isMarked, isFollowed: isFollowed || !isLast });
    isMarked = false;
    if (sent.kind === 'confirmed' || sent.kind === 'unsure') {
      if (sent.kind === 'unsure') unsure += count;
      index += count;
      continue;
    }
    if (!isRefused(sent.failure) || !isFormatted(conclusion, index)) return sent;
    conclusion = await simplify(turn, conclusion, slot);
  }
  const parts = conclusion.parts.length;
  return { kind: 'delivered', record: { parts, confirmed: parts - unsure, unsure } };
}

/** Whether somebody pressed a button: they look at the chat, and nobody else is to be rung for that. */
function isPressed({ message }: Turn): boolean {
  return message.ok && message.value.pressed !== undefined;
}

/** Telegram does not take the message as it is; certainly nothing was sent. */
function isRefused({ kind }: TelegramFailure): boolean {
  return kind === 'rejected' || kind === 'not_offered';
}

async function sendPart(
  turn: Turn<Env>,
  slot: PartSlot,
  content: Content,
  to: Destination,
  { isMarked, isFollowed }: { isMarked: boolean; isFollowed: boolean },
): Promise<PartDelivery> {
  const { index } = slot;
  const before = deliveredBefore(turn, index);
  if (before) return before;
  const sent = await sendMarked(turn, index, content, to, { ...slot, isMarked });
  if (!sent.ok) return notDelivered(sent.failure);
  turn.env.reach('part sent');
  if (!isFollowed) return CONFIRMED;
  await turn.write('', marksOf(turn, slot, 'sent'));
  turn.env.reach('part marked');
  return CONFIRMED;
}
