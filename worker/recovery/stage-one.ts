import { METRIC, SPAN } from '../../shared/telemetry.ts';
import type { Attempt, Command } from '../attempt.ts';
import { auditCommand } from '../audit.ts';
import type { LogRecord } from '../session/record.ts';
import { appendCommands, newStamp, type OpenedSession } from '../session/store.ts';
import { type Compaction, compact } from './compact.ts';
import { learnLimit, moveTo, type Overflow, type RecoverParts } from './step.ts';

/** A session that was compacted this often in a row refills at once: compacting it again would not help. */
export const COMPACTIONS_IN_ROW_MAX = 3;

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
): Promise<string | undefined> {
  if (attempt.compactionsInRow >= COMPACTIONS_IN_ROW_MAX) return 'refills_at_once';
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

async function compactSession(parts: RecoverParts, subject: Subject, signal: AbortSignal): Promise<string | undefined> {
  const { attempt, opened, limitTokens } = subject;
  return parts.telemetry.span(SPAN.overflowCompacted, { success: false }, async (span) => {
    const options = {
      model: parts.compactionModel,
      limitTokens,
      maxOutputTokens: parts.maxOutputTokens,
      preserve: parts.preserve,
      beforeCall: () => attempt.hold(),
    };
    const result = await compact(opened.window, parts.model, options, signal);
    if (!result.ok) {
      const { reason, calls } = result.failed;
      if (signal.aborted) return 'aborted';
      span.setAttributes({ 'error.type': reason, 'spillway.compaction.calls': calls });
      parts.telemetry.count(METRIC.recoveries, { action: 'compact', result: reason });
      await attempt.write('', [auditCommand(attempt, { event: 'context.compaction-failed', reason, calls })]);
      return reason;
    }
    const { tokensBefore, tokensAfter, calls } = result.compaction;
    await store(subject, result.compaction);
    span.setAttributes({
      success: true,
      'spillway.tokens.before': tokensBefore,
      'spillway.tokens.after': tokensAfter,
      'spillway.compaction.calls': calls,
    });
    parts.telemetry.count(METRIC.recoveries, { action: 'compact', result: 'ok' });
    parts.reach('compaction stored');
    return undefined;
  });
}

async function store({ attempt, opened, step, effects }: Subject, compaction: Compaction): Promise<void> {
  const { summary, keptFrom, tokensBefore, tokensAfter, calls } = compaction;
  const windowStart = opened.firstIndex + keptFrom;
  const record: LogRecord = { v: 1, t: 'compaction', ...newStamp(), summary, records: windowStart };
  const session = attempt.keys.session(attempt.session);
  await attempt.write(step, [
    ...appendCommands(attempt.keys, attempt.session, [record]),
    // The record lands at the end of the log, behind everything that was loaded.
    ['HSET', session, 'head', opened.logRecords, 'windowStart', windowStart],
    ['HINCRBY', session, 'compactionsInRow', 1],
    ...effects,
    auditCommand(attempt, {
      event: 'context.compacted',
      tokensBefore,
      tokensAfter,
      calls,
      summaryChars: summary.length,
    }),
  ]);
}
