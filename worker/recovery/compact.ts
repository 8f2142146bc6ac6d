import { randomBytes } from 'node:crypto';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { Change } from '../../shared/state/change.ts';
import type { AuditEvent } from '../../shared/state/lane/record-streams.ts';
import { sessionMemory, sessionState, summaryPart } from '../../shared/state/session/session.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { calibrationFor, estimateFixed, type Room, roomOf } from '../model/count.ts';
import { systemOf } from '../session/fixed-text.ts';
import type { OpenedSession } from '../session/held-window.ts';
import { type LogRecord, newStamp, startsTurn } from '../session/record.ts';
import { append } from '../session/store.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import { LIMIT_TOKENS_MIN, learnLimit } from './learnt-limit.ts';
import { thinkingTrim } from './leave-out.ts';
import { learntFrom, roomFor } from './observe.ts';
import type { Summariser, SummaryPart } from './summarise.ts';
import {
  type CompactionFailure,
  type CompactionResult,
  compact,
  maskResults,
  type Progress,
} from './window-compaction.ts';

/** How the compaction of a session ended. With `away`, nothing was stored: nothing is wrong with the conversation. */
export type CompactionOutcome = { ok: true } | ({ ok: false } & CompactionFailure);

/** A session to compact, and for whom. */
export interface Subject {
  turn: Turn<Env>;
  opened: OpenedSession;
  room: Room;
  /** The step under which the result is stored, once. */
  step: string;
  /** Stored with it. */
  effects: readonly Change[];
  /** Whether a person waits for it. If so, trouble of the summariser is waited out. */
  isWaitedFor: boolean;
}

type Masked = { ok: true; calls: number } & Progress;

/**
 * Compacts a session, in the time that a person waits. First it masks old tool results; where that is not enough, a model
 * summarises the session; where there is no summary, a weaker mask is better than a lost session. The result is stored in
 * one step. Contract: throws `FencedError`, or what Redis throws.
 */
export function compactSession(subject: Subject, signal: AbortSignal): Promise<CompactionOutcome> {
  const { env } = subject.turn;
  return env.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const masked = await maskSession(subject, subject.room);
    const result = masked ?? (await summariseSession(subject, signal));
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
    const event = { event: 'context.compaction-failed', reason, calls } as const;
    await commit(subject.turn, { step: '', events: [event] });
    return result;
  });
}

/** Masks old tool results after a failed summary, and accepts a result that fills the session up to `fullTokens`. */
function maskWithoutSummary(subject: Subject): Promise<Masked | undefined> {
  return maskSession(subject, { ...subject.room, retainedTokens: subject.room.fullTokens });
}

/** Replaces each old tool result by one line, if that is enough. Does nothing if the load had to omit records. */
async function maskSession(subject: Subject, room: Room): Promise<Masked | undefined> {
  const { env } = subject.turn;
  const { window } = subject.opened;
  const mask = window.omitted > 0 ? undefined : maskResults(window, room, thinkingTrim(env, window.records));
  if (!mask) return undefined;
  const { trims, tokensBefore, tokensAfter } = mask;
  await store(subject, mask, trims, { event: 'context.force-pruned', tokensBefore, tokensAfter });
  return { ok: true, calls: 0, ...mask };
}

/** The room of a summariser that refused its transcript and stated a window smaller than half of what was assumed. */
function smallerRoom(
  {
    room,
    turn: {
      env: { settings },
    },
  }: Subject,
  failed: CompactionFailure,
): Room | undefined {
  const { limitTokens = 0 } = failed.reason === 'refused' ? failed.failure : {};
  return limitTokens >= LIMIT_TOKENS_MIN && limitTokens * 2 < room.limitTokens
    ? roomOf(limitTokens, settings)
    : undefined;
}

async function summariseSession(subject: Subject, signal: AbortSignal): Promise<Masked | CompactionResult> {
  const { env } = subject.turn;
  const { turn, opened, room } = subject;
  const { records, omitted } = opened.window;
  const options = {
    room,
    summariser: await summariserOf(subject),
    thinking: thinkingTrim(env, records),
    boundary: randomBytes(9).toString('base64url'),
  };
  const result = await compact(opened.window, options, signal);
  if (!result.ok) {
    const smaller = smallerRoom(subject, result);
    if (smaller) return summariseSession({ ...subject, room: smaller }, signal);
    const isUndecided = result.reason === 'aborted' || result.reason === 'away';
    return (isUndecided ? undefined : await maskWithoutSummary(subject)) ?? result;
  }
  const { head, changes, tokensBefore, tokensAfter, calls } = result;
  const windowStart = opened.firstIndex + head.records;
  const record = { ...head, ...newStamp(), records: windowStart };
  const compacted = sessionState(turn.keys, turn.session).compact({
    // The record lands at the end of the log, behind everything that was loaded.
    head: opened.logRecords,
    windowStart,
    at: record.at,
    tokens: tokensAfter,
    unreported: omitted + records.slice(0, head.records).filter(startsTurn).length,
  });
  const sizes = { tokensBefore, tokensAfter, calls, summaryChars: head.summary.length };
  const withEffects = { ...subject, effects: [...compacted, ...subject.effects] };
  await store(withEffects, result, [record, ...changes], { event: 'context.compacted', ...sizes });
  return result;
}

