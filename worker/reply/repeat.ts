import { METRIC } from '../../shared/base/telemetry.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { PartPlace } from '../../shared/state/turn/aspects.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { unsureAlert } from '../alerts/causes/telegram.ts';
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
  UNSURE,
  type Undelivered,
} from './part.ts';
import { MESSAGE_CHARS_MAX } from './split.ts';

/** After this time a repeat without a result is unsure once Telegram answers, even without a later confirmed message. */
const WITNESS_MS = 60_000;
const LOOK_EVERY_MS = 2_000;

/** Whether it is unknown what became of a part that an earlier attempt sent. */
export function isUnsure(turn: Turn, index: number): boolean {
  const mark = turn.reply.markOf(index);
  if (mark === 'sent' || mark === 'unsure') return false;
  return mark !== undefined || turn.reply.markOf(repeatOf(index)) !== undefined || lineOf(turn, index) !== undefined;
}

/**
 * Repeats a part whose first send has an unknown result, once, as soon as Telegram answers. The part may stand in the chat
 * already, so the repeat says that it may be one. If the result of the repeat is unknown too, a third copy would not help:
 * the part is unsure once Telegram has confirmed another message, and the operator is notified. A repeat that a failing
 * server or a proxy answered was not made, and does not count.
 */
export async function repeatPart(
  turn: Turn<Env>,
  slot: PartSlot,
  content: Content,
  to: Destination,
): Promise<PartDelivery> {
  const { env } = turn;
  const at = repeatOf(slot.index);
  const before = deliveredBefore(turn, at) ?? (await editedInto(turn, slot, content, to));
  if (before) return before;
  if (turn.reply.markOf(at) !== undefined) return endRepeat(turn, slot, at);
  if (!(await env.breaker.answersNow())) return wait('Telegram does not answer', await env.breaker.awayMs());
  env.telemetry.count(METRIC.unknownSends, { resent: false });
  const sent = await sendMarked(turn, at, repeated(turn, slot.index, content), to, slot);
  if (!sent.ok) {
    if (sent.failure.isAnswered) await turn.write('', [turn.reply.mark(at, undefined)]);
    return notDelivered(sent.failure);
  }
  env.reach('part sent');
  await turn.write('', [turn.reply.mark(at, 'sent'), ...marksOf(turn, slot, 'sent')]);
  return CONFIRMED;
}

/** The end of a part whose repeat has an unknown result. */
async function endRepeat(turn: Turn<Env>, slot: PartSlot, at: PartPlace): Promise<PartDelivery> {
  const { env } = turn;
  const sentMs = turn.reply.sentMs(at);
  const isLongAgo = turn.nowMs() - sentMs >= WITNESS_MS;
  const isSeen = (await env.breaker.confirmedMs()) > sentMs || (isLongAgo && (await env.breaker.answersNow()));
  if (!isSeen) return wait('no message was confirmed since', LOOK_EVERY_MS);
  env.telemetry.count(METRIC.unknownSends, { resent: true });
  const unsure = [turn.reply.mark(at, 'unsure'), ...marksOf(turn, slot, 'unsure')];
  await turn.write(`unsure:${at}`, [...unsure, queuedAlert(turn.keys, unsureAlert(turn))]);
  return UNSURE;
}

function wait(why: string, retryAfterMs: number): Undelivered {
  return { kind: 'later', failure: { kind: 'away', description: `not repeated: ${why}`, retryAfterMs } };
}

/** An earlier version sent a line first, and edited the text into it. An edit may be repeated. */
async function editedInto(
  turn: Turn<Env>,
  { index, leaving }: PartSlot,
  content: Content,
  to: Destination,
): Promise<PartDelivery | undefined> {
  const line = lineOf(turn, index);
  if (line === undefined || content.kind !== 'text') return undefined;
  const { text, entities } = turn.reply.markOf(index) === undefined ? content : repeatedText(turn, content);
  const edited = await turn.env.telegram.editMessage(to, line, text, { ...content, entities, leaving });
  turn.env.reach('part sent');
  // The user removed the line.
  if (!edited.ok) return edited.failure.kind === 'message_gone' ? undefined : notDelivered(edited.failure);
  await turn.write('', [turn.reply.mark(index, 'sent')]);
  return CONFIRMED;
}

/** The content with the line that it may be a repeat. */
function repeated(turn: Turn, index: number, content: Content): Content {
  const notice = turn.texts.repeat;
  // No mark on the part: an earlier version sent only the line, so this text is no repeat.
  if (turn.reply.markOf(index) === undefined) return content;
  if (content.kind === 'text') return repeatedText(turn, content);
  if (content.kind === 'rich') return { ...content, blocks: [{ type: 'paragraph', text: notice }, ...content.blocks] };
  if (content.kind === 'file') return { ...content, caption: `${notice} ${content.caption || content.name}` };
  const [first, ...others] = content.files;
  if (first === undefined) return content;
  return { ...content, files: [{ ...first, caption: `${notice} ${first.caption || first.name}` }, ...others] };
}

/** In a full message there is no room for the line. */
function repeatedText({ texts }: Turn, content: Extract<Content, { kind: 'text' }>): typeof content {
  const notice = `${texts.repeat}\n\n`;
  if (notice.length + content.text.length > MESSAGE_CHARS_MAX) return content;
  const entities = content.entities.map((entity) => ({ ...entity, offset: entity.offset + notice.length }));
  return { ...content, text: `${notice}${content.text}`, entities };
}

/** The place of a part's repeat, and the line of an earlier version. Those of the first part are older than the others. */
function repeatOf(index: number): PartPlace {
  return index === 0 ? 'text' : `${index}:text`;
}

function lineOf({ reply }: Turn, index: number): number | undefined {
  return reply.placeholder(index === 0 ? 'reply' : `reply:${index}`);
}
