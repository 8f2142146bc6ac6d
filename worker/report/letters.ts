import { counted } from '../../shared/base/text.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { countDropped } from '../../shared/state/lane/dead-letters.ts';
import {
  type Beside,
  type LetterFilter,
  type LetterPage,
  readLetterPage,
} from '../../shared/state/lane/letter-list.ts';
import { chatName, listSection, messageName, type Report, type ReportSource, shardsOf, type Text } from './report.ts';

/** A page of dead letters; `dropped`: how many older ones were removed because there were too many. */
export interface LettersShown extends LetterPage {
  dropped: number;
}

/** Reads a page of the letters that a filter means: the newest, or those beside a letter. */
export async function readLetters(
  source: ReportSource,
  filter: LetterFilter,
  page: { size: number; beside?: Beside },
): Promise<LettersShown> {
  const shards = shardsOf(source);
  const letters = await readLetterPage(source.redis, shards, filter, page);
  return { ...letters, dropped: await countDropped(source.redis, shards) };
}

/** The messages that failed and are kept. Pure. */
export function lettersReport({ letters, total, dropped, newerThan }: LettersShown, nowMs: number): Report {
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
  const more = newerThan === undefined ? total - letters.length : 0;
  return {
    title: counted(total, 'dead letter'),
    nowMs,
    sections: [listSection('Kept', { table, more: { count: more, noun: 'letter' } }), ...(dropped > 0 ? [lost] : [])],
  };
}
