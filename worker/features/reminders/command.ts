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
 * `/reminders`: what is to come, in full, each with a button that cancels it. The button sends `/reminders cancel <id>`,
 * and the one under an answer for which the model cancelled a reminder `/reminders restore <id>`. The change is stored in
 * one step with the reply that says so.
 */
export const reminders: CommandHandler = async ({ turn, argument }) => {
  const { settings } = turn.env;
  const book = bookOf(turn);
  const { texts, currentChat } = turn;
  const [, verb, id] = ARGUMENT.exec(argument) ?? [];
  if (verb === undefined && argument !== '') return replied('reminders', texts.reminders.usage);
  const coming = await book.of(currentChat);
  const zone = timeZoneOf(turn, settings);
  if (verb === undefined) {
    const { list, buttons } = listed(texts, coming, zone);
    return replied('reminders', list, { buttons });
  }
  const { reply, changes, after } = verb === 'cancel' ? cancel() : await restore();
  const { list, buttons } = listed(texts, after, zone);
  // The other cancelled reminders under the same answer can still be restored.
  const keeps = verb === 'restore' && { keepsButtons: true as const };
  return replied('reminders', [...reply, plain('\n\n'), ...list], { buttons, changes, ...keeps });

  function cancel() {
    const [chosen] = coming.filter(({ reminder }) => reminder.id === id);
    if (chosen === undefined) return { reply: [plain(texts.reminders.unknown)], changes: [], after: coming };
    const reply = [plain(texts.reminders.cancelled(textOf(chosen)))];
    return { reply, changes: book.cancel([chosen]), after: coming.filter((each) => each !== chosen) };
  }

  async function restore() {
    const chosen = (await book.cancelled(currentChat)).find(({ reminder }) => reminder.id === id);
    const problem = chosen === undefined ? texts.reminders.unknown : texts.reminders.full(REMINDERS_MAX);
    if (chosen === undefined || coming.length >= REMINDERS_MAX)
      return { reply: [plain(problem)], changes: [], after: coming };
    const dueAtMs = dueAgainMs(chosen, turn.nowMs());
    const restored = { ...chosen, dueAtMs };
    return {
      reply: [plain(`${texts.reminders.restored} `), ...lineOf(texts, restored, zone)],
      changes: book.restore(chosen, dueAtMs),
      after: [...coming, restored].sort((one, other) => one.dueAtMs - other.dueAtMs),
    };
  }
};

/** The reminders of the chats of a turn's shard. */
export function bookOf({ env: { redis, keys } }: Turn<Env>): ReminderBook {
  return createReminderBook(redis, keys);
}

/** When a cancelled reminder is due after it is restored. One whose only time has passed is due at once. */
function dueAgainMs({ reminder, dueAtMs }: CancelledReminder, nowMs: number): number {
  if (dueAtMs > nowMs) return dueAtMs;
  return nextDueMs(reminder, nowMs) ?? nowMs;
}

function listed(texts: Texts, coming: readonly PendingReminder[], timeZone: string) {
  const { reminders: text } = texts;
  if (coming.length === 0) return { list: [plain(text.none)], buttons: [] };
  const lines = coming.flatMap((each, at) => [plain(`\n${at + 1}. `), ...lineOf(texts, each, timeZone)]);
  const buttons = coming.map(({ reminder: { id } }, at): Button => {
    return { text: text.cancelButton(at + 1), command: `/reminders cancel ${id}`, destroys: true };
  });
  return { list: [plain(text.title(coming.length)), ...lines], buttons: inRows(buttons, BUTTONS_A_ROW) };
}

/** A reminder on one line: when it comes, whether again, and its whole text. Pure. */
export function lineOf(
  { reminders: text }: Texts,
  coming: Pick<PendingReminder, 'reminder' | 'dueAtMs'>,
  timeZone: string,
): Inline[] {
  const { repeat, timeZone: own } = coming.reminder;
  const rhythm = repeat && rhythmOf(repeat);
  const again = rhythm === undefined ? '' : text.again(rhythm, own === timeZone ? '' : own);
  const { dueAtMs: atMs } = coming;
  return [
    { type: 'time', text: `${inMinutes(atMs, timeZone)} (${timeZone})`, atMs },
    plain(text.line(again, textOf(coming))),
  ];
}

/** The whole text of a reminder on one line, every character of it visible: it is what the model will act on. */
function textOf({ reminder }: Pick<PendingReminder, 'reminder'>): string {
  return visibleInLine(reminder.text);
}
