import { clipMiddle } from '../../shared/base/text.ts';
import { labelOf } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import {
  type AssistantRecord,
  type LogRecord,
  resultText,
  startsTurn,
  textOf,
  type UserRecord,
} from '../session/record.ts';

/** A part of the user's, a tool's or the model's content that a request can do without. */
export interface Part {
  record: UserRecord | AssistantRecord;
  /** Index of the block in the record's content; absent when the content is plain text. */
  block?: number;
  /** Its size in a request. */
  bytes: number;
  /** Its replacement. */
  instead: string;
  /** Its name in the user's notice. */
  name: string;
}

const KEPT_CHARS = 2_000;
/** Removing anything smaller would not help, and could lose something important. */
const LARGE_BYTES = 8 * 1024;
const NAME_CHARS = 80;
/** JSON writes a control character as an escape of this length, and nothing longer for one UTF-16 unit. */
const UNIT_BYTES_MAX = 6;
/** More than a number, `false` or `null` takes. */
const SCALAR_BYTES_MAX = 32;
const RESULT_REFUSED =
  '[What the tool returned is left out: the request that held it was refused. The call was made; do not make it again.]';

/**
 * The parts of the newest turn that are worth shortening, its tool results included: at most `keptChars` of each are
 * shown. Pure.
 */
export function largePartsOfTurn(records: readonly LogRecord[], keptChars: number): Part[] {
  const turn = records.slice(Math.max(0, records.findLastIndex(startsTurn)));
  return turn.flatMap((record) => partsOf(record, keptChars, keptChars));
}

/**
 * The parts to remove to make a request small enough: the newest turn's first, since it caused the trouble, and the
 * largest of each turn first. May fall short; the result is empty where nothing is large. Pure.
 */
export function largestParts(records: readonly LogRecord[], excessBytes: number): Part[] {
  const chosen: Part[] = [];
  let left = excessBytes;
  for (const turn of turnsFromNewest(records)) {
    const parts = turn.flatMap((record) => partsOf(record, LARGE_BYTES, KEPT_CHARS)).sort((a, b) => b.bytes - a.bytes);
    for (const part of parts) {
      if (left <= 0) return chosen;
      chosen.push(part);
      left -= part.bytes - part.instead.length;
    }
  }
  return chosen;
}

/** The long texts of a conversation, answers and tool results included: `keptChars` of each are shown. Pure. */
export function longTexts(records: readonly LogRecord[], keptChars: number): Part[] {
  return records.flatMap((record) => {
    if (record.t !== 'user' && record.t !== 'assistant') return [];
    return blocksOf(record).flatMap(({ block, ...place }) =>
      block.type === 'text' || (block.type === 'tool_result' && !holdsMedia(block))
        ? partOf(block, place, keptChars, keptChars)
        : [],
    );
  });
}

/** The tool results of the newest turn. Pure. */
export function resultsOfTurn(records: readonly LogRecord[]): Part[] {
  const turn = records.slice(Math.max(0, records.findLastIndex(startsTurn)));
  return turn.flatMap((record) => {
    if (record.t !== 'user') return [];
    return blocksOf(record).flatMap(({ block, index }) =>
      block.type === 'tool_result' && index !== undefined
        ? [{ record, block: index, bytes: weigh(block), instead: RESULT_REFUSED, name: nameOf(block) }]
        : [],
    );
  });
}

/** Every picture and file of the records, those that tools returned included. Pure. */
export function mediaParts(records: readonly LogRecord[]): Part[] {
  return records.flatMap((record) => partsOf(record, 0, KEPT_CHARS).filter(isMedia));
}

/** Whether a part is, or holds, a picture or a file. Pure. */
export function isMedia({ record, block }: Part): boolean {
  return typeof record.content !== 'string' && holdsMedia(record.content[block ?? -1]);
}

/** The size of the records in a request, counting what users and tools sent. */
export function bytesOf(records: readonly LogRecord[], sizeOfBlock: (block: Block) => number = weigh): number {
  return records.reduce((sum, record) => sum + sizeOf(record, sizeOfBlock), 0);
}

/**
 * Whether records take more than so many bytes in a request. Each request asks, and writing down all of a history takes
 * longer than to view it, so it is weighed only where the length of its texts leaves that open. Pure.
 */
