import { visibleInLine } from '../../../shared/base/text.ts';
import { type Inline, plain } from '../../../shared/flow/reply.ts';
import {
  type CancelledReminder,
  createReminderBook,
  type PendingReminder,
  REMINDERS_MAX,
  type ReminderBook,
} from '../../../shared/state/reminder/book.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import type { Button } from '../../../shared/telegram/messages.ts';
import type { Texts } from '../../../shared/texts/language.ts';
import { type CommandHandler, inRows, replied } from '../../command/command.ts';
import { inMinutes } from '../../command/words.ts';
import type { Env } from '../../env.ts';
import { timeZoneOf } from '../../lane/turn-settings.ts';
import { nextDueMs, rhythmOf } from './schedule.ts';

const BUTTONS_A_ROW = 3;
const ARGUMENT = /^(cancel|restore) (\w{1,32})$/;

/**
 * `/reminders`: lists the pending reminders in full, each with a button that sends `/reminders cancel <id>`. If the model
 * cancelled a reminder while it answered, a button under the answer sends `/reminders restore <id>`. One write stores the
 * change and the reply.
 */
export const reminders: CommandHandler = async ({ turn, argument }) => {
  const book = bookOf(turn);
  const { texts, currentChat } = turn;
  const [, verb, id] = ARGUMENT.exec(argument) ?? [];
  if (verb === undefined && argument !== '') return replied('reminders', texts.reminders.usage);
  const pending = await book.of(currentChat);
  const zone = timeZoneOf(turn, turn.env.settings);
  if (verb === undefined) {
    const { list, buttons } = listOf(texts, pending, zone);
    return replied('reminders', list, { buttons });
  }
  const { reply, changes, after } = verb === 'cancel' ? cancel() : await restore();
  const { list, buttons } = listOf(texts, after, zone);
  // Keep the buttons, so that people can still restore the other reminders that the same answer cancelled.
  const keeps = verb === 'restore' && { keepsButtons: true as const };
  return replied('reminders', [...reply, plain('\n\n'), ...list], { buttons, changes, ...keeps });

  function cancel() {
    const [chosen] = pending.filter(({ reminder }) => reminder.id === id);
    if (chosen === undefined) return { reply: [plain(texts.reminders.unknown)], changes: [], after: pending };
    const reply = [plain(texts.reminders.cancelled(textOf(chosen)))];
    return { reply, changes: book.cancel([chosen]), after: pending.filter((each) => each !== chosen) };
  }

  async function restore() {
    const chosen = (await book.cancelled(currentChat)).find(({ reminder }) => reminder.id === id);
    const problem = chosen === undefined ? texts.reminders.unknown : texts.reminders.full(REMINDERS_MAX);
    if (chosen === undefined || pending.length >= REMINDERS_MAX)
      return { reply: [plain(problem)], changes: [], after: pending };
    const dueAtMs = restoredDueMs(chosen, turn.nowMs());
    const restored = { ...chosen, dueAtMs };
    return {
      reply: [plain(`${texts.reminders.restored} `), ...lineOf(texts, restored, zone)],
      changes: book.restore(chosen, dueAtMs),
      after: [...pending, restored].sort((one, other) => one.dueAtMs - other.dueAtMs),
    };
  }
};

/** The reminders of all chats in the shard of a turn. */
export function bookOf({ env: { redis, keys } }: Turn<Env>): ReminderBook {
  return createReminderBook(redis, keys);
}

/** The due time of a restored reminder: the reminder's next due time, or now if all its due times have passed. */
function restoredDueMs({ reminder, dueAtMs }: CancelledReminder, nowMs: number): number {
  if (dueAtMs > nowMs) return dueAtMs;
  return nextDueMs(reminder, nowMs) ?? nowMs;
}

function listOf(texts: Texts, pending: readonly PendingReminder[], timeZone: string) {
  const { reminders: text } = texts;
  if (pending.length === 0) return { list: [plain(text.none)], buttons: [] };
  const lines = pending.flatMap((each, at) => [plain(`\n${at + 1}. `), ...lineOf(texts, each, timeZone)]);
  const buttons = pending.map(({ reminder: { id } }, at): Button => {
    return { text: text.cancelButton(at + 1), command: `/reminders cancel ${id}`, destroys: true };
  });
  return { list: [plain(text.title(pending.length)), ...lines], buttons: inRows(buttons, BUTTONS_A_ROW) };
}

/** A reminder on one line: its due time, its repeat and its whole text. Pure. */
export function lineOf(
  { reminders: text }: Texts,
  pending: Pick<PendingReminder, 'reminder' | 'dueAtMs'>,
  timeZone: string,
): Inline[] {
  const { repeat, timeZone: own } = pending.reminder;
  const rhythm = repeat && rhythmOf(repeat);
  const again = rhythm === undefined ? '' : text.again(rhythm, own === timeZone ? '' : own);
  const { dueAtMs: atMs } = pending;
  return [
    { type: 'time', text: `${inMinutes(atMs, timeZone)} (${timeZone})`, atMs },
    plain(text.line(again, textOf(pending))),
  ];
}

/** The whole text of a reminder on one line, with every character visible, because the model will act on this text. */
function textOf({ reminder }: Pick<PendingReminder, 'reminder'>): string {
  return visibleInLine(reminder.text);
}
