import { type Inline, type Part, paragraph, plain } from '../../shared/flow/reply.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import type { MemoryChange } from '../../shared/state/memory/book.ts';
import type { Conclusion } from '../../shared/state/turn/record.ts';
import { turnOf } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { lineText } from '../command/memory.ts';
import type { Env } from '../env.ts';
import type { Ending } from '../lane/verdict.ts';
import { entityParts, textOf } from '../reply/format/layout.ts';
import { changedReminders, type Undoable } from './reminder.ts';

/**
 * A conclusion that also shows, in full, the reminders that the model set or cancelled and the lines that it changed in its
 * memory while it worked on the message: each with a button that undoes it. Contract: rejects when Redis cannot be reached.
 */
export async function withUndo(
  turn: Turn<Env>,
  conclusion: Conclusion,
  { calledNothing }: Pick<Ending, 'calledNothing'>,
): Promise<Conclusion> {
  const isIdle = calledNothing && turn.company.answersWith.length === 0;
  if (isIdle || conclusion.outcome === 'command' || conclusion.outcome === 'merged') return conclusion;
  // Then all of it is erased.
  if (conclusion.reason === 'forget') return conclusion;
  const entries = entriesOf(turn);
  const done = [...(await changedReminders(turn, entries)), await changedMemory(turn, entries)].filter(
    ({ lines }) => lines.length > 0,
  );
  if (done.length === 0) return conclusion;
  const shown: Inline[] = [];
  let place = 0;
  for (const { lines, title } of done) {
    shown.push(plain(`${shown.length === 0 ? '' : '\n\n'}${title}`));
    for (const line of lines) shown.push(plain(`\n${++place}. `), ...line);
  }
  const undo = done
    .flatMap(({ commands }) => commands)
    .map((command, at) => [{ text: turn.texts.reminders.undoButton(at + 1), command }]);
  const parts = entityParts([paragraph(...shown)]);
  return { ...withParts(conclusion, parts), buttons: [...(conclusion.buttons ?? []), ...undo] };
}

async function changedMemory(turn: Turn<Env>, entries: readonly EntryId[]): Promise<Undoable> {
  const { memoryBook } = turn.env;
  const made = (await memoryBook.changes(turn.home)).filter(({ madeIn }) => entries.includes(madeIn));
  return {
    title: turn.texts.memory.changed,
    lines: made.map((change) => [plain(changeText(turn.texts, change))]),
    commands: made.map(({ id }) => `/memory undo ${id}`),
  };
}

function changeText(texts: Texts, { before, after }: MemoryChange): string {
  const { memory: text } = texts;
  if (after === undefined) return text.deleted(before?.text ?? '');
  const now = lineText(texts, after);
  return before === undefined ? text.remembered(now) : text.replaced(now, before.text);
}

/** The commands by which the message that this one is answered together with names what was done for this one as well. */
export function handingOn(turn: Turn, into: EntryId): Change[] {
  if (turn.rounds === 0 && turn.company.answersWith.length === 0) return [];
  return [turnOf(turn.keys, into).company.answerWith(entriesOf(turn))];
}

/** The message, and those that are answered together with it. */
function entriesOf(turn: Turn): EntryId[] {
  return [turn.entry, ...turn.company.answersWith];
}

/** Inserts parts behind the last part that is not a file, where the buttons stand. Without a layout they are plain text. */
function withParts({ parts, layout, ...conclusion }: Conclusion, further: readonly Part[]): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const laid = layout && { layout: layout.toSpliced(at, 0, ...further) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, ...further.map(textOf)), ...laid };
}
