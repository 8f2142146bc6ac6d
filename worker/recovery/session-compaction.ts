import { randomBytes } from 'node:crypto';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { Change } from '../../shared/state/change.ts';
import { carriedMemory, sessionState, summaryPart } from '../../shared/state/session/session.ts';
import type { Attempt } from '../lane/attempt.ts';
import { type AuditEvent, commit } from '../lane/events.ts';
import { type Room, roomOf } from '../model/count.ts';
import type { FailedCall } from '../model/port.ts';
import type { OpenedSession } from '../session/held-window.ts';
import { type LogRecord, newStamp, startsTurn } from '../session/record.ts';
import { append } from '../session/store.ts';
import type { Window } from '../session/view.ts';
import {
  COMPACTION_CALLS_MAX,
  type Compaction,
  type CompactionFailure,
  type CompactionResult,
  compact,
  maskResults,
  trimOldRounds,
} from './compact.ts';
import type { RecoverPorts } from './effects.ts';
import { LIMIT_TOKENS_MIN } from './learnt-limit.ts';
import { thinkingTrim } from './scrub.ts';
import { finishedPart, summariserOf } from './summarise.ts';
import { wasNotAsked } from './summary-call.ts';

/** Why a session was not compacted, with the failed call where that was the cause. */
export interface Uncompacted {
  reason: string;
  failed?: FailedCall | undefined;
}

/** A session to compact, and for whom. */
export interface Subject {
  attempt: Attempt;
  opened: OpenedSession;
  room: Room;
  /** The step under which the result is stored, once. */
  step: string;
  /** Stored with it. */
  effects: readonly Change[];
  /** How long transient trouble is waited out. */
  patienceMs: number;
  /** Calls that were made in vain. */
  callsMade?: number;
}

/** A session to compact, and when that must have come to an end, by the monotonic clock. */
export interface TimedSubject extends Subject {
  untilMs: number;
}

/**
 * Compacts a session: masks its old tool results where that is enough, or else has the model summarise it, in the time
 * that a person waits. Where there is no summary, a weaker mask is better than none, and than a lost session. The result
 * is stored in one step. Returns why it failed, or nothing. Contract: throws `FencedError`, or what Redis throws.
 */
export async function compactSession(
  ports: RecoverPorts,
  subject: Subject,
  signal: AbortSignal,
): Promise<Uncompacted | undefined> {
  return ports.observability.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const result = await compacted(ports, subject, signal);
    if (!result.ok) {
      const { reason, calls } = result.failed;
      if (signal.aborted) return { reason: 'aborted' };
      span.setAttributes({ 'error.type': reason, 'spillway.compaction.calls': calls });
      const events = [{ event: 'context.compaction-failed', reason, calls } as const];
      await commit(ports.observability, subject.attempt, { step: '', events });
      return result.failed;
    }
    const { tokensBefore, tokensAfter, calls } = result.compaction;
    span.setAttributes({
      success: true,
      'spillway.tokens.before': tokensBefore,
      'spillway.tokens.after': tokensAfter,
      'spillway.compaction.calls': calls,
    });
    return undefined;
  });
}

async function compacted(
  ports: RecoverPorts,
  subject: Subject,
  signal: AbortSignal,
): Promise<Compacted | Extract<CompactionResult, { ok: false }>> {
  const masked = await maskOldResults(ports, subject);
  if (masked) return masked;
  const untilMs = performance.now() + ports.settings.summaryTimeMs;
  const summarised = await summariseSession(ports, { ...subject, untilMs }, signal);
  if (summarised.ok || signal.aborted) return summarised;
  const { failure } = summarised.failed.failed ?? {};
  if (failure && wasNotAsked(failure)) return summarised;
  const { room } = subject;
  return (
    (await maskOldResults(ports, { ...subject, room: { ...room, retainedTokens: room.fullTokens } })) ?? summarised
  );
}

type Compacted = { ok: true; compaction: Pick<Compaction, 'tokensBefore' | 'tokensAfter' | 'calls'> };

