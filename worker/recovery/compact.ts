import type { Room } from '../model/count.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown, trimOf, withScrubs } from '../session/overlay.ts';
import { type LogRecord, startsTurn, type TrimRecord } from '../session/record.ts';
import { view, type Window } from '../session/view.ts';
import { chooseKept, earlierFiles, type Kept, newestTurn, recordTokens } from './kept.ts';
import { type Summariser, type SummaryFailure, type SummaryPart, summarise } from './summarise.ts';
import { transcribe } from './transcript.ts';

/** The options of a compaction, and the room that there is. */
export interface CompactionOptions {
  room: Room;
  summariser: Summariser;
  /** Calls that may be made. */
  callsMax: number;
  /** The part of the same summary that an earlier attempt finished. */
  done?: SummaryPart | undefined;
  /** Masks old tool results in the kept part, if it does not fit otherwise. */
  mask: TrimRecord | undefined;
  /** The thinking that is bound to an earlier part, and omitted with any change of it. */
  thinking: readonly TrimRecord[];
  /** An unguessable word that frames the summary. */
  boundary: string;
}

/** A summary that passed all checks. */
export interface Compaction extends Omit<SummaryPart, 'chunks' | 'of'> {
  /** Index in the window of the first record that is kept verbatim. */
  keptFrom: number;
  /** The pictures and PDFs that are not shown any more, as the record names them. */
  files: readonly string[];
  /** The records stored with the summary, so that the kept part is small enough and valid for the API. */
  changes: readonly LogRecord[];
  /** Older records that no summariser has seen, those of earlier compactions included. */
  unseen: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** Why there is no compaction; the `calls` were made even so. */
export type CompactionFailure =
  | SummaryFailure
  | { reason: 'nothing_to_compact' | 'did_not_shrink'; failed?: undefined; calls: number };

export type CompactionResult = { ok: true; compaction: Compaction } | { ok: false; failed: CompactionFailure };

/** A user never waits for dozens of summary calls. */
export const COMPACTION_CALLS_MAX = 2;
/** Reasons of a summary that came, and says nothing. */
const USELESS: ReadonlySet<string> = new Set(['empty_summary', 'cut_summary', 'error_text']);
/** A compaction that leaves more than this share of the estimate is no progress. */
const SHRINK_MAX = 0.8;
/** Share of the summariser's window that a transcript may fill; estimates undercount, at worst by a factor of 1.55. */
const CHUNK_SHARE = 0.45;

/**
 * Stage 1: has the model summarise everything but the newest turns, in at most two calls. The newest turn and the
 * newest answered exchange are never summarised. Nothing is stored here. Contract: throws only what the summariser's
 * ports throw; a failed, empty or useless summary is a value.
 */
export async function compact(
  window: Window,
  options: CompactionOptions,
  signal: AbortSignal,
): Promise<CompactionResult> {
  const { room, summariser, done } = options;
  const { previous, unseen: before } = earlierSummary(window);
  const { from: keptFrom, shortenings } = leastKept(window, previous, room);
  const older = withScrubs(window.records).slice(0, keptFrom);
  if (older.length === 0 && previous === '') return { ok: false, failed: { reason: 'nothing_to_compact', calls: 0 } };
  const chunkTokens = Math.floor(summariser.limitTokens * CHUNK_SHARE);
  const { chunks, left } = transcribe(older, chunkTokens, options.callsMax);
  const unseen = left + window.omitted;
  const result = await summarise(summariser, { chunks }, { previous, unseen, done }, signal);
  if (!result.ok) return (await compactAnew(window, options, result.failed, signal)) ?? result;
  const { calls, summary } = result.written;
  return accepted(window, { keptFrom, summary, calls, unseen: before + unseen }, shortenings, options);
}

/** One useless summary is no reason to leave a conversation: the calls that are left are for the other model. */
async function compactAnew(
  window: Window,
  { callsMax, summariser, ...options }: CompactionOptions,
  { reason, calls }: SummaryFailure,
  signal: AbortSignal,
): Promise<CompactionResult | undefined> {
  if (!USELESS.has(reason) || calls >= callsMax || signal.aborted) return undefined;
  const other = { ...summariser, name: summariser.fallbackName ?? summariser.name };
  const anew = await compact(
    window,
    { ...options, callsMax: callsMax - calls, summariser: other, done: undefined },
    signal,
  );
  if (!anew.ok) return { ok: false, failed: { ...anew.failed, calls: anew.failed.calls + calls } };
  return { ok: true, compaction: { ...anew.compaction, calls: anew.compaction.calls + calls } };
}

/** Where nothing is older than the newest exchange, that exchange is what gets summarised. */
function leastKept({ records }: Window, previous: string, { keptTokens }: Room): Kept {
  const kept = chooseKept(records, keptTokens);
  return kept.from === 0 && previous === '' ? { from: newestTurn(records), shortenings: [] } : kept;
}

/** The text of an earlier compaction or of the seed; it goes into the new summary. */
function earlierSummary({ head }: Window): { previous: string; unseen: number } {
  if (head?.t === 'compaction') return { previous: head.summary, unseen: head.unseen ?? 0 };
  return { previous: head?.t === 'seed' ? head.text : '', unseen: 0 };
}

/** A summary counts only if it makes the next request smaller. */
function accepted(
  window: Window,
  written: Pick<Compaction, 'keptFrom' | 'summary' | 'calls' | 'unseen'>,
  shortenings: readonly LogRecord[],
  { room, mask, thinking, boundary }: CompactionOptions,
): CompactionResult {
  const { keptFrom, summary, unseen, calls } = written;
  const files = earlierFiles(window, keptFrom);
  const head: LogRecord = {
    v: 1,
    t: 'compaction',
    id: '',
    at: '',
    summary,
    records: keptFrom,
    unseen,
    boundary,
    files,
  };
  const kept = window.records.slice(keptFrom);
  for (const masks of calls === 0 ? [] : [[], ...(mask ? [[mask]] : [])]) {
    const changes = [...shortenings, ...masks, ...thinking];
    const progress = progressOf(window, { head, records: [...kept, ...changes], omitted: 0 }, room);
    if (progress) return { ok: true, compaction: { ...written, files, changes, ...progress } };
  }
  return { ok: false, failed: { reason: 'did_not_shrink', calls } };
}

/**
 * The size of a window before and after a change, where the change is worth a new attempt. The newest question and its
 * answer may have any size and do not count, and the newest round of tools may be as large as the window allows; earlier tool results
 * must fit like everything else.
 */
export function progressOf(
  before: Window,
  after: Window,
  { retainedTokens, fullTokens }: Room,
): { tokensBefore: number; tokensAfter: number } | undefined {
  const tokensBefore = viewTokens(before);
  const tokensAfter = viewTokens(after);
  const restBefore = tokensBefore - recordTokens(newestWords(before));
  const rest = tokensAfter - recordTokens(newestWords(after));
  const retained = rest - recordTokens(newestRound(shownTurn(after)));
  const isEnough = rest <= restBefore * SHRINK_MAX && rest <= fullTokens && retained <= retainedTokens;
  return isEnough ? { tokensBefore, tokensAfter } : undefined;
}

function shownTurn({ records }: Window): readonly LogRecord[] {
  return asShown(records).slice(newestTurn(records));
}

/** The newest question, and its answer. */
function newestWords(window: Window): readonly LogRecord[] {
  return shownTurn(window).filter(
    (record, at) => at === 0 || (record.t === 'assistant' && record.stopReason !== 'tool_use'),
  );
}

/** The newest tool calls in a turn, with their results. */
function newestRound(turn: readonly LogRecord[]): readonly LogRecord[] {
  const at = turn.findLastIndex((record) => record.t === 'assistant' && record.stopReason === 'tool_use');
  return at === -1 ? [] : turn.slice(at, at + 2);
}

/** The estimate of what a window sends. */
export function viewTokens(window: Window): number {
  return view(window).reduce((sum, message) => sum + estimateContent(message.content), 0);
}

/** A mask that makes a summary unnecessary. */
export interface Mask {
  /** The mask, and the thinking that is omitted with it. */
  trims: readonly TrimRecord[];
  tokensBefore: number;
  tokensAfter: number;
}

/** The newest turns, the pending one included, whose results stay whole if that suffices. */
const TURNS_WHOLE = 2;

/**
 * The smallest mask of old tool results that is enough progress by itself: first all turns but the newest, then
 * everything but the newest round of tools. `thinking` is omitted along with a mask. Makes no model call. Pure except
 * for the record's timestamp.
 */
export function maskResults(before: Window, room: Room, thinking: readonly TrimRecord[]): Mask | undefined {
  const { records } = before;
  for (const trim of [trimBefore(records, recentTurns(records)), trimOldRounds(records)]) {
    if (trim === undefined) continue;
    const trims = [trim, ...thinking];
    const progress = progressOf(before, { ...before, records: [...records, ...trims] }, room);
    if (progress) return { trims, ...progress };
  }
  return undefined;
}

/** The strongest mask: everything but the newest round of tools. */
export function trimOldRounds(records: readonly LogRecord[]): TrimRecord | undefined {
  const newest = records.findLastIndex((record) => record.t === 'user' && !startsTurn(record));
  const turn = records.findLastIndex(startsTurn);
  return trimBefore(records, Math.max(newest, turn));
}

function recentTurns(records: readonly LogRecord[]): number {
  const turns = records.flatMap((record, index) => (startsTurn(record) ? [index] : []));
  return turns.at(-TURNS_WHOLE) ?? 0;
}

function trimBefore(records: readonly LogRecord[], end: number): TrimRecord | undefined {
  return end > 0 ? trimOf('results', records.slice(0, end)) : undefined;
}
