import { counted } from '../../shared/base/text.ts';
import { compareStreamIds, msOf } from '../../shared/redis/stream.ts';
import { allLetters, countDropped, type DeadLetter, type LetterFilter } from '../../shared/state/lane/dead-letters.ts';
import { chatName, listSection, messageName, type Report, type ReportSource, shardsOf, type Text } from './report.ts';

/** The newest of `total` dead letters; `dropped`: how many older ones were removed because there were too many. */
export interface LettersShown {
  letters: readonly DeadLetter[];
  total: number;
  dropped: number;
}

/** Reads the letters that a filter means; at most `limit` of them are shown, the newest first. */
export async function readLetters(source: ReportSource, filter: LetterFilter, limit: number): Promise<LettersShown> {
  const all = await allLetters(source.redis, shardsOf(source), filter);
  const letters = all.toSorted((one, other) => compareStreamIds(other.id, one.id)).slice(0, limit);
  return { letters, total: all.length, dropped: await countDropped(source.redis, shardsOf(source)) };
}

/** The messages that failed and are kept. Pure. */
export function lettersReport({ letters, total, dropped }: LettersShown, nowMs: number): Report {
  const rows = letters.map(({ id, name, entry, record }): Text[] => [
    { letter: name },
    messageName(entry),
    chatName(record.chat ?? 'none'),
    record.reason ?? 'no reason',
    { atMs: msOf(id) },
    record.traceId || 'none',
  ]);
  const table = { columns: ['Letter', 'Message', 'Chat', 'Reason', 'Failed', 'Trace'], rows };
  const lost = { intro: `Removed because there were too many (DEAD_LETTERS_MAX): ${counted(dropped, 'older one')}.` };
  return {
    title: counted(total, 'dead letter'),
    nowMs,
    sections: [
      listSection('Kept', { table, more: { count: total - letters.length, noun: 'letter' } }),
      ...(dropped > 0 ? [lost] : []),
    ],
  };
}
