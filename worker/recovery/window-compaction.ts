import type { Room } from '../model/count.ts';
import { estimateContent } from '../model/estimate.ts';
import { asShown, trimOf, withoutHidden } from '../session/overlay.ts';
import { type CompactionRecord, type LogRecord, startsTurn, type TrimRecord } from '../session/record.ts';
import { view, type Window } from '../session/view.ts';
import { chooseVerbatimPart, earlierFiles, newestTurn, recordTokens } from './kept.ts';
import { LEAST_TOKENS_MAX, type Summariser, type SummaryFailure, type SummaryTask, summarise } from './summarise.ts';
import { transcribe } from './transcript.ts';

/** The options of a compaction. */
export interface CompactionOptions {
  room: Room;
  summariser: Summariser;
  /** Records that omit all thinking, stored with the compaction; none if the model does not bind thinking to earlier text. */
  thinking: readonly TrimRecord[];
  /** An unguessable word that frames the summary. */
  boundary: string;
}

/** The size of a conversation before and after a change, in tokens. */
export interface Progress {
  tokensBefore: number;
  tokensAfter: number;
  /** The size after the change, without the newest question, its answer and the newest round of tools. */
  olderTokens: number;
  /** How many tokens a summary may add while the change still frees enough room. Negative if the change frees too little. */
  spareTokens: number;
}

/** A summary, with the other records that the same step stores. */
export interface Compaction extends Progress {
  /** The summary's record, without a stamp. The summary replaces the first `records` records; the rest stays verbatim. */
  head: CompactionRecord;
  /** The records that make the verbatim part small enough and valid for the API. */
  changes: readonly LogRecord[];
  calls: number;
}

type NoPlan = 'nothing_to_compact' | 'did_not_shrink';
export type CompactionFailure = SummaryFailure | { reason: NoPlan };
export type CompactionResult = ({ ok: true } & Compaction) | ({ ok: false; calls: number } & CompactionFailure);

/** The maximum number of summary calls in a compaction, not counting repetitions after failures. A user may wait for them. */
const COMPACTION_CALLS_MAX = 2;
/** A compaction must shrink the conversation to at most this share of its size. */
const SHRINK_MAX = 0.8;
/** The share of the summariser's window that a chunk may fill. Estimates may be too low, at worst by a factor of 1.55. */
const CHUNK_SHARE = 0.45;
/** If a summary would get less than this share of its planned room, old tool results are masked, too. */
const SUMMARY_SHARE_MIN = 0.5;

/**
 * Lets a model summarise all but the newest turns, in at most two calls. If an answer is not a summary, asks the other model,
 * or the same model again. Appends no records to the log. Contract: throws only what `send` and `storePart` throw.
 */
export async function compact(
  window: Window,
  options: CompactionOptions,
  signal: AbortSignal,
): Promise<CompactionResult> {
  const { room, summariser } = options;
  let calls = 0;
  for (let { name } = summariser; ; name = summariser.otherName ?? name) {
    const plan = planOf(window, options, COMPACTION_CALLS_MAX - calls);
    if (typeof plan === 'string') return { ok: false, reason: plan, calls };
    const { task, changes } = plan;
    const result = await summarise({ ...summariser, name }, task, signal);
    calls += result.calls;
    if (result.ok) {
      const head = { ...plan.head, summary: result.summary };
      return { ok: true, head, changes, calls, ...progressOf(window, windowAfter(window, head, changes), room) };
    }
    if (result.reason !== 'useless' || calls >= COMPACTION_CALLS_MAX) return { ...result, calls };
  }
}

/**
 * Plans a compaction that frees enough room with any summary of up to `task.tokensMax`, or returns the reason why that is
 * impossible. Pure except for the changes' stamps.
 */
