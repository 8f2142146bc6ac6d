import { clipMiddle } from '../../shared/base/text.ts';
import type { Texts } from '../../shared/texts/language.ts';
import { labelWithRef, sourceOf } from '../media/label.ts';
import { type Block, textBlock } from '../model/block.ts';
import { isMedia } from '../model/rules/blocks.ts';
import {
  type AssistantRecord,
  type LogRecord,
  resultText,
  startsTurn,
  textOf,
  type UserRecord,
} from '../session/record.ts';

/** A part of a record, and the text that replaces it. */
export interface Part {
  record: UserRecord | AssistantRecord;
  /** Index of the block in the record's content; absent when the content is plain text. */
  block?: number;
  /** The size of the part in a request. */
  bytes: number;
  /** The text that replaces the part. */
  replacement: string;
  /** The name of the part in the user's notice: a text of `leftOut`. The text `named` contains `title`. */
  name: keyof Texts['leftOut'];
  title?: string;
}

/** A block of a record. `index` is its index in the record's content; absent when the content is plain text. */
export interface Place {
  record: UserRecord | AssistantRecord;
  block: Block;
  index?: number;
}

const KEPT_CHARS = 2_000;
/** `largestParts` omits only parts above this size, because smaller parts would gain little. */
const LARGE_BYTES = 8 * 1024;
const NAME_CHARS = 80;
const NAMES: Readonly<Record<string, Part['name']>> = { text: 'text', tool_result: 'result', image: 'picture' };
const RESULT_REFUSED =
  '[What the tool returned is left out: the request that held it was refused. The call was made; do not make it again.]';

/**
 * The parts of messages and tool results to omit so that a request shrinks by `excessBytes`. Begins with the newest turn,
 * which probably caused the failure, and in each turn with the largest part. The parts may be too few; none if no part is
 * large. Pure.
 */
export function largestParts(records: readonly LogRecord[], excessBytes: number): Part[] {
  const chosenParts: Part[] = [];
  let restBytes = excessBytes;
  for (const turn of turnsFromNewest(records)) {
    const parts = turn
      .flatMap(placesIn)
      .filter(({ record }) => record.t === 'user')
      .map((place) => partOf(place, replacementFor(place.block, KEPT_CHARS)))
      .filter(({ bytes }) => bytes > LARGE_BYTES)
      .sort((a, b) => b.bytes - a.bytes);
    for (const part of parts) {
      if (restBytes <= 0) return chosenParts;
      chosenParts.push(part);
      restBytes -= part.bytes - Buffer.byteLength(part.replacement);
    }
  }
  return chosenParts;
}

/** The texts that exceed `keptChars`, in messages, answers and tool results without media, each cut to that length. Pure. */
export function longTexts(records: readonly LogRecord[], keptChars: number): Part[] {
  return records
    .flatMap(placesIn)
    .filter(({ block }) => block.type === 'text' || (block.type === 'tool_result' && !containsMedia(block)))
    .filter(({ block }) => replacementFor(block, Number.MAX_SAFE_INTEGER).length > keptChars)
    .map((place) => partOf(place, replacementFor(place.block, keptChars)));
}

/** The results of the newest batch of tool calls. Pure. */
export function newestResults(records: readonly LogRecord[]): Part[] {
  return records
    .slice(records.findLastIndex(({ t }) => t === 'user'))
    .flatMap(placesIn)
    .filter(({ block }) => block.type === 'tool_result')
    .map((place) => partOf(place, RESULT_REFUSED));
}

/** Every block with a picture or file that people or tools sent. Pure. */
export function mediaParts(records: readonly LogRecord[]): Part[] {
  return records
    .flatMap(placesIn)
    .filter(({ record, block }) => record.t === 'user' && containsMedia(block))
    .map((place) => partOf(place, replacementFor(place.block, KEPT_CHARS)));
}

/** The size of the records' contents in a request, in bytes. Pure. */
export function bytesOf(records: readonly LogRecord[]): number {
  return records.flatMap(placesIn).reduce((sum, { block }) => sum + weigh(block), 0);
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

/** The blocks of a message or answer, with their indexes; none for any other record. Pure. */
export function placesIn(record: LogRecord): Place[] {
  if (record.t !== 'user' && record.t !== 'assistant') return [];
  if (typeof record.content === 'string') return [{ block: textBlock(record.content), record }];
  return record.content.map((block, index) => ({ block, record, index }));
}

/** The part that consists of one block, with this replacement. Pure. */
export function partOf({ record, block, index }: Place, replacement: string): Part {
  return { record, ...(index !== undefined && { block: index }), bytes: weigh(block), replacement, ...nameOf(block) };
}

/** A cache of the sizes of blocks, which never change. */
const weights = new WeakMap<Block, number>();

function weigh(block: Block): number {
  const weight = weights.get(block) ?? bytesSent(block);
  weights.set(block, weight);
  return weight;
}

/** The size of a block in a request. A stored file counts as base64, the form in which requests contain the file. */
function bytesSent(block: Block): number {
  const { bytes } = sourceOf(block);
  if (typeof bytes === 'number') return Math.ceil((bytes * 4) / 3);
  const contentBytes = Array.isArray(block.content)
    ? block.content.reduce((sum, each) => sum + weigh(each as Block), 0)
    : 0;
  return Math.max(contentBytes, Buffer.byteLength(JSON.stringify(block)));
}

/**
 * The replacement of a block: a text or tool result cut to `keptChars`, with a placeholder for each picture and file in it;
 * for any other block a placeholder. The tool `recall` can show a file by the reference in its placeholder. Pure.
 */
export function replacementFor(block: Block, keptChars: number, marker?: string): string {
  if (block.type === 'text') return clipMiddle(textOf([block]), keptChars, marker);
  if (block.type !== 'tool_result') return placeholder(block);
  const media = blocksIn(block).filter(isMedia).map(placeholder);
  return [clipMiddle(resultText(block.content), keptChars, marker), ...media].join('\n');
}

function placeholder(block: Block): string {
  return `[${labelWithRef(block)}, left out]`;
}

function nameOf({ type, title }: Block): Pick<Part, 'name' | 'title'> {
  if (typeof title === 'string') return { name: 'named', title: clipMiddle(title, NAME_CHARS) };
  return { name: NAMES[type] ?? 'file' };
}

/** Whether a block is or contains a picture or a file. Pure. */
export function containsMedia(block: Block): boolean {
  return blocksIn(block).some(isMedia);
}

/** The blocks inside a tool result; for any other block, and for a result of plain text, the block itself. Pure. */
export function blocksIn(block: Block): Block[] {
  return Array.isArray(block.content) ? block.content : [block];
}
