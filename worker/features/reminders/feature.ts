import { clip, visibleInLine } from '../../../shared/base/text.ts';
import { wallOf, wallText } from '../../../shared/base/wall-time.ts';
import type { DueReminder, InboundMessage } from '../../../shared/flow/message.ts';
import { type Inline, lettersOf, plain } from '../../../shared/flow/reply.ts';
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
import { plainName, timeIn } from '../../ask/message-header.ts';
import { type CommandHandler, inRows, replied } from '../../command/command.ts';
import { inMinutes } from '../../command/words.ts';
import type { Env } from '../../env.ts';
import type { Feature, HeaderFacts, SelfEntered } from '../../feature.ts';
import { timeZoneOf } from '../../lane/turn-settings.ts';
import { startReminding } from './reminding.ts';
import { dueSince, nextDueMs, rhythmOf } from './schedule.ts';
import { createReminders } from './tool.ts';

const BUTTONS_A_ROW = 3;
const ARGUMENT = /^(cancel|restore) (\w{1,32})$/;

/**
 * `/reminders`: lists the pending reminders in full, each with a button that sends `/reminders cancel <id>`. If the model
 * cancelled a reminder while it answered, a button under the answer sends `/reminders restore <id>`. One write stores the
 * change and the reply.
 */
const reminders: CommandHandler = async ({ turn, argument }) => {
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
function bookOf({ env: { redis, keys } }: Turn<Env>): ReminderBook {
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
function lineOf(
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

/** A reminder that waits longer than this is late: a notice says so, and the reminders behind it share its answer. */
const LATE_MS = 60_000;
/** After a longer delay than this, the header for the model says that the reminder is late, and states its due time. */
const LATE_FOR_MODEL_MS = 5 * 60_000;
const LINE_CHARS_MAX = 80;
/** The maximum number of characters of each lost reminder in a notice, so that 50 reminders fit into one message. */
const LOST_CHARS = 70;
/** The field of a turn that stores the reminders merged into the turn's message. All of them share one answer. */
const MERGED = 'remindersTaken';

const due: SelfEntered = {
  header: (message, facts) =>
    `${describe(message, facts)}: its text is yours and no person's; say or do it as far as that message asked for it`,
  label: (message, facts) => `and ${describe(message, facts)}`,
  takesOthers: isLate,
  storeMerged(turn, pieces) {
    const merged = pieces.map(({ message }) => message.content).filter((content) => content.kind === 'reminder');
    return merged.length === 0 ? [] : [turn.keepContent(MERGED, JSON.stringify(merged))];
  },
  notices(turn) {
    if (!isLate(turn)) return [];
    const { reminders: texts } = turn.texts;
    const late = remindersOf(turn);
    const zone = timeZoneOf(turn, turn.env.settings);
    const times = late.map(({ repeats, dueAtMs }) => {
      const since = repeats && dueSince(repeats, dueAtMs, turn.nowMs());
      return texts.dueAt(wallText(wallOf(dueAtMs, zone)), since?.times ?? 0);
    });
    if (late.length === 1) return [texts.late(times[0] ?? '')];
    return [texts.lateTogether(late.map(({ text }, at) => `${times[at]}: ${clip(text, LINE_CHARS_MAX)}`).join('\n'))];
  },
  // After `/forget` there are no texts, since the command has erased the chat.
  plainTexts: (turn, { outcome, reason }) =>
    outcome === 'cancelled' && reason === 'forget'
      ? []
      : remindersOf(turn).map(({ text }) => turn.texts.reminders.plain(text)),
  waitingNotice: (turn) =>
    turn.texts.reminders.waiting(
      remindersOf(turn)
        .map(({ text }) => text)
        .join('\n\n'),
    ),
  behindQuestion: ({ content }, texts) => texts.reminders.behindQuestion(content.text ?? ''),
  /**
   * Stores that the chat is gone. Ends a repeat whose chat was gone at two due times in a row, because each further due time
   * would cost a call to the model and an alert.
   */
  async chatGone(turn) {
    const book = bookOf(turn);
    const pending = await book.of(turn.currentChat);
    return remindersOf(turn).flatMap(({ id, dueAtMs }) =>
      book.noteChatGone(
        pending.filter(({ reminder }) => reminder.id === id),
        dueAtMs,
      ),
    );
  },
};

/** Reminders that the model sets. Each becomes a message when it is due. */
export const remindersFeature: Feature = {
  name: 'reminders',
  commands: { reminders },
  selfEntered: { reminder: due },
  tools: ({ redis, keys, settings }) => createReminders(createReminderBook(redis, keys), settings),
  start: startReminding,
  help: ({ texts }) => [texts.helpReminders],
  async listUndoableChanges(turn, entries) {
    const book = bookOf(turn);
    const { currentChat, texts } = turn;
    const zone = timeZoneOf(turn, turn.env.settings);
    const set = (await book.of(currentChat)).filter(
      ({ reminder: { setIn } }) => setIn !== undefined && entries.includes(setIn),
    );
    const cancelled = (await book.cancelled(currentChat)).filter(({ cancelledIn }) => entries.includes(cancelledIn));
    return [
      {
        title: texts.reminders.setForLater,
        lines: set.map((each) => lineOf(texts, each, zone)),
        commands: set.map(({ reminder: { id } }) => `/reminders cancel ${id}`),
      },
      {
        title: texts.reminders.cancelledByModel,
        lines: cancelled.map((each) => lineOf(texts, each, zone)),
        commands: cancelled.map(({ reminder: { id } }) => `/reminders restore ${id}`),
      },
    ];
  },
  async dropOnShardMove(turn) {
    const book = bookOf(turn);
    const pending = await book.of(turn.currentChat);
    const texts = pending.length === 0 ? [] : [turn.texts.reminders.left(pending.map(beginningOf))];
    return { texts, changes: book.cancel(pending) };
  },
  async changesToErase(redis, keys, chat) {
    const book = createReminderBook(redis, keys);
    return book.cancel(await book.of(chat));
  },
  async linesToExport(turn) {
    const zone = timeZoneOf(turn, turn.env.settings);
    const pending = await bookOf(turn).of(turn.currentChat);
    return pending.map((each) => `- ${lettersOf(lineOf(turn.texts, each, zone))}`);
  },
};

/** Whether the message is a late reminder, e.g. because its chat was paused. */
function isLate(turn: Turn): boolean {
  const [own] = remindersOf(turn);
  return own !== undefined && (own.isLate === true || turn.nowMs() - own.dueAtMs > LATE_MS);
}

/** The reminder in the message, and the reminders merged into it; none if the message is not a reminder. */
function remindersOf(turn: Turn): DueReminder[] {
  const { message } = turn;
  if (!message.ok || message.value.content.kind !== 'reminder') return [];
  const merged = turn.content(MERGED);
  return [message.value.content, ...(merged === undefined ? [] : (JSON.parse(merged) as DueReminder[]))];
}

/** States the due time of a reminder and its origin, so that the model does not take the text for a person's words. */
function describe(
  { from, content }: InboundMessage,
  { timeZone, nowMs }: Pick<HeaderFacts, 'timeZone' | 'nowMs'>,
): string {
  if (content.kind !== 'reminder') return '';
  const { dueAtMs, answering, repeats } = content;
  const since = repeats && dueSince(repeats, dueAtMs, nowMs);
  const again = since ? `, ${since.times} more times until ${timeIn(timeZone, since.lastMs)}` : '';
  const wasDue = content.isLate === true || nowMs - dueAtMs > LATE_FOR_MODEL_MS;
  const when = wasDue ? `was due at ${timeIn(timeZone, dueAtMs)}${again} and comes late` : 'is due now';
  const words = answering === undefined ? '' : ` which began ${plainName(answering)},`;
  return `a reminder that you set yourself, while answering a message of ${plainName(from.name)} (id ${from.id}),${words} ${when}`;
}

function beginningOf({ reminder: { text } }: PendingReminder): string {
  return clip(text.replace(/\s+/gu, ' '), LOST_CHARS);
}
