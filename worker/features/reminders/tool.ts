import { wallOf, wallText } from '../../../shared/base/wall-time.ts';
import { FencedError } from '../../../shared/state/change.ts';
import {
  dueAtOfEarlierCall,
  type PendingReminder,
  REMINDERS_MAX,
  type ReminderBook,
  SET_AT_ONCE_MAX,
} from '../../../shared/state/reminder/book.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { type TurnSettings, timeZoneOf } from '../../lane/turn-settings.ts';
import { type Toolbox, type ToolOutput, type ToolSpec, toolError, toolText } from '../../tools/toolbox.ts';
import { originOf } from './reminder.ts';
import { readReminderInput } from './reminder-input.ts';

type Book = Pick<ReminderBook, 'set' | 'of' | 'cancelled' | 'cancelWithUndo'>;
type Zone = Pick<TurnSettings, 'TZ'>;

const NAME = 'reminders';
const specOf = (minutesMin: number): ToolSpec => ({
  name: NAME,
  description: `Sets, lists and cancels reminders of this chat. When one is due you get its text back and your answer reaches the chat, so it can also be a task, such as a morning summary. Once: "at" or "in". Again and again: "cron", or "every" with its beginning in "at" or "in". Times are local times of the chat, as in the line before each message. At least ${minutesMin} minutes between repeats, two years ahead at most. People see under your answer what you have set or cancelled, and can undo it.`,
  inputSchema: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: ['set', 'list', 'cancel'] },
      text: {
        type: 'string',
        description: 'set: what to say or do then, complete in itself, at most 1000 characters.',
      },
      at: { type: 'string', description: 'set: a local time, such as "2026-11-23T09:00".' },
      in: { type: 'integer', minimum: 1, description: 'set: minutes from now.' },
      cron: { type: 'string', description: 'set: five fields in local time, such as "0 9 * * 1-5".' },
      every: { type: 'integer', minimum: minutesMin, description: 'set: minutes between repeats.' },
      id: { type: 'string', description: 'cancel: the id of the reminder.' },
    },
    required: ['action'],
    additionalProperties: false,
  },
  repeatable: true,
});

/** The built-in tool `reminders`. A call that runs again after a crash has no second effect. */
export function createReminders(book: Book, settings: Zone & Pick<TurnSettings, 'REMINDER_MINUTES_MIN'>): Toolbox {
  const specs = [specOf(settings.REMINDER_MINUTES_MIN)];
  return {
    specs: () => specs,
    async call({ id, name, input, turn }) {
      if (name !== NAME) return toolError(`There is no tool ${name} here.`);
      if (input.action === 'list') return list(book, settings, turn);
      if (input.action !== 'set' && input.action !== 'cancel')
        return toolError('"action" must be set, list or cancel.');
      return input.action === 'set' ? set(book, settings, turn, id, input) : cancel(book, turn, id, input);
    },
  };
}

async function set(
  book: Book,
  settings: Zone & Pick<TurnSettings, 'REMINDER_MINUTES_MIN'>,
  turn: Turn,
  call: string,
  input: Input,
): Promise<ToolOutput> {
  if (!turn.message.ok) return toolError('The message that asks for it cannot be read.');
  const message = turn.message.value;
  const timeZone = timeZoneOf(turn, settings);
  const earlierMs = dueAtOfEarlierCall(turn, call);
  if (earlierMs !== undefined) return toolText(`Set for ${wallText(wallOf(earlierMs, timeZone))} ${timeZone}.`);
  // A due reminder that sets another one acts as a repeat, so the shortest interval between repeats applies here, too.
  const repeatMinutesMin = settings.REMINDER_MINUTES_MIN;
  const leastMinutes = message.content.kind === 'reminder' ? repeatMinutesMin : 1;
  const reading = readReminderInput(input, { nowMs: turn.nowMs(), timeZone, leastMinutes, repeatMinutesMin });
  if (!reading.ok) return toolError(reading.problem);
  const { text, schedule, dueAtMs } = reading;
  const result = await book.set(turn, call, { ...schedule, text, ...originOf(turn.entry, message) }, dueAtMs);
  if (result.kind === 'fenced') throw new FencedError();
  if (result.kind === 'too many')
    return toolError(
      `At most ${SET_AT_ONCE_MAX} reminders are set for one message: people could not look through more.`,
    );
  if (result.kind === 'full') return toolError(`This chat has ${REMINDERS_MAX} reminders already. Cancel one first.`);
  return toolText(`Set: ${line({ ...result, reminder: { ...schedule, id: result.id, text } }, timeZone)}`);
}

async function list(book: Book, settings: Zone, turn: Turn): Promise<ToolOutput> {
  const pending = await book.of(turn.currentChat);
  const timeZone = timeZoneOf(turn, settings);
  return toolText(pending.map((each) => line(each, timeZone)).join('\n') || 'There are no reminders in this chat.');
}

/**
 * Cancels a reminder; an error if there is none with this id. A call that runs again after a crash finds no reminder, and
 * reports success again because the turn has its step.
 */
async function cancel(book: Book, turn: Turn, call: string, { id }: Input): Promise<ToolOutput> {
  const found = (await book.of(turn.currentChat)).filter(({ reminder }) => reminder.id === id);
  const isDone = turn.hasDone(`reminder:${call}`);
  if (found.length === 0 && !isDone) return toolError('There is no such reminder. "list" names those that there are.');
  const earlier = await book.cancelled(turn.currentChat);
  const by = { cancelledIn: turn.entry, cancelledAtMs: turn.nowMs() };
  await turn.write(`reminder:${call}`, book.cancelWithUndo(found, by, earlier));
  return toolText(`Cancelled: ${id}.`);
}

type Input = Readonly<Record<string, unknown>>;
type ListedReminder = Pick<PendingReminder, 'dueAtMs'> & {
  reminder: Pick<PendingReminder['reminder'], 'id' | 'text' | 'repeat' | 'timeZone'>;
};

function line({ reminder: { id, text, repeat, timeZone: own }, dueAtMs }: ListedReminder, timeZone: string): string {
  const again =
    repeat === undefined
      ? ''
      : `, then ${'cron' in repeat ? `by cron ${repeat.cron} in ${own}` : `every ${repeat.everyMinutes} minutes`}`;
  return `${id}: ${wallText(wallOf(dueAtMs, timeZone))} ${timeZone}${again}: ${text}`;
}
