import { clip } from '../../shared/base/text.ts';
import { labelWithRef } from '../media/label.ts';
import type { Block } from '../model/block.ts';
import { isThinking } from '../model/rules/blocks.ts';
import type { Part } from '../recovery/parts.ts';
import {
  type AssistantRecord,
  hasCalls,
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

/** The records as requests show them: without repeats, scrubbed and trimmed. Pure; records and blocks keep their indexes. */
export function asShown(records: readonly LogRecord[]): readonly LogRecord[] {
  return withTrims(withoutHidden(records));
}

/**
 * Applies the scrubs, and hides the other copies of retried messages. Of scrubs with the same target, the newest counts. A
 * turn's scrub also empties the turn's other records.
 */
export function withoutHidden(records: readonly LogRecord[]): readonly LogRecord[] {
  return withOneCopyOfEach(withScrubs(records), entriesToHide(records));
}

function withScrubs(records: readonly LogRecord[]): readonly LogRecord[] {
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

/** A message of the log, without the parts that were left out of it. */
export function withoutParts(message: UserRecord, records: readonly LogRecord[]): UserRecord {
  const scrubs = records.filter((record): record is ScrubRecord => record.t === 'scrub' && record.turn !== true);
  return scrubs.filter((scrub) => isTarget(scrub, message)).reduce(applyScrub, message);
}

const STANDS_BELOW = '[This message stands again below. What was done for it before that follows.]';

/**
 * Shows one copy of each retried message. If the model called tools for a hidden copy, the calls stay visible, so that the model
 * does not repeat them. Thinking is bound to the text before it, so answers behind a hidden copy lose theirs, up to the last
 * retry, which the model answered without the hidden copies.
 */
function withOneCopyOfEach(records: readonly LogRecord[], hidden: ReadonlySet<string>): readonly LogRecord[] {
  if (hidden.size === 0) return records;
  const answers = records.filter((record) => record.t === 'assistant');
  const acted = new Set(answers.flatMap(({ content, entry }) => (hasCalls(content) ? [entry] : [])));
  const isShownRetry = (record: LogRecord) =>
    record.t === 'user' && record.retryOf !== undefined && !hidden.has(record.entry ?? '');
  const lastRetry = records.findLastIndex(isShownRetry);
  let current: string | undefined;
  let isBehindHidden = false;
  return records.map((record, at) => {
    if (record.t !== 'user' && record.t !== 'assistant') return record;
    if (startsTurn(record)) current = record.entry;
    const isHidden = current !== undefined && hidden.has(current);
    isBehindHidden ||= isHidden;
    if (isHidden && !acted.has(current)) return { ...record, content: [] };
    if (isHidden && startsTurn(record)) return { ...record, content: STANDS_BELOW };
    const losesThinking = record.t === 'assistant' && (isHidden || (isBehindHidden && at < lastRetry));
    if (!losesThinking || typeof record.content === 'string') return record;
    return { ...record, content: record.content.map(withoutThinking) };
  });
}

/**
 * The entries of all copies of retried messages but one of each: the newest copy that has a complete answer or, as the newest
 * message of all, still waits for one; else the newest copy.
 */
function entriesToHide(records: readonly LogRecord[]): ReadonlySet<string> {
  // Each request computes its view several times, and few conversations have a retry.
  if (!records.some((record) => record.t === 'user' && record.retryOf !== undefined)) return new Set();
  const messages = records.filter((record): record is UserRecord => record.t === 'user' && startsTurn(record));
  const originals = new Map<string, string>();
  const copies = new Map<string, string[]>();
  for (const { entry, retryOf } of messages) {
    if (entry === undefined) continue;
    const original = retryOf === undefined ? entry : (originals.get(retryOf) ?? retryOf);
    originals.set(entry, original);
    copies.set(original, [...(copies.get(original) ?? []), entry]);
  }
  const complete = completeEntries(records);
  const isVisible = (entry: string) => complete.has(entry) || entry === messages.at(-1)?.entry;
  return new Set(
    [...copies.values()].flatMap((all) => {
      const visible = all.findLast(isVisible) ?? all.at(-1);
      return all.filter((entry) => entry !== visible);
    }),
  );
}

/** The entries of messages with a complete answer, whose turns were not removed. An answer that broke off names no model. */
function completeEntries(records: readonly LogRecord[]): ReadonlySet<string | undefined> {
  const complete = new Set<string | undefined>();
  for (const record of records) {
    if (record.t === 'scrub' && record.turn === true) complete.delete(record.entry);
    if (record.t !== 'assistant') continue;
    if (record.model !== undefined && !hasCalls(record.content)) complete.add(record.entry);
    else complete.delete(record.entry);
  }
  return complete;
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
