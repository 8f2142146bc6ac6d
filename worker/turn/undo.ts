import { clip } from '../../shared/base/text.ts';
import type { EntryId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import type { MemoryChange } from '../../shared/state/memory/book.ts';
import { turnOf } from '../../shared/state/turn/turn.ts';
import type { Texts } from '../../shared/texts/texts.ts';
import { lineText } from '../command/memory.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { Ending } from '../lane/verdict.ts';
import { type Inline, lettersOf, paragraph, plain } from '../reply/format/tree.ts';
import { MESSAGE_CHARS_MAX } from '../reply/split.ts';
import type { TurnPorts } from './ports.ts';
import { setForLater, type Undoable } from './reminder.ts';

/** Stands for the lines in the words around them. */
const LINES = '\0';
/** More are only counted; `/memory` lists all. */
const NAMED_MAX = 20;
/** All lines of a message together. */
const NAMED_CHARS_MAX = 3_400;

/**
 * A conclusion that also names what the model has set for later, and what it changed in its memory, while it worked on the
 * message: each with a button that undoes it. Contract: rejects when Redis cannot be reached.
 */
export async function withUndo(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  { calledNothing }: Pick<Ending, 'calledNothing'>,
): Promise<Conclusion> {
  const isIdle = calledNothing && attempt.turn.company.answersWith.length === 0;
  if (isIdle || conclusion.outcome === 'command' || conclusion.outcome === 'merged') return conclusion;
  // Then all of it is erased.
  if (conclusion.reason === 'forget') return conclusion;
  const entries = entriesOf(attempt);
  const done = [await setForLater(ports, attempt, entries), await changedMemory(ports, attempt, entries)];
  const parts: Inline[][] = [];
  let place = 0;
  for (const { lines, said } of done) {
    if (lines.length === 0) continue;
    const [before = '', after = ''] = said(LINES).split(LINES);
    const numbered = lines.flatMap((line, at) => [plain(`${at === 0 ? '' : '\n'}${place + at + 1}. `), ...line]);
    parts.push([plain(before), ...numbered, plain(after)]);
    place += lines.length;
  }
  if (place === 0) return conclusion;
  const undo = done
    .flatMap(({ commands }) => commands)
    .map((command, at) => [{ text: attempt.texts.reminders.undoButton(at + 1), command }]);
  const whole = parts.flatMap((part, at) => (at === 0 ? part : [plain('\n\n'), ...part]));
  const told = lettersOf(whole).length <= MESSAGE_CHARS_MAX ? [whole] : parts;
  return { ...told.reduce(withPart, conclusion), buttons: [...(conclusion.buttons ?? []), ...undo] };
}

async function changedMemory(
  { ask: { memoryBook } }: TurnPorts,
  attempt: Attempt,
  entries: readonly EntryId[],
): Promise<Undoable> {
  const made = (await memoryBook.changes(attempt.home)).filter(({ madeIn }) => entries.includes(madeIn));
  const named = made.slice(0, NAMED_MAX);
  const charsMax = Math.floor(NAMED_CHARS_MAX / named.length);
  return {
    lines: named.map((change) => [plain(clip(changeText(attempt.texts, change), charsMax))]),
    commands: named.map(({ id }) => `/memory undo ${id}`),
    said: (lines) => attempt.texts.memory.changed(lines, made.length - named.length),
  };
}

function changeText(texts: Texts, { before, after }: MemoryChange): string {
  const { memory: text } = texts;
  if (after === undefined) return text.deleted(before?.text ?? '');
  const now = lineText(texts, after);
  return before === undefined ? text.remembered(now) : text.replaced(now, before.text);
}

/** The commands by which the message that this one is answered together with names what was done for this one as well. */
export function handingOn(attempt: Attempt, into: EntryId): Change[] {
  if (attempt.rounds === 0 && attempt.turn.company.answersWith.length === 0) return [];
  return [turnOf(attempt.keys, into).company.answerWith(entriesOf(attempt))];
}

/** The message, and those that are answered together with it. */
function entriesOf(attempt: Attempt): EntryId[] {
  return [attempt.entry, ...attempt.turn.company.answersWith];
}

/** A text more, behind all that is no file: buttons stand under it. Beside plain texts it is plain. */
function withPart({ parts, layout, ...conclusion }: Conclusion, text: readonly Inline[]): Conclusion {
  const at = 1 + parts.findLastIndex((_, index) => layout?.[index]?.path !== 'file');
  const laid = layout && { layout: layout.toSpliced(at, 0, { path: 'entities', blocks: [paragraph(...text)] }) };
  return { ...conclusion, parts: parts.toSpliced(at, 0, lettersOf(text)), ...laid };
}
