import { redact } from '../../shared/base/redact.ts';
import { clip } from '../../shared/base/text.ts';
import { labelOf, sourceOf } from '../media/label.ts';
import { nameInBrackets } from '../model/block.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown, scrubOf, withScrubs } from '../session/overlay.ts';
import { type LogRecord, type ScrubRecord, startsTurn, textOf } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { blocksIn, longTexts } from './parts.ts';

/** The part of a window that a compaction leaves verbatim. */
export interface Kept {
  /** Index of the first record that is kept. */
  from: number;
  /** The shortenings in it, with head and tail kept, so that the newest answered exchange can stay at all. */
  shortenings: readonly ScrubRecord[];
}

/** How many characters of each long text of the newest exchange are kept; the first that fits counts. */
const SHORTENED_CHARS = [8_000, 4_000, 2_000, 1_000, 500, 200];

/**
 * Chooses the records to keep: the newest turn; before it the newest answered exchange, with its long texts and results
 * shortened if it takes more than `tokensMax`; and earlier turns as long as everything fits. An exchange that cannot be
 * shortened enough is summarised with the rest. Pure except for the shortenings' stamps.
 */
export function chooseKept(records: readonly LogRecord[], tokensMax: number): Kept {
  const newest = newestTurn(records);
  const isAnswered = hasAnswer(records);
  const start = isAnswered ? newest : records.slice(0, newest).findLastIndex(startsTurn);
  const exchange = records.slice(Math.max(0, start), isAnswered ? records.length : newest);
  const shortenings = start === -1 ? undefined : shorteningsFor(exchange, tokensMax);
  if (shortenings === undefined) return { from: newest, shortenings: [] };
  const shown = asShown(records);
  let from = start;
  let left = tokensMax - recordTokens(asShown([...exchange, ...shortenings]));
  for (let at = start - 1; at >= 0; at--) {
    left -= recordTokens(shown.slice(at, at + 1));
    if (left < 0) break;
    const record = records[at];
    if (record && startsTurn(record)) from = at;
  }
  return { from, shortenings };
}

/** Where the newest turn starts: it is never summarised, since it is pending or was just answered. */
export function newestTurn(records: readonly LogRecord[]): number {
  return Math.max(0, records.findLastIndex(startsTurn));
}

/** Whether the newest turn is over: the model wrote text without a tool call. */
function hasAnswer(records: readonly LogRecord[]): boolean {
  const last = records.findLast(({ t }) => t === 'user' || t === 'assistant');
  if (last?.t !== 'assistant') return false;
  return typeof last.content === 'string' || !last.content.some(({ type }) => type === 'tool_use');
}

/** The smallest change that makes an exchange fit: none, or its long texts shortened. Nothing if none suffices. */
function shorteningsFor(exchange: readonly LogRecord[], tokensMax: number): readonly ScrubRecord[] | undefined {
  const shown = asShown(exchange);
  if (recordTokens(shown) <= tokensMax) return [];
  for (const keptChars of SHORTENED_CHARS) {
    const scrubs = longTexts(shown, keptChars).map(scrubOf);
    if (recordTokens(asShown([...exchange, ...scrubs])) <= tokensMax) return scrubs;
  }
  return undefined;
}

/** The estimate of what records contain, as they stand. */
export function recordTokens(records: readonly LogRecord[]): number {
  return records.reduce(
    (sum, record) => sum + (record.t === 'user' || record.t === 'assistant' ? estimateContent(record.content) : 0),
    0,
  );
}

/** The newest files are named, each with the beginning of what was said with it; a search finds older ones. */
const FILES_NAMED_MAX = 20;
const WORDS_CHARS = 60;

/**
 * The pictures and PDFs that leave a window with its oldest records, and those that left it before, newest last: each in
 * a line with its reference, by which the model sees it again. One that was refused is not named. Pure.
 */
export function earlierFiles({ head, records }: Window, keptFrom: number): string[] {
  const before = head?.t === 'compaction' ? (head.files ?? []) : [];
  const shown = withScrubs(records);
  const leaving = records.slice(0, keptFrom).flatMap((record, at) => filesOf(record, shown[at]));
  return [...new Set([...before, ...leaving])].slice(-FILES_NAMED_MAX);
}

function filesOf(record: LogRecord, shown: LogRecord | undefined): string[] {
  if (record.t !== 'user' || typeof record.content === 'string') return [];
  const stands = JSON.stringify(shown);
  const words = clip(nameInBrackets(redact(textOf(record.content))), WORDS_CHARS);
  const caption = words === '' ? '' : `, with "${words}"`;
  return record.content.flatMap(blocksIn).flatMap((block) => {
    const { type, sha256 } = sourceOf(block);
    if (type !== 'kept' || !stands.includes(String(sha256))) return [];
    return [`${labelOf(block)}, of ${record.at.slice(0, 10)}${caption}: {"ref":"${sha256}"}`];
  });
}
