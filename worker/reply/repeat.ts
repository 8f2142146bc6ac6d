import { METRIC } from '../../shared/base/telemetry.ts';
import { queuedAlert } from '../../shared/state/incident/book.ts';
import type { TelegramFailure } from '../../shared/telegram/failure.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { unsureAlert } from '../alerts/causes/telegram.ts';
import type { Attempt, PartPlace } from '../lane/attempt.ts';
import {
  CONFIRMED,
  type Content,
  deliveredBefore,
  marksOf,
  notDelivered,
  type OutboxPorts,
  type PartDelivery,
  type PartSlot,
  sendMarked,
  UNSURE,
  type Undelivered,
} from './part.ts';
import { MESSAGE_CHARS_MAX } from './split.ts';

/** The fields of a turn for the repetition of one part. Those of the first part are older than those of the others. */
interface Places extends PartSlot {
  placeholder: PartPlace;
  text: PartPlace;
  /** Holds the id of the placeholder. */
  id: string;
}

/** A message that is confirmed this long after a send is no witness of it any more. */
const WITNESS_MS = 60_000;
/** Repeats that were lost in silence may all have arrived: after so many, each further one waits twice as long. */
const REPEATS_AT_ONCE = 3;
const REST_MS = 30_000;
const REST_MS_MAX = 3_600_000;

type Text = Extract<Content, { kind: 'text' }>;
type File = Extract<Content, { kind: 'file' }>;
type Album = Extract<Content, { kind: 'album' }>;

/** Whether it is unknown what became of a part that an earlier attempt sent. */
export function isUnsure(attempt: Attempt, index: number): boolean {
  const { placeholder, id } = placesOf(index);
  const mark = attempt.part(index);
  if (mark === 'sent' || mark === 'unsure') return false;
  return (
    mark !== undefined || attempt.part(placeholder) !== undefined || attempt.turn.reply.placeholder(id) !== undefined
  );
}

/**
 * Repeats a part whose first send has an unknown result. It may stand in the chat already, so it says that it may be a
 * repeat, and it must not become a third copy: a line is sent and its id is stored, and then the text is edited in. An
 * edit may be repeated. A file cannot be edited in: it is sent once more, marked.
 *
 * Nothing is repeated before Telegram has answered since. A repeat that was lost in silence counts as made only when
 * Telegram has confirmed another message since; until then it is the same repeat, however often it is tried. If two such
 * lines are lost, the text is sent once as it is. If that is lost too, the part counts as unsure, and the operator is
 * notified. A repeat that a failing server or a proxy answered was not made.
 */
export async function repeatPart(
  ports: OutboxPorts,
  attempt: Attempt,
  slot: PartSlot,
  content: Text | File | Album,
  to: Destination,
): Promise<PartDelivery> {
  const { index } = slot;
  const places = { ...placesOf(index), ...slot };
  const before = deliveredBefore(attempt, places.text);
  if (before) return before;
  if (content.kind === 'file') return sendOnce(ports, attempt, places, repeatedFile(attempt, content), to);
  if (content.kind === 'album') {
    const files = content.files.map((file, at) => (at === 0 ? repeatedFile(attempt, file) : file));
    return sendOnce(ports, attempt, places, { ...content, files }, to);
  }
  const marked = withRepeatNotice(attempt, index, content);
  const kept = attempt.turn.reply.placeholder(places.id);
  if (attempt.part(places.text) !== undefined) return sendOnce(ports, attempt, places, marked, to);
  const placed = kept === undefined ? await place(ports, attempt, places, to) : ({ kind: 'placed', id: kept } as const);
  if (placed.kind === 'lost') return sendOnce(ports, attempt, places, marked, to);
  if (placed.kind !== 'placed') return placed;
  const edited = await ports.telegram.editMessage(to, placed.id, marked.text, { ...marked, leaving: slot.leaving });
  ports.observability.reach('part sent');
  if (edited.ok) {
    await attempt.write('', [attempt.turn.reply.mark(index, 'sent')]);
    return CONFIRMED;
  }
  // The user removed the placeholder.
  if (edited.failure.kind === 'message_gone') return sendOnce(ports, attempt, places, marked, to);
  return notDelivered(edited.failure);
}

function placeholderOf({ texts }: Attempt): Text {
  return { kind: 'text', text: texts.repeat, entities: [] };
}

function repeatedFile({ texts }: Attempt, file: File): File {
  return { ...file, caption: `${texts.repeat} ${file.caption || file.name}` };
}

