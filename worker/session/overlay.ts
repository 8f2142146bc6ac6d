import { clip } from '../../shared/base/text.ts';
import { labelWithRef } from '../media/label.ts';
import type { Block } from '../model/block.ts';
import { isThinking } from '../model/rules/blocks.ts';
import type { Part } from '../recovery/parts.ts';
import {
  type AssistantRecord,
  type LogRecord,
  newStamp,
  resultText,
  type ScrubRecord,
  startsTurn,
  type TrimRecord,
  type UserRecord,
} from './record.ts';

const INPUT_CHARS = 200;
const FIRST_LINE_CHARS = 120;
/** Stands where thinking was, so that every block keeps its index; the view leaves blank text out. */
const NOTHING: Block = { type: 'text', text: '' };

/** The record that trims everything up to the newest record. */
export function trimOf(what: TrimRecord['what'], records: readonly LogRecord[]): TrimRecord {
  return { v: 1, t: 'trim', ...newStamp(), what, through: records.findLast(({ id }) => id !== '')?.id ?? '' };
}

/** The record that shows a part shortened, under the message's own id; answers and results have ids of their own. */
export function scrubOf({ record, block, replacement }: Part): ScrubRecord {
  const isMessage = record.t === 'user' && record.entry !== undefined;
  const target = isMessage ? { entry: record.entry } : { record: record.id };
  return { v: 1, t: 'scrub', ...newStamp(), ...target, ...(block !== undefined && { block }), text: replacement };
}

/** The records as a request shows them: scrubbed and trimmed. Pure; records and blocks keep their places. */
export function asShown(records: readonly LogRecord[]): readonly LogRecord[] {
  return withTrims(withScrubs(records));
}

/** The records with the words that stand for what was scrubbed; of two scrubs of one place the newer one counts. */
export function withScrubs(records: readonly LogRecord[]): readonly LogRecord[] {
  const scrubs = records.filter((record): record is ScrubRecord => record.t === 'scrub');
  if (scrubs.length === 0) return records;
  let isTurnGone = false;
  return records.map((record) => {
    if (record.t !== 'user' && record.t !== 'assistant') return record;
    const own = scrubs.filter((scrub) => isMeant(scrub, record));
    if (startsTurn(record)) isTurnGone = own.some(({ turn }) => turn === true);
    else if (isTurnGone) return { ...record, content: [] };
    return own.reduce(scrubbed, record);
  });
}

/** A message is known by its entry; what has none, and an answer, by its record. */
function isMeant({ entry, record: id }: ScrubRecord, record: UserRecord | AssistantRecord): boolean {
  return entry === undefined ? id === record.id : record.t === 'user' && entry === record.entry;
}

function scrubbed<R extends UserRecord | AssistantRecord>(record: R, { block: at, text }: ScrubRecord): R {
  if (at === undefined || typeof record.content === 'string') return { ...record, content: text };
  const content = record.content.map((block, index) =>
    index === at && (record.t === 'user' || block.type === 'text') ? blockInstead(block, text) : block,
  );
  return { ...record, content };
}

/** A result must stay where it is, or its call would have none. */
function blockInstead(block: Block, text: string): Block {
  return block.type === 'tool_result' ? { ...block, content: text } : { type: 'text', text };
}

function withTrims(records: readonly LogRecord[]): readonly LogRecord[] {
  const results = trimmedThrough(records, 'results');
  const thinking = trimmedThrough(records, 'thinking');
  if (results < 0 && thinking < 0) return records;
  const calls = new Map<unknown, Block>();
  return records.map((record, index) => {
    if ((record.t !== 'user' && record.t !== 'assistant') || typeof record.content === 'string') return record;
    for (const block of record.content) if (block.type === 'tool_use') calls.set(block.id, block);
    if (record.t === 'user') {
      return index > results ? record : { ...record, content: record.content.map((block) => masked(block, calls)) };
    }
    return index > thinking ? record : { ...record, content: record.content.map(withoutThinking) };
  });
}

/** The furthest that a trim reaches: one whose record has left the window trims nothing that is still here. */
function trimmedThrough(records: readonly LogRecord[], what: TrimRecord['what']): number {
  const ids = new Set(
    records.flatMap((record) => (record.t === 'trim' && record.what === what ? [record.through] : [])),
  );
  return ids.size === 0 ? -1 : records.findLastIndex(({ id }) => ids.has(id));
}

/** A block, or what keeps the place of thinking. */
export function withoutThinking(block: Block): Block {
  return isThinking(block) ? NOTHING : block;
}

/**
 * One line for an old result: which call it was, how much it returned, and how that began. Never longer than it was.
 */
function masked(block: Block, calls: ReadonlyMap<unknown, Block>): Block {
  if (block.type !== 'tool_result') return block;
  const text = resultText(block.content);
  const call = calls.get(block.tool_use_id);
  const input = clip(JSON.stringify(call?.input ?? {}), INPUT_CHARS);
  const name = typeof call?.name === 'string' ? call.name : 'a tool';
  const begins = clip(text.trimStart().split('\n', 1)[0] ?? '', FIRST_LINE_CHARS);
  const files = Array.isArray(block.content) ? (block.content as Block[]).filter(isFile) : [];
  const named = files.map((file) => `\n[${labelWithRef(file)}]`).join('');
  const line =
    `[${name} ${input} returned ${text.length} characters, left out here. It began: ${begins}]${named}`.toWellFormed();
  return hasMedia(block) || line.length < text.length ? { ...block, content: line } : block;
}

function isFile(block: Block | null): boolean {
  return (block?.source as { type?: unknown } | undefined)?.type === 'kept';
}

function hasMedia({ content }: Block): boolean {
  return Array.isArray(content) && content.some((nested: Partial<Block> | null) => nested?.type !== 'text');
}
