import { clip, redact } from '../../shared/base/text.ts';
import { labelOf } from '../media/label.ts';
import { type Block, nameInBrackets } from '../model/block.ts';
import { withScrubs } from '../session/overlay.ts';
import { type LogRecord, textOf } from '../session/record.ts';
import type { Window } from '../session/view.ts';

/** The newest are named; older ones are found by a search. */
const NAMED_MAX = 20;
/** Of what was said with it. */
const WORDS_CHARS = 60;

/**
 * The pictures and PDFs that leave a window with its oldest records, and those that left it before, newest last: each in
 * a line with its reference, by which the model sees it again. One that was refused is not named. Pure.
 */
export function earlierFiles({ head, records }: Window, keptFrom: number): string[] {
  const before = head?.t === 'compaction' ? (head.files ?? []) : [];
  const shown = withScrubs(records);
  const leaving = records.slice(0, keptFrom).flatMap((record, at) => filesOf(record, shown[at]));
  return [...new Set([...before, ...leaving])].slice(-NAMED_MAX);
}

function filesOf(record: LogRecord, shown: LogRecord | undefined): string[] {
  if (record.t !== 'user' || typeof record.content === 'string') return [];
  const stands = JSON.stringify(shown);
  const words = clip(nameInBrackets(redact(textOf(record.content))), WORDS_CHARS);
  const caption = words === '' ? '' : `, with "${words}"`;
  return record.content.flatMap(inside).flatMap((block) => {
    const { type, sha256 } = (block?.source ?? {}) as Partial<Record<string, unknown>>;
    if (type !== 'kept' || !stands.includes(String(sha256))) return [];
    return [`${labelOf(block)}, of ${record.at.slice(0, 10)}${caption}: {"ref":"${sha256}"}`];
  });
}

function inside(block: Block): Block[] {
  return block.type === 'tool_result' && Array.isArray(block.content) ? block.content : [block];
}
