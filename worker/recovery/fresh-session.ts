import { randomBytes } from 'node:crypto';
import { alertCommand } from '../../shared/alert.ts';
import type { SessionId } from '../../shared/keys.ts';
import { channelOf } from '../../shared/message.ts';
import { METRIC, SPAN } from '../../shared/telemetry.ts';
import type { Attempt, Command } from '../attempt.ts';
import { auditCommand } from '../audit.ts';
import { freshSessionAlert } from '../incident.ts';
import { NOTICE } from '../notice.ts';
import type { LogRecord } from '../session/record.ts';
import {
  appendCommands,
  archivableCommand,
  newSessionId,
  newStamp,
  SEED_READ_BYTES_MAX,
  userStep,
} from '../session/store.ts';
import { buildSeed } from './seed.ts';
import { moveTo, type Overflow, type RecoverParts, type Recovery } from './step.ts';

const SEED_TOKENS_MAX = 8_000;
const SEED_SHARE = 0.1;
/** Where the pending message stands in a fresh log: behind the seed. */
const PENDING_INDEX = 1;

/** Stage 2. The pointer of the chat moves by compare-and-set, in one step with everything that belongs to it. */
export async function startFreshSession(
  parts: RecoverParts,
  overflow: Overflow,
  limitTokens: number,
): Promise<Recovery> {
  const { attempt, message, pending } = overflow;
  return parts.telemetry.span(SPAN.overflowRecovery, {}, async (span) => {
    const startedMs = performance.now();
    const tail = await parts.sessions.tail(attempt.session, SEED_READ_BYTES_MAX);
    // The pending message was recorded there too; it is not part of what was set aside.
    const entries = Math.max(0, tail.entries - 1);
    const text = buildSeed({
      records: tail.records,
      total: entries,
      pending: attempt.entry,
      channel: channelOf(message),
      boundary: randomBytes(9).toString('base64url'),
      tokensMax: Math.min(SEED_TOKENS_MAX, Math.floor(limitTokens * SEED_SHARE)),
    });
    const summary = { has_summary: entries > 0, summary_length: text.length };
    const to = newSessionId();
    const { keys, session: from, chat } = attempt;
    const seed: LogRecord = { v: 1, t: 'seed', ...newStamp(), text, parent: from, records: entries };
    await attempt.write(
      `recover:${attempt.recoveries}`,
      [
        ['HSET', keys.chat(chat), 'session', to],
        ['HSET', keys.session(to), 'parent', from, 'createdAt', seed.at, 'head', 0, 'windowStart', 1],
        ...inheritedLimit(attempt, to, limitTokens, overflow.limitTokens),
        ['HSET', keys.session(from), 'closedBy', to],
        archivableCommand(keys, from),
        ...appendCommands(keys, to, [seed, pending]),
        [
          'HSET',
          keys.turn(attempt.entry),
          `did:${userStep(to)}`,
          PENDING_INDEX,
          'notices',
          JSON.stringify([...attempt.notices, noticeOf(overflow)]),
        ],
        ...moveTo(attempt, 'fresh'),
        alertCommand(keys, freshSessionAlert(attempt, entries, to)),
        auditCommand(attempt, {
          event: 'context.new-session',
          entries,
          seedChars: text.length,
          from,
          to,
          bytesRead: tail.bytes,
          tookMs: Math.round((performance.now() - startedMs) * 10) / 10,
        }),
      ],
      [keys.chat(chat), 'session', from],
    );
    span.setAttributes(summary);
    parts.telemetry.mark(SPAN.overflowNewSession, { ...summary, 'spillway.session.entries': entries });
    parts.telemetry.count(METRIC.recoveries, { action: 'new_session', result: 'ok' });
    parts.reach('fresh session stored');
    return { do: 'again' };
  });
}

function noticeOf({ failure }: Overflow): string {
  return failure.kind === 'poison' || failure.kind === 'media' ? NOTICE.freshAfterPoison : NOTICE.freshSession;
}

/** A window that an error once stated holds for the next session, too. */
function inheritedLimit(attempt: Attempt, to: SessionId, limitTokens: number, knownTokens: number): Command[] {
  if (attempt.limitTokens === undefined && limitTokens >= knownTokens) return [];
  return [['HSET', attempt.keys.session(to), 'limitTokens', limitTokens]];
}