async function summariserOf({ turn, room, isWaitedFor }: Subject): Promise<Summariser> {
  const { env } = turn;
  const { settings, model } = env;
  const { COMPACTION_MODEL: name, FALLBACK_MODEL, MODEL } = settings;
  const { windowTokens, maxOutputTokens } = await model.limits(name);
  return {
    name,
    // The model that answers the chat can summarise it as well.
    otherName: [FALLBACK_MODEL, MODEL].find((other) => other !== undefined && other !== name),
    limitTokens: Math.min(windowTokens, room.limitTokens),
    outputTokens: maxOutputTokens ?? Number.POSITIVE_INFINITY,
    settings,
    done: turn.summaryPart === undefined ? undefined : (JSON.parse(turn.summaryPart) as SummaryPart),
    untilMs: performance.now() + settings.SUMMARY_TIME_MS,
    waitsOut: isWaitedFor,
    send: async (request, signal, onText) => {
      await turn.assertOwned();
      return model.send({ ...request, payer: turn.payer }, signal, onText);
    },
    keepPart: async (part) => {
      await turn.write('', [summaryPart(turn.keys, turn.session).keep(JSON.stringify(part))]);
      env.reach('summary part stored');
    },
  };
}

/**
 * Stores everything that belongs to one compaction, in one step. A compaction was in vain if what it kept, with the fixed
 * parts, still fills the session. The newest message does not count: the next large one is no fault of the compaction.
 */
async function store(
  { turn, room, step, effects }: Subject,
  { keptTokens }: Progress,
  records: readonly LogRecord[],
  event: AuditEvent,
): Promise<void> {
  const { env, keys, session, vainCompactions, calibration } = turn;
  const { serverTools, MODEL } = env.settings;
  const fixed = { system: systemOf(turn), tools: env.tools.specs(), serverTools };
  const leftTokens = (estimateFixed(fixed) + keptTokens) * calibrationFor(MODEL, calibration);
  const changes: Change[] = [
    ...append(keys, session, records),
    sessionState(keys, session).setVainCompactions(leftTokens > room.fullTokens ? vainCompactions + 1 : 0),
    sessionMemory(keys, session).renew(),
    summaryPart(keys, session).forget(),
    ...effects,
  ];
  await commit(turn, { step, changes, events: [event] });
}

/** After this many useless compactions in a row, none follows a reply. A call that needs the room still compacts. */
const VAIN_AFTER_REPLY_MAX = 2;

/** Compacts the session of a message that does not fit, and stores the stage with the result. */
export function compactForRetry(call: FailedCall, signal: AbortSignal): Promise<CompactionOutcome> {
  return compactSession(subjectOf(call), signal);
}

/** Shortens old tool results to a line each where there is no summary. Returns nothing where that is not enough. */
export async function maskForRetry(call: FailedCall): Promise<Verdict | undefined> {
  return (await maskWithoutSummary(subjectOf(call))) && { kind: 'again' };
}

function subjectOf(call: FailedCall): Subject {
  const { settings } = call.turn.env;
  const { turn, opened } = call;
  const learnt = learnLimit(turn, settings, learntFrom(settings, call));
  const effects = [...changesOfStep(call, undefined, 'compacted'), ...learnt];
  const step = `recover:${turn.recoveries}`;
  return { turn, opened, room: roomFor(settings, call), step, effects, isWaitedFor: true };
}

/**
 * Prevention: compacts a session after a reply, while no user waits. `opened` is the window with the answer in it. A
 * failure does not matter here: the next message's own count triggers compaction again. Each try is counted before it
 * begins, so that a chat that always interrupts it costs a bounded number of calls.
 */
export async function compactAfterReply(
  turn: Turn<Env>,
  opened: OpenedSession,
  room: Room,
  signal: AbortSignal,
): Promise<void> {
  if (turn.vainCompactions >= VAIN_AFTER_REPLY_MAX) return;
  const state = sessionState(turn.keys, turn.session);
  await turn.write('', [turn.markReplied(), state.setVainCompactions(turn.vainCompactions + 1)]);
  const subject = { turn, opened, room, step: 'compact-after-reply', effects: [], isWaitedFor: false };
  await compactSession(subject, signal);
}
