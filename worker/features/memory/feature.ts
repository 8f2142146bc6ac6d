import { plain } from '../../../shared/flow/reply.ts';
import { createMemoryBook, type MemoryChange } from '../../../shared/state/memory/book.ts';
import type { Texts } from '../../../shared/texts/language.ts';
import type { Feature } from '../../feature.ts';
import { splitReply } from '../../reply/format/layout.ts';
import { bookOf, lineText, memory } from './command.ts';
import { FRAME, snapshotOf } from './memory.ts';
import { createMemory } from './tool.ts';

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
