import type { Instruments } from '../../shared/base/instruments.ts';
import { METRIC } from '../../shared/base/telemetry.ts';
import { alertCommand } from '../../shared/flow/alert.ts';
import type { Destination, Telegram } from '../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../shared/telegram/failure.ts';
import { unsureAlert } from '../alerts/messages.ts';
import type { Attempt, Command, Conclusion, PartMark } from '../lane/attempt.ts';

export interface OutboxPorts {
  telegram: Telegram;
  instruments: Pick<Instruments, 'telemetry' | 'reach'>;
}

/** The result of a delivery. */
export type Delivery =
  | { kind: 'delivered' }
  /** Not now: Telegram is unavailable or asks to wait. What was sent stays marked. */
  | { kind: 'later'; failure: TelegramFailure }
  /** Never: the chat is gone or Telegram refuses the text. */
  | { kind: 'undeliverable'; failure: TelegramFailure };

/** The places of a reply that are sent: the placeholder, its text if the placeholder is lost, and the further parts. */
type Place = 'placeholder' | 'text' | number;

const DELIVERED: Delivery = { kind: 'delivered' };
/** What the chat shows for the moment between a message's send and its text. */
export const PLACEHOLDER = '…';
/** The field of the turn that holds the id of the placeholder. */
const REPLY = 'reply';

/**
 * Delivers the parts of a conclusion, in order. The first is sent as a placeholder whose id is stored, and its text is
 * then edited in: an edit may be repeated, so a crash never shows an answer twice. Each further part is marked before
 * it is sent and after. A send with an unknown result is counted, and repeated at most once.
 *
 * Contract: throws `FencedError`, or what Redis throws. The placeholder of a new conclusion was marked when the
 * conclusion was stored.
 */
export async function deliver(
  ports: OutboxPorts,
  attempt: Attempt,
  { parts: texts }: Conclusion,
  to: Destination,
  isNew: boolean,
): Promise<Delivery> {
  const [first, ...further] = texts;
  const shown = first === undefined ? DELIVERED : await showFirst(ports, attempt, first, to, isNew);
  if (shown.kind !== 'delivered') return shown;
  for (const [index, text] of further.entries()) {
    const sent = await sendOnce(ports, attempt, index + 1, text, to);
    if (sent.kind !== 'delivered') return sent;
  }
  return DELIVERED;
}

/** The command that marks the placeholder of a conclusion as being sent. */
export function markFirst(attempt: Attempt): Command {
  return mark(attempt, 'placeholder', 'sending');
}

async function showFirst(
  ports: OutboxPorts,
  attempt: Attempt,
  text: string,
  to: Destination,
  isNew: boolean,
): Promise<Delivery> {
  const kept = attempt.field(REPLY);
  const placed = kept === undefined ? await place(ports, attempt, to, isNew) : { id: Number(kept) };
  if ('kind' in placed) return placed;
  const edited = placed.id === undefined ? undefined : await ports.telegram.editMessage(to, placed.id, text);
  ports.instruments.reach('part sent');
  if (edited?.ok) return DELIVERED;
  // The placeholder is lost: two sends had unknown results, or the user removed it.
  if (edited === undefined || edited.failure.kind === 'message_gone') return sendOnce(ports, attempt, 'text', text, to);
  return notDelivered(edited.failure);
}

/** Sends the placeholder and stores its id. Returns no id when two sends had unknown results. */
async function place(
  ports: OutboxPorts,
  attempt: Attempt,
  to: Destination,
  isNew: boolean,
): Promise<{ id: number | undefined } | Delivery> {
  const before = isNew ? undefined : attempt.part('placeholder');
  if (before === 'resent') {
    ports.instruments.telemetry.count(METRIC.unknownSends, { resent: true });
    return { id: undefined };
  }
  const sent = await sendMarked(ports, attempt, 'placeholder', before, PLACEHOLDER, to, isNew);
  if (!sent.ok) return notDelivered(sent.failure);
  ports.instruments.reach('placeholder sent');
  const { messageId } = sent.value;
  await attempt.write('', [['HSET', attempt.keys.turn(attempt.entry), REPLY, messageId]]);
  return { id: messageId };
}

/**
 * Sends a text that cannot be edited in. After a second unknown result it counts as sent, and the operator is notified:
 * the user may already have two copies, and a third would not help.
 */
async function sendOnce(
  ports: OutboxPorts,
  attempt: Attempt,
  at: Place,
  text: string,
  to: Destination,
): Promise<Delivery> {
  const before = attempt.part(at);
  if (before === 'sent') return DELIVERED;
  if (before === 'resent') {
    ports.instruments.telemetry.count(METRIC.unknownSends, { resent: true });
    await attempt.write(`unsure:${at}`, [mark(attempt, at, 'sent'), alertCommand(attempt.keys, unsureAlert(attempt))]);
    return DELIVERED;
  }
  const sent = await sendMarked(ports, attempt, at, before, text, to, false);
  if (!sent.ok) return notDelivered(sent.failure);
  ports.instruments.reach('part sent');
  await attempt.write('', [mark(attempt, at, 'sent')]);
  ports.instruments.reach('part marked');
  return DELIVERED;
}

async function sendMarked(
  { telegram, instruments: { telemetry } }: OutboxPorts,
  attempt: Attempt,
  at: Place,
  before: PartMark | undefined,
  text: string,
  to: Destination,
  isMarked: boolean,
): Promise<TelegramResult<{ messageId: number }>> {
  if (before === 'sending') telemetry.count(METRIC.unknownSends, { resent: false });
  if (!isMarked) await attempt.write('', [mark(attempt, at, before === 'sending' ? 'resent' : 'sending')]);
  const sent = await telegram.sendMessage(to, text);
  // Only a send whose result is unknown keeps its mark; any other failure certainly sent nothing.
  if (!sent.ok && sent.failure.kind !== 'unknown') await attempt.write('', [unmark(attempt, at, before)]);
  return sent;
}

function notDelivered(failure: TelegramFailure): Delivery {
  const isFinal = failure.kind === 'gone' || failure.kind === 'rejected';
  return { kind: isFinal ? 'undeliverable' : 'later', failure };
}

function mark(attempt: Attempt, at: Place, value: PartMark): Command {
  return ['HSET', attempt.keys.turn(attempt.entry), `part:${at}`, value];
}

function unmark(attempt: Attempt, at: Place, before: PartMark | undefined): Command {
  if (before !== undefined) return mark(attempt, at, before);
  return ['HDEL', attempt.keys.turn(attempt.entry), `part:${at}`];
}
