import { clip, redact } from '../../shared/base/text.ts';
import { labelOf } from '../media/label.ts';
import { type Block, nameInBrackets } from '../model/block.ts';
import { countContent } from '../model/count.ts';
import { estimateContent } from '../model/estimate.ts';
import type { OpenedSession } from '../session/held-window.ts';
import { asShown, scrubOf, withScrubs } from '../session/overlay.ts';
import { type LogRecord, type ScrubRecord, startsTurn, textOf } from '../session/record.ts';
import type { Window } from '../session/view.ts';
import { longTexts, type Part } from './oversized.ts';

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
 * Where the kept part starts: always at a user turn. At least the newest turn and the newest answered exchange are
 * kept; the exchange's long texts and results are shortened where it takes more than `tokensMax`. Earlier turns stay as
 * long as everything fits. An exchange that cannot be shortened enough is summarised with the rest.
 */
export function chooseKept(records: readonly LogRecord[], tokensMax: number): Kept {
  const newest = newestTurn(records);
  const answered = hasAnswer(records.slice(newest)) ? newest : turnBefore(records, newest);
  if (answered === undefined) return { from: newest, shortenings: [] };
  const exchange = records.slice(answered, answered === newest ? records.length : newest);
  const shortenings = shortened(exchange, tokensMax);
  if (shortenings === undefined) return { from: newest, shortenings: [] };
  const left = tokensMax - tokensOf([...exchange, ...shortenings]);
  return { from: extended(records, answered, left), shortenings };
}

/** Where the newest turn starts: it is never summarised, since it is pending or was just answered. */
export function newestTurn(records: readonly LogRecord[]): number {
  return Math.max(0, records.findLastIndex(startsTurn));
}

/** The tokens of the newest message alone, as it is shown. */
export function newestTokens({ window }: OpenedSession, calibration: number): number {
  // What shortens a message stands behind it.
  const [newest] = asShown(window.records.slice(newestTurn(window.records)));
  return newest?.t === 'user' ? countContent(newest.content, calibration) : 0;
}

function turnBefore(records: readonly LogRecord[], turn: number): number | undefined {
  const at = records.slice(0, turn).findLastIndex(startsTurn);
  return at === -1 ? undefined : at;
}

/** Whether a turn is over: the model wrote text without a tool call. */
function hasAnswer(turn: readonly LogRecord[]): boolean {
  const last = turn.findLast(({ t }) => t === 'user' || t === 'assistant');
  if (last?.t !== 'assistant') return false;
  return typeof last.content === 'string' || !last.content.some(({ type }) => type === 'tool_use');
}

function extended(records: readonly LogRecord[], least: number, tokensMax: number): number {
  const shown = asShown(records);
  let from = least;
  let left = tokensMax;
  for (let at = least - 1; at >= 0; at--) {
    const record = records[at];
    if (record === undefined) break;
    left -= recordTokens(shown.slice(at, at + 1));
    if (left < 0) break;
    if (startsTurn(record)) from = at;
  }
  return from;
}

/**
 * The smallest change that makes an exchange fit: none, or its long texts shortened. Returns nothing when none
 * suffices.
 */
function shortened(exchange: readonly LogRecord[], tokensMax: number): readonly ScrubRecord[] | undefined {
  if (tokensOf(exchange) <= tokensMax) return [];
  for (const keptChars of SHORTENED_CHARS) {
    const scrubs = longTexts(asShown(exchange), keptChars).map((part: Part) => scrubOf(part));
    if (tokensOf([...exchange, ...scrubs]) <= tokensMax) return scrubs;
  }
  return undefined;
}

function tokensOf(records: readonly LogRecord[]): number {
  return recordTokens(asShown(records));
}

/** The estimate of what records contain, as they stand. */
export function recordTokens(records: readonly LogRecord[]): number {
  return records.reduce(
    (sum, record) => sum + (record.t === 'user' || record.t === 'assistant' ? estimateContent(record.content) : 0),
    0,
  );
}

/** The newest files are named; older ones are found by a search. */
const FILES_NAMED_MAX = 20;
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
  return [...new Set([...before, ...leaving])].slice(-FILES_NAMED_MAX);
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
