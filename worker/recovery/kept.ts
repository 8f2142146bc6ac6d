import { redact } from '../../shared/base/redact.ts';
import { clip } from '../../shared/base/text.ts';
import { labelOf, sourceOf } from '../media/label.ts';
import { nameInBrackets } from '../model/block.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown, scrubOf, withScrubs } from '../session/overlay.ts';
import { type LogRecord, type ScrubRecord, startsTurn, textOf } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { blocksIn, longTexts } from './parts.ts';

/** The end of a window that stays verbatim in a compaction. */
export interface VerbatimPart {
  /** The index of its first record. */
  from: number;
  /** Scrubs that cut the middle of long texts, so that the newest answered exchange fits. */
  shortenings: readonly ScrubRecord[];
}

/** The lengths to which long texts of the newest exchange are cut, the first that fits. */
const SHORTENED_CHARS = [8_000, 4_000, 2_000, 1_000, 500, 200];

/**
 * Chooses the part to keep verbatim: the newest turn; before it the newest answered exchange, with its long texts and
 * results shortened to `tokensMax`; and earlier turns as long as everything fits. If shortening is not enough, the
 * exchange is summarised with the rest. Pure except for the shortenings' stamps.
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

/** The index where the newest turn starts. It is never summarised, since it is pending or was just answered. */
export function newestTurn(records: readonly LogRecord[]): number {
  return Math.max(0, records.findLastIndex(startsTurn));
}

/** Whether the newest turn is over: the model wrote text without a tool call. */
function hasAnswer(records: readonly LogRecord[]): boolean {
  const last = records.findLast(({ t }) => t === 'user' || t === 'assistant');
  if (last?.t !== 'assistant') return false;
  return typeof last.content === 'string' || !last.content.some(({ type }) => type === 'tool_use');
}

/** The weakest scrubs that make an exchange fit; an empty list if it fits as it is, undefined if no scrubs suffice. */
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

/** The most files that a summary lists, each with the beginning of its message. `recall` finds older files. */
const FILES_LISTED_MAX = 20;
const WORDS_CHARS = 60;

/**
 * The pictures and PDFs before index `keptFrom` of a window, and those of earlier compactions, newest last: a line for
 * each, with the reference by which the model can see the file again. Omits refused files. Pure.
 */
export function earlierFiles({ head, records }: Window, keptFrom: number): string[] {
  const listedBefore = head?.t === 'compaction' ? (head.files ?? []) : [];
  const scrubbed = withScrubs(records);
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