function planOf(
  window: Window,
  { room, summariser, thinking, boundary }: CompactionOptions,
  callsMax: number,
): (Pick<Compaction, 'head' | 'changes'> & { task: SummaryTask }) | NoPlan {
  const { records, head: previousHead } = window;
  const verbatim = chooseVerbatimPart(records, room.verbatimTokens);
  // If the verbatim part would be the whole window, keep only the newest turn, and summarise everything before it.
  const { from, shortenings } = verbatim.from > 0 ? verbatim : { from: newestTurn(records), shortenings: [] };
  const older = withoutHidden(records).slice(0, from);
  const { chunks, omitted } = transcribe(older, Math.floor(summariser.limitTokens * CHUNK_SHARE), callsMax);
  if (chunks.length === 0) return 'nothing_to_compact';
  const unseen = omitted + window.omitted;
  const unseenBefore = previousHead?.t === 'compaction' ? (previousHead.unseen ?? 0) : 0;
  const files = earlierFiles(window, from);
  const fields = { records: from, unseen: unseen + unseenBefore, boundary, ...(files.length > 0 && { files }) };
  const head: CompactionRecord = { v: 1, t: 'compaction', id: '', at: '', summary: '', ...fields };
  const withMask = (masks: readonly TrimRecord[]) => {
    const changes = [...shortenings, ...masks, ...thinking];
    const { spareTokens } = progressOf(window, windowAfter(window, head, changes), room);
    return { changes, tokensMax: spareTokens };
  };
  const plain = withMask([]);
  const isRoomy = plain.tokensMax >= (room.retainedTokens - room.verbatimTokens) * SUMMARY_SHARE_MIN;
  const alternative = isRoomy ? plain : withMask(masksOf(records).slice(-1));
  const { changes, tokensMax } = alternative.tokensMax > plain.tokensMax ? alternative : plain;
  if (tokensMax < LEAST_TOKENS_MAX) return 'did_not_shrink';
  const previous =
    previousHead?.t === 'compaction' ? previousHead.summary : previousHead?.t === 'seed' ? previousHead.text : '';
  const exchanges = older.filter(startsTurn).length;
  return { head, changes, task: { chunks, previous, unseen, exchanges, tokensMax } };
}

function windowAfter({ records }: Window, head: CompactionRecord, changes: readonly LogRecord[]): Window {
  return { head, records: [...records.slice(head.records), ...changes], omitted: 0 };
}

function progressOf(oldWindow: Window, newWindow: Window, { retainedTokens, fullTokens }: Room): Progress {
  const { rest: restBefore, tokens: tokensBefore } = sizeOf(oldWindow);
  const { rest, tokens: tokensAfter, older: olderTokens } = sizeOf(newWindow);
  const spare = Math.min(restBefore * SHRINK_MAX - rest, fullTokens - rest, retainedTokens - olderTokens);
  return { tokensBefore, tokensAfter, olderTokens, spareTokens: Math.floor(spare) };
}

/**
 * The size of a window in tokens. `tokens`: of all messages. `rest`: without the newest question and its answer. `older`:
 * also without the newest round of tools.
 */
function sizeOf(window: Window): { tokens: number; rest: number; older: number } {
  const turn = asShown(window.records).slice(newestTurn(window.records));
  const isCall = (record: LogRecord) => record.t === 'assistant' && record.stopReason === 'tool_use';
  const words = turn.filter((record, at) => at === 0 || (record.t === 'assistant' && !isCall(record)));
  const call = turn.findLastIndex(isCall);
  const tokens = view(window).reduce((sum, { content }) => sum + estimateContent(content), 0);
  const rest = tokens - recordTokens(words);
  return { tokens, rest, older: call === -1 ? rest : rest - recordTokens(turn.slice(call, call + 2)) };
}

/** The number of newest turns, including the pending one, whose tool results are masked only as a second step. */
const TURNS_WHOLE = 2;

/** The masks of tool results: first for results before the newest turns, then for all results before the newest round. */
function masksOf(records: readonly LogRecord[]): TrimRecord[] {
  const turns = records.flatMap((record, index) => (startsTurn(record) ? [index] : []));
  const ends = [turns.at(-TURNS_WHOLE) ?? 0, records.findLastIndex(({ t }) => t === 'user')];
  return ends.filter((end) => end > 0).map((end) => trimOf('results', records.slice(0, end)));
}

/** The weakest mask that frees enough room together with `thinking`; `undefined` if no mask does. Pure except for stamps. */
export function maskResults(
  window: Window,
  room: Room,
  thinking: readonly TrimRecord[],
): (Progress & { trims: readonly TrimRecord[] }) | undefined {
  for (const mask of masksOf(window.records)) {
    const trims = [mask, ...thinking];
    const progress = progressOf(window, { ...window, records: [...window.records, ...trims] }, room);
    if (progress.spareTokens >= 0) return { trims, ...progress };
  }
  return undefined;
}
