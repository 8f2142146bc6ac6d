import { counted } from '../../shared/base/text.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { countDropped } from '../../shared/state/lane/dead-letters.ts';
import { type LetterFilter, type NewestLetters, readNewestLetters } from '../../shared/state/lane/letter-list.ts';
import { chatName, listSection, messageName, type Report, type ReportSource, shardsOf, type Text } from './report.ts';

/** The newest dead letters; `dropped`: how many older ones were removed because there were too many. */
export interface LettersShown extends NewestLetters {
  dropped: number;
}

/** Reads the newest letters that a filter means. */
export async function readLetters(source: ReportSource, filter: LetterFilter, size: number): Promise<LettersShown> {
  const shards = shardsOf(source);
  const letters = await readNewestLetters(source.redis, shards, filter, size);
  return { ...letters, dropped: await countDropped(source.redis, shards) };
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
