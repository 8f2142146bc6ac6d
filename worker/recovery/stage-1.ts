import { randomBytes } from 'node:crypto';
import { METRIC, SPAN } from '../../shared/base/telemetry.ts';
import { type Attempt, type Command, REPLIED } from '../lane/attempt.ts';
import { type AuditEvent, auditCommand, failedCallEvent } from '../lane/audit-trail.ts';
import type { FailedCall } from '../model/port.ts';
import { type Room, roomOf } from '../model/room.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, archivableCommand, newStamp, type OpenedSession } from '../session/store.ts';
import type { Conversation } from './cached-summary.ts';
import {
  COMPACTION_CALLS_MAX,
  type Compaction,
  type CompactionFailure,
  type CompactionResult,
  compact,
} from './compact.ts';
import type { RecoveryTime } from './effects.ts';
import {
  type LearntLimit,
  LIMIT_TOKENS_MIN,
  learnLimit,
  moveTo,
  type Overflow,
  type RecoverPorts,
  thinkingTrim,
} from './effects.ts';
import { maskResults, trimOldRounds } from './mask.ts';
import type { Summariser, SummaryPart } from './summarise.ts';

/** A session that was compacted this often in a row refills at once: another compaction would not help. */
export const COMPACTIONS_IN_ROW_MAX = 3;
/**
 * How often in a row a compaction after a reply may be in vain; then the session is left alone until a call needs the
 * room.
 */
const VAIN_COMPACTIONS_MAX = 2;
/** The turn's field that holds the finished part of a summary. */
const PART = 'summary';

/** Why a session was not compacted, with the failed call where that was the cause. */
interface Uncompacted {
  reason: string;
  failed?: FailedCall | undefined;
}

/** What is compacted, and for whom. */
interface Subject {
  attempt: Attempt;
  opened: OpenedSession;
  room: Room;
  /** The step under which the result is stored, once. */
  step: string;
  /** What is stored with it. */
  effects: readonly Command[];
  /** How long transient trouble is waited out. */
  patienceMs: number;
  /** Calls that were made in vain. */
  callsMade?: number;
  /** The conversation as a turn sends it, where a summary may read it from the provider's cache. */
  conversation?: () => Promise<Conversation>;
}

/**
 * Stage 1: compacts the session of a message that does not fit, and stores the stage with the result. Returns why it
 * failed, or nothing when the message can be retried.
 */
export async function compactForRetry(
  ports: RecoverPorts,
  { attempt, opened, limitTokens }: Overflow,
  learnt: LearntLimit,
  signal: AbortSignal,
): Promise<Uncompacted | undefined> {
  if (attempt.compactionsInRow >= COMPACTIONS_IN_ROW_MAX) return { reason: 'refills_at_once' };
  const step = `recover:${attempt.recoveries}`;
  const effects = [...moveTo(attempt, 'compacted'), ...learnLimit(attempt, limitTokens, learnt)];
  const room = roomOf(learnt.limitTokens, ports.settings);
  const patienceMs = ports.settings.summaryPatienceMs;
  return compactSession(ports, { attempt, opened, room, step, effects, patienceMs }, signal);
}

/**
 * Prevention: compacts a session after a reply, while no user waits. `opened` is the window with the answer in it. A
 * failure does not matter here: the next message's own count triggers compaction again.
 */
export async function compactAfterReply(
  ports: RecoverPorts,
  attempt: Attempt,
  opened: OpenedSession,
  { room, conversation }: { room: Room; conversation: () => Promise<Conversation> },
  { signal, deadline }: RecoveryTime,
): Promise<void> {
  if (attempt.compactionsInRow >= COMPACTIONS_IN_ROW_MAX || attempt.vainCompactions >= VAIN_COMPACTIONS_MAX) return;
  await attempt.write('', [['HSET', attempt.keys.turn(attempt.entry), REPLIED, 1]]);
  const failed = await compactSession(
    ports,
    {
      attempt,
      opened,
      room,
      step: 'compact-after-reply',
      effects: [],
      patienceMs: 0,
      ...(ports.settings.summariesFromCache &&
        ports.settings.compactionModel === ports.settings.modelName && { conversation }),
    },
    signal,
  );
  if (failed === undefined || (signal.aborted && !deadline.aborted)) return;
  await attempt.write('', [['HINCRBY', attempt.keys.session(attempt.session), 'vainCompactions', 1]]);
}

async function compactSession(
  ports: RecoverPorts,
  subject: Subject,
  signal: AbortSignal,
): Promise<Uncompacted | undefined> {
  return ports.instruments.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const result = (await maskOldResults(ports, subject)) ?? (await summariseSession(ports, subject, signal));
    if (!result.ok) {
      const { reason, calls } = result.failed;
      if (signal.aborted) return { reason: 'aborted' };
      span.setAttributes({ 'error.type': reason, 'spillway.compaction.calls': calls });
      ports.instruments.telemetry.count(METRIC.recoveries, { action: 'compact', result: reason });
      const { failed } = result.failed;
      await subject.attempt.write('', [
        auditCommand(subject.attempt, { event: 'context.compaction-failed', reason, calls }),
        ...(failed
          ? [auditCommand(subject.attempt, failedCallEvent('summary', ports.settings.compactionModel, failed))]
          : []),
      ]);
      return result.failed;
    }
    const { tokensBefore, tokensAfter, calls } = result.compaction;
    span.setAttributes({
      success: true,
      'spillway.tokens.before': tokensBefore,
      'spillway.tokens.after': tokensAfter,
      'spillway.compaction.calls': calls,
    });
    ports.instruments.telemetry.count(METRIC.recoveries, { action: calls === 0 ? 'mask' : 'compact', result: 'ok' });
    ports.instruments.reach('compaction stored');
    return undefined;
  });
}

