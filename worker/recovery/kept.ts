import { redact } from '../../shared/base/redact.ts';
import { clip } from '../../shared/base/text.ts';
import { labelOf, sourceOf } from '../media/label.ts';
import { nameInBrackets } from '../model/block.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown, scrubOf, withoutHidden } from '../session/overlay.ts';
import { type LogRecord, type ScrubRecord, startsTurn, textOf } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { blocksIn, longTexts } from './parts.ts';

/** The newest part of a window, which a compaction keeps verbatim. */
export interface VerbatimPart {
  /** The index of the part's first record in the window. */
  from: number;
  /** Scrubs that cut the middle out of long texts, so that the newest answered exchange fits the limit of the part. */
  shortenings: readonly ScrubRecord[];
}

/** The lengths to which long texts of the newest answered exchange may be cut. The first length that suffices is used. */
const SHORTENED_CHARS = [8_000, 4_000, 2_000, 1_000, 500, 200];

/**
 * Chooses the part to keep verbatim. The newest turn always belongs to the part. The newest answered exchange is that turn or
 * the turn before. If this exchange fits `tokensMax`, perhaps with shortened texts and results, it belongs to the part, too,
 * with as many earlier turns as still fit. Pure except for the shortenings' stamps.
 */
export function chooseVerbatimPart(records: readonly LogRecord[], tokensMax: number): VerbatimPart {
  const newest = newestTurn(records);
  const isAnswered = hasAnswer(records);
  const start = isAnswered ? newest : records.slice(0, newest).findLastIndex(startsTurn);
  const exchange = records.slice(Math.max(0, start), isAnswered ? records.length : newest);
  const shortenings = start === -1 ? undefined : shorteningsFor(exchange, tokensMax);
  if (shortenings === undefined) return { from: newest, shortenings: [] };
  const visible = asShown(records);
  let from = start;
  let restTokens = tokensMax - recordTokens(asShown([...exchange, ...shortenings]));
  for (let at = start - 1; at >= 0; at--) {
    restTokens -= recordTokens(visible.slice(at, at + 1));
    if (restTokens < 0) break;
    const record = records[at];
    if (record && startsTurn(record)) from = at;
  }
  return { from, shortenings };
}

/** The index where the newest turn starts. That turn is never summarised, since it is pending or was just answered. */
export function newestTurn(records: readonly LogRecord[]): number {
  return Math.max(0, records.findLastIndex(startsTurn));
}

/** Whether the newest turn is over: its last message is an answer without a tool call. */
function hasAnswer(records: readonly LogRecord[]): boolean {
  const last = records.findLast(({ t }) => t === 'user' || t === 'assistant');
  if (last?.t !== 'assistant') return false;
  return typeof last.content === 'string' || !last.content.some(({ type }) => type === 'tool_use');
}

/** The weakest scrubs with which an exchange fits `tokensMax`; none if it fits as it is, `undefined` if no scrubs suffice. */
function shorteningsFor(exchange: readonly LogRecord[], tokensMax: number): readonly ScrubRecord[] | undefined {
  const visible = asShown(exchange);
  if (recordTokens(visible) <= tokensMax) return [];
  for (const keptChars of SHORTENED_CHARS) {
    const scrubs = longTexts(visible, keptChars).map(scrubOf);
    if (recordTokens(asShown([...exchange, ...scrubs])) <= tokensMax) return scrubs;
  }
  return undefined;
}

/** The estimated tokens of the contents of records. */
export function recordTokens(records: readonly LogRecord[]): number {
  return records.reduce(
    (sum, record) => sum + (record.t === 'user' || record.t === 'assistant' ? estimateContent(record.content) : 0),
    0,
  );
}

/** The maximum number of files that a compaction lists. The tool `recall` finds older files. */
const FILES_LISTED_MAX = 20;
const WORDS_CHARS = 60;

/**
 * The newest pictures and PDFs before index `keptFrom` of a window, and in the list of the previous compaction, newest last.
 * Each has a line with the beginning of its message and the reference by which the model can see the file again. Omits files
 * that a scrub has removed without leaving a reference. Pure.
 */
export function earlierFiles({ head, records }: Window, keptFrom: number): string[] {
  const listedBefore = head?.t === 'compaction' ? (head.files ?? []) : [];
  const scrubbed = withoutHidden(records);
  const newFiles = records.slice(0, keptFrom).flatMap((record, at) => filesOf(record, scrubbed[at]));
  return [...new Set([...listedBefore, ...newFiles])].slice(-FILES_LISTED_MAX);
}

function filesOf(record: LogRecord, scrubbed: LogRecord | undefined): string[] {
  if (record.t !== 'user' || typeof record.content === 'string') return [];
  const scrubbedJson = JSON.stringify(scrubbed);
  const words = clip(nameInBrackets(redact(textOf(record.content))), WORDS_CHARS);
  const caption = words === '' ? '' : `, with "${words}"`;
  return record.content.flatMap(blocksIn).flatMap((block) => {
    const { type, sha256 } = sourceOf(block);
    if (type !== 'kept' || !scrubbedJson.includes(String(sha256))) return [];
    return [`${labelOf(block)}, of ${record.at.slice(0, 10)}${caption}: {"ref":"${sha256}"}`];
  });
}
