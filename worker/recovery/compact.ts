import { randomBytes } from 'node:crypto';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { Change } from '../../shared/state/change.ts';
import type { AuditEvent } from '../../shared/state/lane/record-streams.ts';
import { sessionMemory, sessionState, summaryPart } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { AfterReply, Verdict } from '../lane/verdict.ts';
import { calibrationFor, estimateFixed, type Room, roomOf } from '../model/count.ts';
import { systemOf } from '../session/fixed-text.ts';
import type { LoadedSession } from '../session/held-window.ts';
import { type LogRecord, newStamp, startsTurn } from '../session/record.ts';
import { append } from '../session/store.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import { LIMIT_TOKENS_MIN, learnLimit } from './learnt-limit.ts';
import { thinkingTrim } from './leave-out.ts';
import { limitFromCall, roomFor } from './observe.ts';
import type { Summariser, SummaryPart } from './summarise.ts';
import {
  type CompactionFailure,
  type CompactionResult,
  compact,
  maskResults,
  type Progress,
} from './window-compaction.ts';

/** The result of a compaction. A failed compaction leaves the session unchanged. */
export type CompactionOutcome = { ok: true } | ({ ok: false } & CompactionFailure);

/** A session to compact, and the message for which it is compacted. */
export interface Subject {
  turn: Turn<Env>;
  loadedSession: LoadedSession;
  room: Room;
  /** The name of the step that stores the result. A step with the same name is stored only once. */
  step: string;
  /** Further changes that the step stores. */
  effects: readonly Change[];
  /** Whether a person waits for the compaction. If so, transient failures of the summariser are retried. */
  isPersonWaiting: boolean;
}

type MaskResult = { ok: true; calls: number } & Progress;

/**
 * Compacts a session. Masks old tool results; if that frees too little room, lets a model summarise the older part; if that
 * fails, except for a transient reason or an abort, accepts masks that free less. Stores a success in one step.
 * Contract: throws `FencedError`, or what Redis throws.
 */
export function compactSession(subject: Subject, signal: AbortSignal): Promise<CompactionOutcome> {
  return subject.turn.env.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const maskResult = await maskSession(subject, subject.room);
    const result = maskResult ?? (await summariseSession(subject, signal));
    const { calls } = result;
    span.setAttributes({ success: result.ok, 'spillway.compaction.calls': calls });
    if (result.ok) {
      const { tokensBefore, tokensAfter } = result;
      span.setAttributes({ 'spillway.tokens.before': tokensBefore, 'spillway.tokens.after': tokensAfter });
      return { ok: true };
    }
    const { reason } = result;
    if (reason === 'aborted') return result;
    span.setAttributes({ 'error.type': reason });
    await commit(subject.turn, { step: '', events: [{ event: 'context.compaction-failed', reason, calls }] });
    return result;
  });
}

/** Masks old tool results after a failed summary: the masked session may be as large as `fullTokens`, but not larger. */
function maskWithoutSummary(subject: Subject): Promise<MaskResult | undefined> {
  return maskSession(subject, { ...subject.room, retainedTokens: subject.room.fullTokens });
}

/** Masks old tool results. Stores nothing if the masks free too little room, or if the load had to omit records. */
async function maskSession(subject: Subject, room: Room): Promise<MaskResult | undefined> {
  const { env } = subject.turn;
  const { window } = subject.loadedSession;
  const mask = window.omitted > 0 ? undefined : maskResults(window, room, thinkingTrim(env, window.records));
  if (!mask) return undefined;
  const { trims, tokensBefore, tokensAfter } = mask;
  await store(subject, mask, trims, { event: 'context.force-pruned', tokensBefore, tokensAfter });
  return { ok: true, calls: 0, ...mask };
}

/** The room for another try, if the summariser refused and stated a window of less than half the size that we had assumed. */
function smallerRoom({ room, turn }: Subject, failed: CompactionFailure): Room | undefined {
  const { limitTokens = 0 } = failed.reason === 'refused' ? failed.failure : {};
  return limitTokens >= LIMIT_TOKENS_MIN && limitTokens * 2 < room.limitTokens
    ? roomOf(limitTokens, turn.env.settings)
    : undefined;
}

