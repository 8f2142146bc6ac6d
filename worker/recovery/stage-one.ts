import { METRIC, SPAN } from '../../shared/telemetry.ts';
import type { Attempt, Command } from '../attempt.ts';
import { type AuditEvent, auditCommand } from '../audit.ts';
import type { Failure } from '../model/classify.ts';
import { bindsThinking } from '../model/family.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, archivableCommand, newStamp, type OpenedSession } from '../session/store.ts';
import { type Compaction, type CompactionResult, compact } from './compact.ts';
import { maskResults, trimOldRounds } from './mask.ts';
import { learnLimit, moveTo, type Overflow, type RecoverParts, thinkingTrim } from './step.ts';

/** A session that was compacted this often in a row refills at once: compacting it again would not help. */
export const COMPACTIONS_IN_ROW_MAX = 3;

/** Why a session was not compacted, with the failure of the call where that was it. */
interface Uncompacted {
  reason: string;
  failure?: Failure;
}

/** What is compacted, and by whom. */
interface Subject {
  attempt: Attempt;
  opened: OpenedSession;
  limitTokens: number;
  /** The step under which the result is stored, once. */
  step: string;
  /** What is stored with it. */
  effects: readonly Command[];
}

/**
 * Stage 1: compacts the session of a message that does not fit, and stores the stage with the result. Returns why it
 * failed, or nothing when the message can be tried again.
 */
export async function compactForRetry(
  parts: RecoverParts,
  { attempt, opened, ...overflow }: Overflow,
  limitTokens: number,
  signal: AbortSignal,
): Promise<Uncompacted | undefined> {
  if (attempt.compactionsInRow >= COMPACTIONS_IN_ROW_MAX) return { reason: 'refills_at_once' };
  const step = `recover:${attempt.recoveries}`;
  const effects = [...moveTo(attempt, 'compacted'), ...learnLimit(attempt, overflow.limitTokens, limitTokens)];
  return compactSession(parts, { attempt, opened, limitTokens, step, effects }, signal);
}

/**
 * Prevention: compacts a session after a reply, while nobody waits. `opened` is the window with the answer in it. A
 * failure is of no account here: the next message's own count will see to it.
 */
export async function compactAfterReply(
  parts: RecoverParts,
  attempt: Attempt,
  opened: OpenedSession,
  limitTokens: number,
  signal: AbortSignal,
): Promise<void> {
  if (attempt.compactionsInRow >= COMPACTIONS_IN_ROW_MAX) return;
  await compactSession(parts, { attempt, opened, limitTokens, step: 'compact-after-reply', effects: [] }, signal);
}

async function compactSession(
  parts: RecoverParts,
  subject: Subject,
  signal: AbortSignal,
): Promise<Uncompacted | undefined> {
  return parts.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const result = (await maskOldResults(parts, subject)) ?? (await summarise(parts, subject, signal));
    if (!result.ok) {
      const { reason, calls } = result.failed;
      if (signal.aborted) return { reason: 'aborted' };
      span.setAttributes({ 'error.type': reason, 'spillway.compaction.calls': calls });
      parts.telemetry.count(METRIC.recoveries, { action: 'compact', result: reason });
      await subject.attempt.write('', [
        auditCommand(subject.attempt, { event: 'context.compaction-failed', reason, calls }),
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
    parts.telemetry.count(METRIC.recoveries, { action: calls === 0 ? 'mask' : 'compact', result: 'ok' });
    parts.reach('compaction stored');
    return undefined;
  });
}

type Compacted = { ok: true; compaction: Pick<Compaction, 'tokensBefore' | 'tokensAfter' | 'calls'> };

/** The cheap step first: one line for each old result of a tool. Not where it would spoil the thinking that is kept. */
async function maskOldResults(parts: RecoverParts, subject: Subject): Promise<Compacted | undefined> {
  if (bindsThinking(parts.modelName)) return undefined;
  const mask = maskResults(subject.opened.window, subject.limitTokens);
  if (!mask) return undefined;
  const { trim, tokensBefore, tokensAfter } = mask;
  await store(subject, [trim], [], [{ event: 'context.force-pruned', tokensBefore, tokensAfter }]);
  return { ok: true, compaction: { tokensBefore, tokensAfter, calls: 0 } };
}

async function summarise(parts: RecoverParts, subject: Subject, signal: AbortSignal): Promise<CompactionResult> {
  const { attempt, opened, limitTokens } = subject;
  const { records } = opened.window;
  const options = {
    model: parts.compactionModel,
    limitTokens,
    maxOutputTokens: parts.maxOutputTokens,
    preserve: parts.preserve,
    mask: bindsThinking(parts.modelName) ? undefined : trimOldRounds(records),
    beforeCall: () => attempt.hold(),
  };
  const result = await compact(opened.window, parts.model, options, signal);
  if (!result.ok) return result;
  const { summary, keptFrom, masks, tokensBefore, tokensAfter, calls, usage } = result.compaction;
  const windowStart = opened.firstIndex + keptFrom;
  const record: LogRecord = { v: 1, t: 'compaction', ...newStamp(), summary, records: windowStart };
  // The record lands at the end of the log, behind everything that was loaded.
  const window = ['head', opened.logRecords, 'windowStart', windowStart];
  const event = { event: 'context.compacted', tokensBefore, tokensAfter, calls, summaryChars: summary.length } as const;
  const cost = { event: 'model.answered', purpose: 'summary', model: parts.compactionModel, ...usage } as const;
  await store(subject, [record, ...masks, ...thinkingTrim(parts, records)], window, [event, cost]);
  return result;
}

/** Everything that belongs to one compaction, in one step. */
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
    ...effects,
    ...events.map((event) => auditCommand(attempt, event)),
  ]);
}
