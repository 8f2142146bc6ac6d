import type { Change } from '../../../shared/state/change.ts';
import {
  createMemoryBook,
  type Memory,
  type MemoryBook,
  type MemoryChange,
  type MemoryLine,
} from '../../../shared/state/memory/book.ts';
import { sessionMemory } from '../../../shared/state/session/session.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { CONFIRMED } from '../../../shared/telegram/commands.ts';
import type { Button } from '../../../shared/telegram/messages.ts';
import type { Texts } from '../../../shared/texts/language.ts';
import { type CommandHandler, inRows, replied } from '../../command/command.ts';
import type { Env } from '../../env.ts';
import type { Ending } from '../../lane/verdict.ts';
import { CHARS_MAX, charsOf, hasRoomFor, LINES_MAX } from './memory.ts';

const BUTTONS_A_ROW = 5;
/** Telegram shows a hundred, and one of them deletes all. */
const BUTTONS_MAX = 99;
const WORDS = /^(forget|undo) (\w{1,32})$/;
const ALL = 'forget all';

/**
 * `/memory`: what is remembered about the chat, each line with a button that deletes it. The buttons send
 * `/memory forget <id>`, `/memory forget all`, and under an answer that changed it `/memory undo <id>`. A change is
 * stored in one step with the reply that says so, and the next request shows it.
 */
export const memory: CommandHandler = async ({ turn, argument }) => {
  const book = bookOf(turn);
  const { texts, currentChat: chat } = turn;
  const now = await book.of(chat);
  if (argument === '') return shown(texts, now.lines);
  if (argument === ALL)
    return replied('memory', texts.memory.asks(now.lines.length), {
      buttons: [[{ text: texts.memory.deleteAllButton, command: `/memory ${ALL} ${CONFIRMED}`, destroys: true }]],
    });
  if (argument === `${ALL} ${CONFIRMED}`)
    return replied('memory', texts.memory.deletedAll, {
      changes: [...(await book.changesToErase(chat)), shownAnew(turn)],
    });
  const [, verb, id] = WORDS.exec(argument) ?? [];
  if (verb === undefined) return replied('memory', texts.memory.usage);
  const made = await book.changes(chat);
  const {
    said,
    changes,
    lines = now.lines,
  } = verb === 'forget' ? deletion(book, turn, { now, made, id }) : undoing(book, turn, { now, made, id });
  return shown(texts, lines, { before: `${said}\n\n`, changes });
};

/** The memories of the chats of a turn's shard. */
export function bookOf({ env: { redis, keys } }: Turn<Env>): MemoryBook {
  return createMemoryBook(redis, keys);
}

interface About {
  now: Memory;
  made: readonly MemoryChange[];
  id: string | undefined;
}

/** The reply to a command, its changes, and the lines after it. */
type Done = { said: string; changes: Change[]; lines?: readonly MemoryLine[] };

function deletion(book: MemoryBook, turn: Turn, { now, made, id }: About): Done {
  const { memory: text } = turn.texts;
  const line = now.lines.find((each) => each.id === id);
  if (line === undefined) return { said: text.unknown, changes: [] };
  return {
    said: text.deleted(line.text),
    changes: [...book.delete(now, line, made), ...(isCarried(turn, line.id) ? [shownAnew(turn)] : [])],
    lines: now.lines.filter((each) => each !== line),
  };
}

/** Takes a change back, where the line is still as the change left it. */
function undoing(book: MemoryBook, turn: Turn, { now, made, id }: About): Done {
  const { memory: text } = turn.texts;
  const change = made.find((each) => each.id === id);
  const { before, after } = change ?? {};
  const at = now.lines.findIndex((each) => each.id === (after ?? before)?.id);
  if (change === undefined || now.lines[at]?.text !== after?.text) return { said: text.tooLate, changes: [] };
  const others = now.lines.filter((_, index) => index !== at);
  if (before !== undefined && !hasRoomFor(others, before.text)) return { said: text.full, changes: [] };
  const isToShow = after === undefined || isCarried(turn, after.id);
  return {
    said: before === undefined ? text.deleted(after?.text ?? '') : text.restored(before.text),
    changes: [...book.undo(now, change), ...(isToShow ? [shownAnew(turn)] : [])],
    lines: before === undefined ? others : [...others, before].sort((one, other) => one.notedAtMs - other.notedAtMs),
  };
}

/** Whether the requests of the session show a line. */
function isCarried({ memory: carried = '' }: Turn, id: string): boolean {
  return carried.includes(`${id}:`);
}

/** Leaves a deleted line out of all later requests, although that costs the cached prefix once. */
function shownAnew({ keys, session }: Turn): Change {
  return sessionMemory(keys, session).renew();
}

function shown(texts: Texts, lines: readonly MemoryLine[], { before = '', changes = [] as Change[] } = {}): Ending {
  const { memory: text } = texts;
  if (lines.length === 0) return replied('memory', `${before}${text.none}`, { changes });
  const fill = Math.max(lines.length / LINES_MAX, charsOf(lines) / CHARS_MAX);
  const numbered = lines.map((line, at) => `${at + 1}. ${lineText(texts, line)}`);
  const buttons = lines.slice(0, BUTTONS_MAX).map(({ id }, at): Button => {
    return { text: text.deleteButton(at + 1), command: `/memory forget ${id}`, destroys: true };
  });
  const all: Button = { text: text.deleteAllButton, command: `/memory ${ALL}`, destroys: true };
  const list = [text.title(lines.length, Math.round(fill * 100)), ...numbered].join('\n');
  return replied('memory', `${before}${list}`, { buttons: [...inRows(buttons, BUTTONS_A_ROW), [all]], changes });
}

/** A line as people see it, with where it is from. Pure. */
export function lineText({ memory: { from } }: Texts, { text, source }: Pick<MemoryLine, 'text' | 'source'>): string {
  return source === undefined ? text : `${text} ${from[source]}`;
}
