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
  /** Its size in a request. */
  bytes: number;
  /** Its replacement. */
  replacement: string;
  /** Its name in the user's notice: a text of `leftOut`. The text `named` contains `title`. */
  name: keyof Texts['leftOut'];
  title?: string;
}

/** A block of a record, and its index there; absent when the content is plain text. */
export interface Place {
  record: UserRecord | AssistantRecord;
  block: Block;
  index?: number;
}

const KEPT_CHARS = 2_000;
/** Smaller parts are not removed, because that would gain little. */
const LARGE_BYTES = 8 * 1024;
const NAME_CHARS = 80;
const NAMES: Readonly<Record<string, Part['name']>> = { text: 'text', tool_result: 'result', image: 'picture' };
const RESULT_REFUSED =
  '[What the tool returned is left out: the request that held it was refused. The call was made; do not make it again.]';

/**
 * The parts to omit to make a request `excessBytes` smaller: the newest turn first, since it caused the failure, and the
 * largest parts of each turn first. The parts may be too few; none if no part is large. Pure.
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

/** The texts of a conversation that exceed `keptChars`, answers and tool results included, each cut to that. Pure. */
export function longTexts(records: readonly LogRecord[], keptChars: number): Part[] {
  return records
    .flatMap(placesIn)
    .filter(({ block }) => block.type === 'text' || (block.type === 'tool_result' && !containsMedia(block)))
    .filter(({ block }) => replacementFor(block, Number.MAX_SAFE_INTEGER).length > keptChars)
    .map((place) => partOf(place, replacementFor(place.block, keptChars)));
}

/** The tool results of the newest batch. Pure. */
export function newestResults(records: readonly LogRecord[]): Part[] {
  return records
    .slice(records.findLastIndex(({ t }) => t === 'user'))
    .flatMap(placesIn)
    .filter(({ block }) => block.type === 'tool_result')
    .map((place) => partOf(place, RESULT_REFUSED));
}

/** Every picture and file that people or tools sent. Pure. */
export function mediaParts(records: readonly LogRecord[]): Part[] {
  return records
    .flatMap(placesIn)
    .filter(({ record, block }) => record.t === 'user' && containsMedia(block))
    .map((place) => partOf(place, replacementFor(place.block, KEPT_CHARS)));
}

/** The size of the records in a request, in bytes. Pure. */
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

/** The blocks of a record, with their indexes; none for a record that is no message. Pure. */
export function placesIn(record: LogRecord): Place[] {
  if (record.t !== 'user' && record.t !== 'assistant') return [];
  if (typeof record.content === 'string') return [{ block: textBlock(record.content), record }];
  return record.content.map((block, index) => ({ block, record, index }));
}

/** A block with its replacement. Pure. */
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

/** The size of a block in a request, where a stored file is sent as base64. */
function bytesSent(block: Block): number {
  const { bytes } = sourceOf(block);
  if (typeof bytes === 'number') return Math.ceil((bytes * 4) / 3);
  const contentBytes = Array.isArray(block.content)
    ? block.content.reduce((sum, each) => sum + weigh(each as Block), 0)
    : 0;
  return Math.max(contentBytes, Buffer.byteLength(JSON.stringify(block)));
}

/** The replacement of a block: its shortened text, and its pictures and files as references for `recall`. Pure. */
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

/** The blocks that a tool returned in one block, or that block itself. Pure. */
export function blocksIn(block: Block): Block[] {
  return Array.isArray(block.content) ? block.content : [block];
}
