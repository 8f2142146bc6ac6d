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
/** Replaces a thinking block, so that the other blocks keep their indexes. The view omits blank text. */
const NOTHING: Block = { type: 'text', text: '' };

/** A record that trims these records: the view then shows each of their tool results as one line, or none of their thinking. */
export function trimOf(what: TrimRecord['what'], records: readonly LogRecord[]): TrimRecord {
  return { v: 1, t: 'trim', ...newStamp(), what, through: records.findLast(({ id }) => id !== '')?.id ?? '' };
}

/** A record that replaces a part with a placeholder. Identifies a message by its entry, and any other record by its id. */
export function scrubOf({ record, block, replacement }: Part): ScrubRecord {
  const isMessage = record.t === 'user' && record.entry !== undefined;
  const target = isMessage ? { entry: record.entry } : { record: record.id };
  return { v: 1, t: 'scrub', ...newStamp(), ...target, ...(block !== undefined && { block }), text: replacement };
}

/** The records as requests show them, scrubbed and trimmed. Pure; records and blocks keep their indexes. */
export function asShown(records: readonly LogRecord[]): readonly LogRecord[] {
  return withTrims(withScrubs(records));
}

/**
 * Applies the scrubs. Of scrubs with the same target, the newest counts. A turn's scrub also empties the turn's other records.
 */
export function withScrubs(records: readonly LogRecord[]): readonly LogRecord[] {
  const scrubs = records.filter((record): record is ScrubRecord => record.t === 'scrub');
  if (scrubs.length === 0) return records;
  let isTurnScrubbed = false;
  return records.map((record) => {
    if (record.t !== 'user' && record.t !== 'assistant') return record;
    const itsScrubs = scrubs.filter((scrub) => isTarget(scrub, record));
    if (startsTurn(record)) isTurnScrubbed = itsScrubs.some(({ turn }) => turn === true);
    else if (isTurnScrubbed) return { ...record, content: [] };
    return itsScrubs.reduce(applyScrub, record);
  });
}

/** Whether a scrub's target is this record: a message by its entry, any other record by its id. */
function isTarget({ entry, record: id }: ScrubRecord, record: UserRecord | AssistantRecord): boolean {
  return entry === undefined ? id === record.id : record.t === 'user' && entry === record.entry;
}

function applyScrub<R extends UserRecord | AssistantRecord>(record: R, { block: at, text }: ScrubRecord): R {
  if (at === undefined || typeof record.content === 'string') return { ...record, content: text };
  const content = record.content.map((block, index) =>
    index === at && (record.t === 'user' || block.type === 'text') ? replaceBlock(block, text) : block,
  );
  return { ...record, content };
}

/** Replaces a block with a text. A tool result keeps its type and id, because its call needs a result. */
function replaceBlock(block: Block, text: string): Block {
  return block.type === 'tool_result' ? { ...block, content: text } : { type: 'text', text };
}

function withTrims(records: readonly LogRecord[]): readonly LogRecord[] {
  const results = lastTrimmed(records, 'results');
  const thinking = lastTrimmed(records, 'thinking');
  if (results < 0 && thinking < 0) return records;
  const calls = new Map<unknown, Block>();
  return records.map((record, index) => {
    if ((record.t !== 'user' && record.t !== 'assistant') || typeof record.content === 'string') return record;
    for (const block of record.content) if (block.type === 'tool_use') calls.set(block.id, block);
    if (record.t === 'user') {
      return index > results ? record : { ...record, content: record.content.map((block) => maskResult(block, calls)) };
    }
    return index > thinking ? record : { ...record, content: record.content.map(withoutThinking) };
  });
}

/** The index of the newest record in the window that a trim of this kind covers; -1 if there is none. */
function lastTrimmed(records: readonly LogRecord[], what: TrimRecord['what']): number {
  const ids = new Set(
    records.flatMap((record) => (record.t === 'trim' && record.what === what ? [record.through] : [])),
  );
  return ids.size === 0 ? -1 : records.findLastIndex(({ id }) => ids.has(id));
}

/** The block, or an empty one in place of thinking. */
export function withoutThinking(block: Block): Block {
  return isThinking(block) ? NOTHING : block;
}

/**
 * Masks a tool result: replaces its content with a line that states its call, its length and its beginning, and a line for each
 * stored file. Returns any other block, and a result that is only text and no longer than its mask, unchanged.
 */
function maskResult(block: Block, calls: ReadonlyMap<unknown, Block>): Block {
  if (block.type !== 'tool_result') return block;
  const text = resultText(block.content);
  const call = calls.get(block.tool_use_id);
  const input = clip(JSON.stringify(call?.input ?? {}), INPUT_CHARS);
  const name = typeof call?.name === 'string' ? call.name : 'a tool';
  const beginning = clip(text.trimStart().split('\n', 1)[0] ?? '', FIRST_LINE_CHARS);
  const files = Array.isArray(block.content) ? (block.content as Block[]).filter(isFile) : [];
  const fileLines = files.map((file) => `\n[${labelWithRef(file)}]`).join('');
  const line =
    `[${name} ${input} returned ${text.length} characters, left out here. It began: ${beginning}]${fileLines}`.toWellFormed();
  return hasMedia(block) || line.length < text.length ? { ...block, content: line } : block;
}

function isFile(block: Block | null): boolean {
  return (block?.source as { type?: unknown } | undefined)?.type === 'kept';
}

function hasMedia({ content }: Block): boolean {
  return Array.isArray(content) && content.some((nested: Partial<Block> | null) => nested?.type !== 'text');
}
