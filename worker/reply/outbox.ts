import { METRIC } from '../../shared/base/telemetry.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { PartPlace } from '../../shared/state/turn/aspects.ts';
import { BY_OPERATOR, type Conclusion } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import { unsureAlert } from '../alerts/causes/telegram.ts';
import type { Env } from '../env.ts';
import type { Delivery, DeliveryTime } from '../lane/verdict.ts';
import { MESSAGE_CHARS_MAX } from './format/layout.ts';
import { CONFIRMED, deliveredBefore, marksOf, notDelivered, type PartDelivery, sendMarked, UNSURE } from './part.ts';
import { albumFrom, type Content, contentAt, isFormatted, type PartSlot, ringingPart, simplify } from './plan.ts';

/**
 * Delivers the parts of a conclusion in order. Each part is a message of its own, since a phone's notification does not show
 * later edits; consecutive pictures form an album. Stores the mark `sending` before each send, and `sent` after it. After the
 * last part, the outcome takes the place of the mark `sent`, unless more steps follow. Sends a part only when the previous one
 * is confirmed or counts as unsure. If the result of a send is unknown, a later attempt repeats the part once, as soon as
 * Telegram answers, with a note that this may be a repeat. If Telegram refuses the format of a part, sends the part in
 * a simpler one; a timeout never changes the format. If a part cannot be delivered now, or ever, returns the failure and stops.
 *
 * Only one part makes a sound: the beginning of the answer or, without an answer, the first part. No part of the reply to a
 * button press, or to a message that a user cancelled, makes a sound.
 *
 * Contract: throws `FencedError`, or what Redis throws. If `isNew`, the conclusion was stored together with the mark of its
 * first part.
 */
export async function deliver(
  turn: Turn<Env>,
  stored: Conclusion,
  { isNew, isFollowed, stopSignal }: DeliveryTime,
): Promise<Delivery> {
  let conclusion = stored;
  let isMarked = isNew;
  let unsure = 0;
  const isStopped = conclusion.outcome === 'cancelled' && conclusion.reason !== BY_OPERATOR;
  const isQuiet = isStopped || isPressed(turn);
  for (let index = 0; index < conclusion.parts.length; ) {
    const isRepeat = !isMarked && isInDoubt(turn, index);
    const count = albumFrom(conclusion, index, turn.reply);
    const isLast = index + count === conclusion.parts.length;
    const content = contentAt(conclusion, index, count);
    const isFurther = index !== ringingPart(conclusion);
    const slot = { index, count, isSilent: isQuiet || isFurther, isFurther, stopSignal };
    const delivery = isRepeat
      ? await repeatPart(turn, slot, content)
      : await sendPart(turn, slot, content, { isMarked, isFollowed: isFollowed || !isLast });
    isMarked = false;
    if (delivery.kind === 'confirmed' || delivery.kind === 'unsure') {
      if (delivery.kind === 'unsure') unsure += count;
      index += count;
      continue;
    }
    if (!isRefused(delivery.failure) || !isFormatted(conclusion, index)) return delivery;
    conclusion = await simplify(turn, conclusion, slot);
  }
  const parts = conclusion.parts.length;
  return { kind: 'delivered', record: { parts, confirmed: parts - unsure, unsure } };
}

/** Whether the message is a button press. Its sender is looking at the chat, and the reply must not ring for others. */
function isPressed({ message }: Turn): boolean {
  return message.ok && message.value.pressed !== undefined;
}

/** Whether Telegram refused the message itself, so that certainly nothing was sent. */
function isRefused({ kind }: TelegramFailure): boolean {
  return kind === 'rejected' || kind === 'not_offered';
}

async function sendPart(
  turn: Turn<Env>,
  slot: PartSlot,
  content: Content,
  { isMarked, isFollowed }: { isMarked: boolean; isFollowed: boolean },
): Promise<PartDelivery> {
  const { index } = slot;
  const before = deliveredBefore(turn, index);
  if (before) return before;
  const result = await sendMarked(turn, index, content, { ...slot, isMarked });
  if (!result.ok) return notDelivered(result.failure);
  turn.env.reach('part sent');
  if (!isFollowed) return CONFIRMED;
  await turn.write('', marksOf(turn, slot, 'sent'));
  turn.env.reach('part marked');
  return CONFIRMED;
}

/** Whether an earlier attempt began to send a part, or to repeat it, with an unknown result. */
function isInDoubt({ reply }: Turn, index: number): boolean {
  const mark = reply.markOf(index);
  return mark !== 'sent' && mark !== 'unsure' && (mark ?? reply.markOf(repeatOf(index))) !== undefined;
}

/**
 * Repeats a part once if the result of its first send is unknown, as soon as Telegram answers. The part may already be in the
 * chat, so a note says that this may be a repeat. If the result of the repeat is unknown too, a third copy would not help: the
 * part counts as unsure, and the operator gets an alert. A repeat that a failing server or a proxy answered does not count, so
 * a later attempt repeats the part again.
 */
async function repeatPart(turn: Turn<Env>, slot: PartSlot, content: Content): Promise<PartDelivery> {
  const { env } = turn;
  const at = repeatOf(slot.index);
  const before = deliveredBefore(turn, at);
  if (before) return before;
  if (turn.reply.markOf(at) !== undefined) {
    env.telemetry.count(METRIC.unknownSends, { resent: true });
    await turn.write(`unsure:${at}`, [...marksOf(turn, slot, 'unsure'), queuedAlert(turn.keys, unsureAlert(turn))]);
    return UNSURE;
  }
  if (!(await env.breaker.answersNow())) {
    const retryAfterMs = await env.breaker.awayMs();
    return notDelivered({ kind: 'away', description: 'not repeated: Telegram does not answer', retryAfterMs });
  }
  env.telemetry.count(METRIC.unknownSends, { resent: false });
  const result = await sendMarked(turn, at, withRepeatNotice(turn, content), slot);
  if (result.ok) {
    env.reach('part sent');
    await turn.write('', marksOf(turn, slot, 'sent'));
    return CONFIRMED;
  }
  if (result.failure.isAnswered) await turn.write('', [turn.reply.mark(at, undefined)]);
  return notDelivered(result.failure);
}

/** Adds the notice that the content may be a repeat. A text without room for the notice stays as it is. */
function withRepeatNotice({ texts }: Turn, content: Content): Content {
  const notice = texts.repeat;
  if (content.kind === 'rich') return { ...content, blocks: [{ type: 'paragraph', text: notice }, ...content.blocks] };
  if (content.kind === 'file') return { ...content, caption: `${notice} ${content.caption || content.name}` };
  if (content.kind === 'album') {
    const files = content.files.map((file, at) =>
      at === 0 ? { ...file, caption: `${notice} ${file.caption || file.name}` } : file,
    );
    return { ...content, files };
  }
  const before = `${notice}\n\n`;
  if (before.length + content.text.length > MESSAGE_CHARS_MAX) return content;
  const entities = content.entities.map((entity) => ({ ...entity, offset: entity.offset + before.length }));
  return { ...content, text: `${before}${content.text}`, entities };
}

/** The name under which the mark of a part's repeat is stored. For the first part, it is the name that older versions used. */
function repeatOf(index: number): PartPlace {
  return index === 0 ? 'text' : `${index}:text`;
}
