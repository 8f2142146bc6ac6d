import { clip } from '../../shared/base/text.ts';
import type { Coming } from '../../shared/state/reminder/book.ts';
import type { Button } from '../../shared/telegram/messages.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { timeZoneOf } from '../lane/settings.ts';
import { type Inline, plain } from '../reply/format/tree.ts';
import { type CommandHandler, inRows, replied } from './command.ts';
import { inMinutes } from './words.ts';

const TEXT_CHARS = 200;
const BUTTONS_A_ROW = 3;
const CANCEL = /^cancel (\w{1,32})$/;

/**
 * `/reminders`: what is to come, each with a button that cancels it; `/reminders cancel <id>` is what the button sends.
 * The cancellation is stored in one step with the reply that says so.
 */
export const reminders: CommandHandler = async ({ ask: { settings }, reminders: book }, { attempt, words }) => {
  const { texts, home } = attempt;
  const coming = await book.of(home);
  const zone = timeZoneOf(attempt, settings);
  const id = CANCEL.exec(words)?.[1];
  if (id === undefined && words !== '') return replied('reminders', texts.reminders.usage);
  const chosen = coming.filter(({ reminder }) => reminder.id === id);
  const { list, buttons } = listed(
    texts,
    coming.filter((each) => !chosen.includes(each)),
    zone,
  );
  if (id === undefined) return replied('reminders', list, { buttons });
  const [first] = chosen;
  const said = first === undefined ? texts.reminders.unknown : texts.reminders.cancelled(shown(first));
  return replied('reminders', [plain(`${said}\n\n`), ...list], { buttons, changes: book.cancelling(chosen) });
};

function listed(texts: Texts, coming: readonly Coming[], timeZone: string) {
  const { reminders: text } = texts;
  if (coming.length === 0) return { list: [plain(text.none)], buttons: [] };
  const lines = coming.flatMap((each, at) => [plain(`\n${at + 1}. `), ...lineOf(texts, each, timeZone)]);
  const buttons = coming.map(({ reminder: { id } }, at): Button => {
    return { text: text.cancelButton(at + 1), command: `/reminders cancel ${id}`, destroys: true };
  });
  return { list: [plain(text.title(coming.length)), ...lines], buttons: inRows(buttons, BUTTONS_A_ROW) };
}

/** A reminder on one line: when it comes, whether again, and what it says. Pure. */
export function lineOf({ reminders: text }: Texts, coming: Coming, timeZone: string): Inline[] {
  const { repeat, timeZone: own } = coming.reminder;
  const again =
    repeat === undefined ? '' : 'cron' in repeat ? text.cron(repeat.cron, own) : text.every(repeat.everyMinutes);
  const { dueAtMs: atMs } = coming;
  return [
    { type: 'time', text: `${inMinutes(atMs, timeZone)} (${timeZone})`, atMs },
    plain(text.line(again, shown(coming))),
  ];
}

/** On one line, and not all of a long one. */
function shown({ reminder }: Coming): string {
  return clip(reminder.text.replace(/\s+/gu, ' '), TEXT_CHARS);
}