type Compacted = { ok: true; compaction: Pick<Compaction, 'tokensBefore' | 'tokensAfter' | 'calls'> };

/** The cheap step first: replaces each old tool result by one line. It restores nothing that a load has omitted. */
async function maskOldResults(ports: RecoverPorts, subject: Subject): Promise<Compacted | undefined> {
  const { window } = subject.opened;
  if (window.omitted > 0) return undefined;
  const mask = maskResults(window, subject.room, thinkingTrim(ports, window.records));
  if (!mask) return undefined;
  const { trims, tokensBefore, tokensAfter } = mask;
  await store(subject, trims, [], [{ event: 'context.force-pruned', tokensBefore, tokensAfter }]);
  return { ok: true, compaction: { tokensBefore, tokensAfter, calls: 0 } };
}

async function summariseSession(ports: RecoverPorts, subject: Subject, signal: AbortSignal): Promise<CompactionResult> {
  const { opened, room } = subject;
  const { records } = opened.window;
  const boundary = randomBytes(9).toString('base64url');
  const options = {
    room,
    boundary,
    summariser: await summariserOf(ports, subject),
    conversation: await subject.conversation?.(),
    callsMax: COMPACTION_CALLS_MAX - (subject.callsMade ?? 0),
    done: finishedPart(subject),
    mask: trimOldRounds(records),
    thinking: thinkingTrim(ports, records),
  };
  const result = await compact(opened.window, options, signal);
  if (!result.ok) {
    const smaller = measuredAnew(ports, subject, result.failed);
    return smaller ? summariseSession(ports, smaller, signal) : result;
  }
  const { summary, keptFrom, unseen, changes, tokensBefore, tokensAfter, calls, usage } = result.compaction;
  const windowStart = opened.firstIndex + keptFrom;
  const stamp = newStamp();
  const record: LogRecord = { v: 1, t: 'compaction', ...stamp, summary, records: windowStart, unseen, boundary };
  // The record lands at the end of the log, behind everything that was loaded.
  const window = ['head', opened.logRecords, 'windowStart', windowStart, 'vainCompactions', 0];
  const event = { event: 'context.compacted', tokensBefore, tokensAfter, calls, summaryChars: summary.length } as const;
  const cost = {
    event: 'model.answered',
    purpose: 'summary',
    model: ports.settings.compactionModel,
    ...usage,
  } as const;
  await store(subject, [record, ...changes], window, [event, cost]);
  return result;
}

/** Retries a summariser that overflows and states a smaller window once, with what fits that window. */
function measuredAnew(ports: RecoverPorts, subject: Subject, failed: CompactionFailure): Subject | undefined {
  const { attempt, room, effects, callsMade = 0 } = subject;
  const limitTokens = failed.failed?.failure.limitTokens ?? 0;
  const isNews = limitTokens >= LIMIT_TOKENS_MIN && limitTokens < room.limitTokens;
  if (!isNews || callsMade + failed.calls >= COMPACTION_CALLS_MAX) return undefined;
  const isOwn = ports.settings.compactionModel === ports.settings.modelName;
  const learnt = isOwn ? learnLimit(attempt, room.limitTokens, { limitTokens, isGuess: false }) : [];
  return {
    ...subject,
    room: roomOf(limitTokens, ports.settings),
    effects: [...effects, ...learnt],
    callsMade: callsMade + failed.calls,
  };
}

/** A chunk must fit the summariser, and its summary must fit the chat. */
async function summariserOf(ports: RecoverPorts, subject: Subject): Promise<Summariser> {
  const { attempt, room } = subject;
  const { windowTokens, maxOutputTokens } = await ports.endpoint.model.limits(ports.settings.compactionModel);
  return {
    model: ports.endpoint.model,
    chat: attempt.chat,
    name: ports.settings.compactionModel,
    fallbackName: ports.settings.fallbackModel,
    limitTokens: Math.min(windowTokens, room.limitTokens),
    outputTokens: maxOutputTokens ?? Number.POSITIVE_INFINITY,
    summaryTokens: Math.max(1, room.retainedTokens - room.keptTokens),
    preserve: ports.settings.preserve,
    patienceMs: subject.patienceMs,
    beforeCall: () => attempt.assertOwned(),
    keepPart: async (part) => {
      const kept = JSON.stringify({ of: subjectKey(subject), part });
      await attempt.write('', [['HSET', attempt.keys.turn(attempt.entry), PART, kept]]);
      ports.instruments.reach('summary part stored');
    },
  };
}

/** The finished part of the same summary: the same records give the same chunks. */
function finishedPart(subject: Subject): SummaryPart | undefined {
  const kept = subject.attempt.field(PART);
  if (kept === undefined) return undefined;
  const { of, part } = JSON.parse(kept) as { of: string; part: SummaryPart };
  return of === subjectKey(subject) ? part : undefined;
}

function subjectKey({ attempt, opened, room }: Subject): string {
  return [attempt.session, opened.firstIndex, opened.logRecords, room.limitTokens].join(' ');
}

/** Stores everything that belongs to one compaction, in one step. */
async function store(
  { attempt, step, effects }: Subject,
  records: readonly LogRecord[],
  window: readonly (string | number)[],
  events: readonly AuditEvent[],
): Promise<void> {
  const session = attempt.keys.session(attempt.session);
  await attempt.write(step, [
    ...appendCommands(attempt.keys, attempt.session, records),
    ...(window.length > 0
      ? [['HSET', session, ...window] as const, archivableCommand(attempt.keys, attempt.session)]
      : []),
    ['HINCRBY', session, 'compactionsInRow', 1],
    ['HDEL', attempt.keys.turn(attempt.entry), PART],
    ...effects,
    ...events.map((event) => auditCommand(attempt, event)),
  ]);
}