export function areLargerThan(bytesMax: number, records: readonly LogRecord[]): boolean {
  return bytesOf(records, bytesAtMost) > bytesMax && bytesOf(records) > bytesMax;
}

function sizeOf(record: LogRecord, sizeOfBlock: (block: Block) => number): number {
  if (record.t !== 'user' && record.t !== 'assistant') return 0;
  const blocks = typeof record.content === 'string' ? [textBlock(record.content)] : record.content;
  return blocks.reduce((sum, block) => sum + sizeOfBlock(block), 0);
}

/** No less than `weigh` says: of a stored file there is the number of its bytes. */
function bytesAtMost(value: unknown): number {
  if (typeof value === 'string') return value.length * UNIT_BYTES_MAX + 2;
  if (typeof value === 'number') return Math.max(SCALAR_BYTES_MAX, value * 2);
  if (typeof value !== 'object' || value === null) return SCALAR_BYTES_MAX;
  if (Array.isArray(value)) return value.reduce((sum, each) => sum + bytesAtMost(each) + 1, 2);
  let bytes = 2;
  for (const key in value) bytes += bytesAtMost(key) + 2 + bytesAtMost(value[key as keyof typeof value]);
  return bytes;
}

function turnsFromNewest(records: readonly LogRecord[]): (readonly LogRecord[])[] {
  const turns: (readonly LogRecord[])[] = [];
  for (let end = records.length; end > 0; ) {
    const start = Math.max(0, records.slice(0, end).findLastIndex(startsTurn));
    turns.push(records.slice(start, end));
    end = start;
  }
  return turns;
}

function partsOf(record: LogRecord, overBytes: number, keptChars: number): Part[] {
  if (record.t !== 'user') return [];
  return blocksOf(record).flatMap(({ block, ...place }) => partOf(block, place, overBytes, keptChars));
}

function blocksOf(record: Part['record']): { block: Block; record: Part['record']; index?: number }[] {
  if (typeof record.content === 'string') return [{ block: textBlock(record.content), record }];
  return record.content.map((block, index) => ({ block, record, index }));
}

function partOf(
  block: Block,
  { record, index }: { record: Part['record']; index?: number },
  overBytes: number,
  keptChars: number,
): Part[] {
  const bytes = weigh(block);
  const instead = insteadOf(block, keptChars);
  if (bytes <= overBytes || !(holdsMedia(block) || instead.length < bytes)) return [];
  return [{ record, ...(index !== undefined && { block: index }), bytes, instead, name: nameOf(block) }];
}

/** A stored file is filled in as base64 just before it is sent. */
function weigh(block: Block): number {
  const nested = Array.isArray(block.content) ? block.content.reduce((sum, each) => sum + weigh(each as Block), 0) : 0;
  const { bytes } = sourceOf(block);
  return typeof bytes === 'number'
    ? Math.ceil((bytes * 4) / 3)
    : Math.max(nested, Buffer.byteLength(JSON.stringify(block)));
}

function insteadOf(block: Block, keptChars: number): string {
  if (block.type === 'text') return clipMiddle(textOf([block]), keptChars);
  if (block.type !== 'tool_result') return placeholder(block);
  const media = Array.isArray(block.content)
    ? block.content.filter(holdsMedia).map((each) => placeholder(each as Block))
    : [];
  return [clipMiddle(resultText(block.content), keptChars), ...media].join('\n');
}

/** A picture or a file, by its name, kind and size. */
function placeholder(block: Block): string {
  return `[${labelOf(block)}, left out]`;
}

function nameOf(block: Block): string {
  if (block.type === 'text') return 'the middle of a long text';
  if (block.type === 'tool_result') return 'a part of what a tool returned';
  if (typeof block.title === 'string') return `the file "${clipMiddle(block.title, NAME_CHARS)}"`;
  return block.type === 'image' ? 'a picture' : 'a file';
}

function holdsMedia(block: unknown): boolean {
  const { type, content } = (block ?? {}) as Partial<Block>;
  if (type === 'image' || type === 'document') return true;
  return type === 'tool_result' && Array.isArray(content) && content.some(holdsMedia);
}

function sourceOf({ source }: Block): Partial<Record<string, unknown>> {
  return typeof source === 'object' && source !== null ? source : {};
}