/** Sends the placeholder and stores its id. It is lost when two sends count as made. */
async function place(
  ports: OutboxPorts,
  attempt: Attempt,
  places: Places,
  to: Destination,
): Promise<{ kind: 'placed'; id: number } | { kind: 'lost' } | Undelivered> {
  const before = attempt.part(places.placeholder);
  const isMade = await counts(ports, attempt, places.placeholder);
  if (before === 'resent' && isMade) return { kind: 'lost' };
  const wait = await tooEarly(ports, attempt, places.placeholder);
  if (wait) return wait;
  countUnknown(ports, before !== undefined);
  const mark = before === 'resent' || isMade ? 'resent' : 'sending';
  const sent = await sendMarked(ports, attempt, places.placeholder, placeholderOf(attempt), to, { ...places, mark });
  if (!sent.ok) return lost(attempt, places.placeholder, sent.failure);
  ports.observability.reach('placeholder sent');
  const { messageId } = sent.value;
  await attempt.write('', [attempt.turn.reply.place(places.id, messageId)]);
  return { kind: 'placed', id: messageId };
}

/**
 * Sends what cannot be edited in. When its result is unknown although Telegram confirmed other messages, it counts as
 * unsure, and the operator is notified: the user may already have two copies, and a third would not help.
 */
async function sendOnce(
  ports: OutboxPorts,
  attempt: Attempt,
  places: Places,
  content: Content,
  to: Destination,
): Promise<PartDelivery> {
  const at = places.text;
  if (attempt.part(at) !== undefined) countUnknown(ports, true);
  const isMade = await counts(ports, attempt, at);
  if (isMade) {
    const { reply } = attempt.turn;
    const unsure = [reply.mark(at, 'unsure'), ...marksOf(attempt, places, 'unsure')];
    await attempt.write(`unsure:${at}`, [...unsure, queuedAlert(attempt.keys, unsureAlert(attempt))]);
    return UNSURE;
  }
  const wait = await tooEarly(ports, attempt, at);
  if (wait) return wait;
  const sent = await sendMarked(ports, attempt, at, content, to, places);
  if (!sent.ok) return lost(attempt, at, sent.failure);
  ports.observability.reach('part sent');
  await attempt.write('', [attempt.turn.reply.mark(at, 'sent'), ...marksOf(attempt, places, 'sent')]);
  return CONFIRMED;
}

/**
 * Whether a send with an unknown result counts as made: Telegram was there, since it confirmed a message right after it.
 * That it confirmed one long after says nothing: it may have been away in between.
 */
async function counts({ breaker }: OutboxPorts, attempt: Attempt, at: PartPlace): Promise<boolean> {
  if (attempt.part(at) === undefined) return false;
  const afterMs = (await breaker.confirmedMs()) - attempt.turn.reply.sentMs(at);
  return afterMs > 0 && afterMs <= WITNESS_MS;
}

/** Notes how a repeat failed: one that was answered was not made, and one that was lost in silence may have been. */
async function lost(attempt: Attempt, at: PartPlace, failure: TelegramFailure): Promise<Undelivered> {
  const { reply } = attempt.turn;
  if (failure.isAnswered) await attempt.write('', [reply.unsend(at)]);
  else if (failure.kind === 'unknown') await attempt.write('', [reply.lose(at)]);
  return notDelivered(failure);
}

/**
 * A repeat now could be one more that nobody knows of: it waits until Telegram answers, and longer each time that one was
 * lost in silence, unless somebody's message was confirmed since.
 */
async function tooEarly({ breaker }: OutboxPorts, attempt: Attempt, at: PartPlace): Promise<Undelivered | undefined> {
  const wait = (description: string, retryAfterMs: number): Undelivered => ({
    kind: 'later',
    failure: { kind: 'away', description, retryAfterMs },
  });
  if (!(await breaker.answersNow())) return wait('not repeated: Telegram does not answer', await breaker.awayMs());
  const lostBefore = attempt.turn.reply.losses(at);
  const sentMs = attempt.turn.reply.sentMs(at);
  if (lostBefore < REPEATS_AT_ONCE || (await breaker.confirmedMs()) > sentMs) return undefined;
  const restMs = sentMs + Math.min(REST_MS * 2 ** (lostBefore - REPEATS_AT_ONCE), REST_MS_MAX) - attempt.nowMs();
  return restMs > 0 ? wait('not repeated: too many were lost', Math.min(restMs, REST_MS)) : undefined;
}

function countUnknown({ observability }: OutboxPorts, resent: boolean): void {
  observability.telemetry.count(METRIC.unknownSends, { resent });
}

/**
 * A version before 0.3 sent a placeholder first: such a part is no repeat. Nor is there room for a notice in a full
 * one.
 */
function withRepeatNotice(attempt: Attempt, index: number, content: Text): Text {
  const { text, entities } = content;
  const notice = `${attempt.texts.repeat}\n\n`;
  const isTooLong = notice.length + text.length > MESSAGE_CHARS_MAX;
  if (attempt.part(index) === undefined || isTooLong) return content;
  const shifted = entities.map((entity) => ({ ...entity, offset: entity.offset + notice.length }));
  return { ...content, text: `${notice}${text}`, entities: shifted };
}

function placesOf(index: number): Omit<Places, keyof PartSlot> {
  if (index === 0) return { placeholder: 'placeholder', text: 'text', id: 'reply' };
  return { placeholder: `${index}:placeholder`, text: `${index}:text`, id: `reply:${index}` };
}