/** The cheap step first: replaces each old tool result by one line. It restores nothing that a load has omitted. */
async function maskOldResults(ports: RecoverPorts, subject: Subject): Promise<Compacted | undefined> {
  const { window } = subject.opened;
  if (window.omitted > 0) return undefined;
  const mask = maskResults(window, subject.room, thinkingTrim(ports, window.records));
  if (!mask) return undefined;
  const { trims, tokensBefore, tokensAfter } = mask;
  await store(ports, subject, trims, [{ event: 'context.force-pruned', tokensBefore, tokensAfter }]);
  return { ok: true, compaction: { tokensBefore, tokensAfter, calls: 0 } };
}

async function summariseSession(
  ports: RecoverPorts,
  subject: TimedSubject,
  signal: AbortSignal,
): Promise<CompactionResult> {
  const { opened, room } = subject;
  const { records } = opened.window;
  const boundary = randomBytes(9).toString('base64url');
  const options = {
    room,
    boundary,
    summariser: await summariserOf(ports, subject),
    callsMax: COMPACTION_CALLS_MAX - (subject.callsMade ?? 0),
    done: finishedPart(subject.attempt),
    mask: trimOldRounds(records),
    thinking: thinkingTrim(ports, records),
  };
  const result = await compact(opened.window, options, signal);
  if (!result.ok) {
    const smaller = measuredAnew(ports, subject, result.failed);
    return smaller ? summariseSession(ports, smaller, signal) : result;
  }
  const { summary, keptFrom, unseen, files, changes, tokensBefore, tokensAfter, calls } = result.compaction;
  const windowStart = opened.firstIndex + keptFrom;
  const stamp = newStamp();
  const about = {
    summary: summary.toWellFormed(),
    records: windowStart,
    unseen,
    boundary,
    ...(files.length > 0 && { files }),
  };
  const record: LogRecord = { v: 1, t: 'compaction', ...stamp, ...about };
  const event = { event: 'context.compacted', tokensBefore, tokensAfter, calls, summaryChars: summary.length } as const;
  const { keys, session } = subject.attempt;
  const compacted = sessionState(keys, session).compact({
    // The record lands at the end of the log, behind everything that was loaded.
    head: opened.logRecords,
    windowStart,
    at: stamp.at,
    tokens: tokensAfter,
    unreported: messagesIn(opened.window, keptFrom),
  });
  const effects = [...compacted, ...subject.effects];
  await store(ports, { ...subject, effects }, [record, ...changes], [event]);
  return result;
}

/** How many messages a summary stands for that were shown until now. */
function messagesIn({ records, omitted }: Window, keptFrom: number): number {
  return omitted + records.slice(0, keptFrom).filter(startsTurn).length;
}

/** Retries a summariser that overflows and states a smaller window once, with what fits that window. */
function measuredAnew(ports: RecoverPorts, subject: TimedSubject, failed: CompactionFailure): TimedSubject | undefined {
  const { room, callsMade = 0 } = subject;
  const limitTokens = failed.failed?.failure.limitTokens ?? 0;
  const isNews = limitTokens >= LIMIT_TOKENS_MIN && limitTokens < room.limitTokens;
  if (!isNews || callsMade + failed.calls >= COMPACTION_CALLS_MAX) return undefined;
  return {
    ...subject,
    room: roomOf(limitTokens, ports.settings),
    callsMade: callsMade + failed.calls,
  };
}

/** Stores everything that belongs to one compaction, in one step. */
async function store(
  { observability }: RecoverPorts,
  { attempt, step, effects }: Subject,
  records: readonly LogRecord[],
  events: readonly AuditEvent[],
): Promise<void> {
  const changes: Change[] = [
    ...append(attempt.keys, attempt.session, records),
    sessionState(attempt.keys, attempt.session).countCompaction(),
    carriedMemory(attempt.keys, attempt.session).renew(),
    summaryPart(attempt.keys, attempt.session).forget(),
    ...effects,
  ];
  await commit(observability, attempt, { step, changes, events });
}