async function summariseSession(subject: Subject, signal: AbortSignal): Promise<MaskResult | CompactionResult> {
  const { turn, loadedSession, room } = subject;
  const { records, omitted } = loadedSession.window;
  const options = {
    room,
    summariser: await summariserOf(subject),
    thinking: thinkingTrim(subject.turn.env, records),
    boundary: randomBytes(9).toString('base64url'),
  };
  const result = await compact(loadedSession.window, options, signal);
  if (!result.ok) {
    const smaller = smallerRoom(subject, result);
    if (smaller) return summariseSession({ ...subject, room: smaller }, signal);
    const isUndecided = result.reason === 'aborted' || result.reason === 'away';
    return (isUndecided ? undefined : await maskWithoutSummary(subject)) ?? result;
  }
  const { head, changes, tokensBefore, tokensAfter, calls } = result;
  const windowStart = loadedSession.firstIndex + head.records;
  const record = { ...head, ...newStamp(), records: windowStart };
  const compaction = sessionState(turn.keys, turn.session).compact({
    // The compaction's record is appended to the log, after all loaded records.
    head: loadedSession.logRecords,
    windowStart,
    at: record.at,
    tokens: tokensAfter,
    unreported: omitted + records.slice(0, head.records).filter(startsTurn).length,
  });
  const sizes = { tokensBefore, tokensAfter, calls, summaryChars: head.summary.length };
  const withEffects = { ...subject, effects: [...compaction, ...subject.effects] };
  await store(withEffects, result, [record, ...changes], { event: 'context.compacted', ...sizes });
  return result;
}

async function summariserOf({ turn, room, isPersonWaiting }: Subject): Promise<Summariser> {
  const { settings, model } = turn.env;
  const { COMPACTION_MODEL: name, FALLBACK_MODEL, MODEL } = settings;
  const { windowTokens, maxOutputTokens } = await model.limits(name);
  return {
    name,
    otherName: [FALLBACK_MODEL, MODEL].find((other) => other !== undefined && other !== name),
    limitTokens: Math.min(windowTokens, room.limitTokens),
    outputTokens: maxOutputTokens ?? Number.POSITIVE_INFINITY,
    settings,
    storedPart: turn.summaryPart === undefined ? undefined : (JSON.parse(turn.summaryPart) as SummaryPart),
    untilMs: performance.now() + settings.SUMMARY_TIME_MS,
    retriesTransient: isPersonWaiting,
    send: async (request, signal, onText) => {
      await turn.assertOwned();
      return model.send({ ...request, payer: turn.payer }, signal, onText);
    },
    storePart: async (part) => {
      await turn.write('', [summaryPart(turn.keys, turn.session).keep(JSON.stringify(part))]);
      turn.env.reach('summary part stored');
    },
  };
}

/**
 * Stores the changes of a compaction in one step. Counts the compaction as vain if the older part of the session and the
 * fixed parts are still larger than `fullTokens`; otherwise resets the count. The newest message and its tool results do
 * not matter here, because compaction cannot make them smaller.
 */
async function store(
  { turn, room, step, effects }: Subject,
  { olderTokens }: Progress,
  records: readonly LogRecord[],
  event: AuditEvent,
): Promise<void> {
  const { env, keys, session, vainCompactions, calibration } = turn;
  const { serverTools, MODEL } = env.settings;
  const fixedParts = { system: systemOf(turn), tools: env.tools.specs(), serverTools };
  const leftTokens = (estimateFixed(fixedParts) + olderTokens) * calibrationFor(MODEL, calibration);
  const changes: Change[] = [
    ...append(keys, session, records),
    sessionState(keys, session).setVainCompactions(leftTokens > room.fullTokens ? vainCompactions + 1 : 0),
    sessionMemory(keys, session).renew(),
    summaryPart(keys, session).forget(),
    ...effects,
  ];
  await commit(turn, { step, changes, events: [event] });
}

/** After this many vain compactions in a row, the session is compacted only before a call that needs the room. */
const VAIN_AFTER_REPLY_MAX = 2;

/** Masks old tool results after a failed summary. Returns `undefined` if the masks free too little room. */
export async function maskForRetry(call: FailedCall): Promise<Verdict | undefined> {
  return (await maskWithoutSummary(subjectOf(call))) && { kind: 'again' };
}

/** The session of a message whose request is too long. The compaction's step also stores the new stage. */
export function subjectOf(call: FailedCall): Subject {
  const { turn, loadedSession } = call;
  const { settings } = turn.env;
  const limit = learnLimit(turn, settings, limitFromCall(settings, call));
  const effects = [...changesOfStep(call, undefined, 'compacted'), ...limit];
  const step = `recover:${turn.recoveries}`;
  return { turn, loadedSession, room: roomFor(settings, call), step, effects, isPersonWaiting: true };
}

/**
 * Prevention: compacts a session after a reply, while no user waits. The session includes the answer. A failure does no
 * harm, because the count before the next message's call triggers a compaction if one is needed. Each try counts as vain
 * until it succeeds, and after two vain compactions this function does nothing. So a chat whose messages always interrupt
 * the compaction costs a bounded number of calls.
 */
export async function compactAfterReply(turn: Turn<Env>, afterReply: AfterReply, signal: AbortSignal): Promise<void> {
  if (turn.vainCompactions >= VAIN_AFTER_REPLY_MAX) return;
  const state = sessionState(turn.keys, turn.session);
  await turn.write('', [turn.markReplied(), state.setVainCompactions(turn.vainCompactions + 1)]);
  const { loadedSession, room } = afterReply;
  const subject = { turn, loadedSession, room, step: 'compact-after-reply', effects: [], isPersonWaiting: false };
  await compactSession(subject, signal);
}
