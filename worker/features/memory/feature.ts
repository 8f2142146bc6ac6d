import { plain } from '../../../shared/flow/reply.ts';
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
import type { Feature } from '../../feature.ts';
import type { Ending } from '../../lane/verdict.ts';
import { splitReply } from '../../reply/format/layout.ts';
import { CHARS_MAX, charsOf, FRAME, hasRoomFor, LINES_MAX, snapshotOf } from './memory.ts';
import { createMemory } from './tool.ts';

const BUTTONS_A_ROW = 5;
/** Telegram shows at most 100 buttons under a message, and one of them deletes all lines. */
const BUTTONS_MAX = 99;
const LINE_COMMAND = /^(forget|undo) (\w{1,32})$/;
const ALL = 'forget all';

/**
 * `/memory`: shows the notes about the chat, with buttons that delete single lines. The buttons send `/memory forget <id>`,
 * `/memory forget all`, and, under an answer during which the model changed a line, `/memory undo <id>`. One write stores a
 * change and the reply that confirms the change.
 */
const memory: CommandHandler = async ({ turn, argument }) => {
  const book = bookOf(turn);
  const { texts, currentChat: chat } = turn;
  const now = await book.of(chat);
  if (argument === '') return listLines(texts, now.lines);
  if (argument === ALL)
    return replied('memory', texts.memory.asks(now.lines.length), {
      buttons: [[{ text: texts.memory.deleteAllButton, command: `/memory ${ALL} ${CONFIRMED}`, destroys: true }]],
    });
  if (argument === `${ALL} ${CONFIRMED}`)
    return replied('memory', texts.memory.deletedAll, {
      changes: [...(await book.changesToErase(chat)), reshowMemory(turn)],
    });
  const [, verb, id] = LINE_COMMAND.exec(argument) ?? [];
  if (verb === undefined) return replied('memory', texts.memory.usage);
  const target = { now, undoable: await book.changes(chat), id };
  const result = verb === 'forget' ? deleteLine(book, turn, target) : undoChange(book, turn, target);
  const { confirmation, changes, lines = now.lines } = result;
  return listLines(texts, lines, { before: `${confirmation}\n\n`, changes });
};

/** The memories of all chats in the shard of a turn. */
function bookOf({ env: { redis, keys } }: Turn<Env>): MemoryBook {
  return createMemoryBook(redis, keys);
}

/** The id in a command, and the memory and the undoable changes in which to find this id. */
interface Target {
  now: Memory;
  undoable: readonly MemoryChange[];
  id: string | undefined;
}

/** The confirmation of a command, the changes to store, and the lines after the changes; absent if the lines stay the same. */
type Result = { confirmation: string; changes: Change[]; lines?: readonly MemoryLine[] };

function deleteLine(book: MemoryBook, turn: Turn, { now, undoable, id }: Target): Result {
  const { memory: text } = turn.texts;
  const line = now.lines.find((each) => each.id === id);
  if (line === undefined) return { confirmation: text.unknown, changes: [] };
  return {
    confirmation: text.deleted(line.text),
    changes: [...book.delete(now, line, undoable), ...(isInRequests(turn, line.id) ? [reshowMemory(turn)] : [])],
    lines: now.lines.filter((each) => each !== line),
  };
}

/** Undoes a change, unless it is unknown, its line has changed again, or the memory has no room for the former line. */
function undoChange(book: MemoryBook, turn: Turn, { now, undoable, id }: Target): Result {
  const { memory: text } = turn.texts;
  const change = undoable.find((each) => each.id === id);
  const { before, after } = change ?? {};
  const at = now.lines.findIndex((each) => each.id === (after ?? before)?.id);
  if (change === undefined || now.lines[at]?.text !== after?.text) return { confirmation: text.tooLate, changes: [] };
  const others = now.lines.filter((_, index) => index !== at);
  if (before !== undefined && !hasRoomFor(others, before.text)) return { confirmation: text.full, changes: [] };
  const isToShow = after === undefined || isInRequests(turn, after.id);
  return {
    confirmation: before === undefined ? text.deleted(after?.text ?? '') : text.restored(before.text),
    changes: [...book.undo(now, change), ...(isToShow ? [reshowMemory(turn)] : [])],
    lines: before === undefined ? others : [...others, before].sort((one, other) => one.notedAtMs - other.notedAtMs),
  };
}

/** Whether the session's copy of the memory, which its requests contain, has the line with this id. */
function isInRequests({ memory: snapshot = '' }: Turn, id: string): boolean {
  return snapshot.includes(`${id}:`);
}

/** Makes the next attempt copy the memory into the session again, which costs one miss of the prompt cache. */
function reshowMemory({ keys, session }: Turn): Change {
  return sessionMemory(keys, session).renew();
}

function listLines(texts: Texts, lines: readonly MemoryLine[], { before = '', changes = [] as Change[] } = {}): Ending {
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

/** A line with its source, for people. Pure. */
function lineText({ memory: { from } }: Texts, { text, source }: Pick<MemoryLine, 'text' | 'source'>): string {
  return source === undefined ? text : `${text} ${from[source]}`;
}

/** The model's notes about a chat, which the people of the chat can see, undo and delete. */
export const memoryFeature: Feature = {
  name: 'memory',
  commands: { memory },
  tools: ({ redis, keys }) => createMemory(createMemoryBook(redis, keys)),
  fixedText: {
    frame: FRAME,
    isShown: ({ isOfGuest }) => !isOfGuest,
    async of(turn, windowTokens) {
      const book = bookOf(turn);
      const now = await book.of(turn.currentChat);
      return { text: snapshotOf(now, windowTokens), unchanged: book.expectUnchanged(now) };
    },
  },
  async listUndoableChanges(turn, entries) {
    const undoable = (await bookOf(turn).changes(turn.currentChat)).filter(({ madeIn }) => entries.includes(madeIn));
    const lines = undoable.map((change) => [plain(changeText(turn.texts, change))]);
    return [{ title: turn.texts.memory.changed, lines, commands: undoable.map(({ id }) => `/memory undo ${id}`) }];
  },
  async dropOnShardMove(turn) {
    const book = bookOf(turn);
    const { lines } = await book.of(turn.currentChat);
    const list = lines.map((line) => lineText(turn.texts, line)).join('\n');
    return {
      texts: lines.length === 0 ? [] : splitReply(turn.texts.memory.left(list)),
      changes: await book.changesToErase(turn.currentChat),
    };
  },
  changesToErase: (redis, keys, chat) => createMemoryBook(redis, keys).changesToErase(chat),
  async linesToExport(turn) {
    const { lines } = await bookOf(turn).of(turn.currentChat);
    if (lines.length === 0) return [];
    return [`${turn.texts.memory.exported}\n`, ...lines.map((line) => `- ${lineText(turn.texts, line)}`), ''];
  },
};

function changeText(texts: Texts, { before, after }: MemoryChange): string {
  const { memory: text } = texts;
  if (after === undefined) return text.deleted(before?.text ?? '');
  const now = lineText(texts, after);
  return before === undefined ? text.remembered(now) : text.replaced(now, before.text);
}
