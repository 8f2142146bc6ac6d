import { randomBytes } from 'node:crypto';
import { SPAN } from '../../shared/base/telemetry.ts';
import { channelOf } from '../../shared/flow/message.ts';
import type { SessionId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { carriedMemory, sessionState } from '../../shared/state/session/session.ts';
import type { Attempt, Trial } from '../lane/attempt.ts';
import { commit, type TurnEvent } from '../lane/events.ts';
import type { Settings } from '../lane/settings.ts';
import { type LogRecord, newStamp } from '../session/record.ts';
import { append, newSessionId, SEED_READ_BYTES_MAX } from '../session/store.ts';
import type { Overflow, RecoverPorts, Recovery } from './effects.ts';
import { type LearntLimit, learnLimit } from './learnt-limit.ts';
import { asksForBlame } from './policy.ts';
import { buildBareSeed, buildSeed } from './seed.ts';

const SEED_TOKENS_MAX = 8_000;
const SEED_SHARE = 0.1;
/** A seed of less says nothing; it takes this much even of a window that is only guessed to be small. */
const SEED_TOKENS_MIN = 1_000;
const SEED_SHARE_MAX = 0.25;
/** Where the pending message stands in a fresh log: behind the seed. */
const PENDING_INDEX = 1;

/** The old session, the new one, and what is announced about the move. */
interface Move {
  /** The session that is set aside. */
  from: SessionId;
  to: SessionId;
  entries: number;
  /** Set where the move is on trial. */
  trial: Trial | undefined;
}

/**
 * Stage 2. The pointer of the chat moves by compare-and-set, in one step with everything that belongs to it. Where the
 * history or the message may be to blame, the new session is on trial: nobody is notified, and the old one stays open,
 * until a call goes through in it. `bare` omits from the seed what might be refused. `spent` counts the calls that it
 * took to get here.
 */
export async function startFreshSession(
  ports: RecoverPorts,
  overflow: Overflow,
  learnt: LearntLimit,
  stage: 'fresh' | 'bare',
  spent = 0,
): Promise<Recovery> {
  const { attempt, message, pending, failure } = overflow;
  return ports.observability.telemetry.span(SPAN.overflowRecovery, {}, async (span) => {
    const startedMs = performance.now();
    const from = attempt.trial?.of ?? attempt.session;
    const tail = await ports.store.sessions.tail(attempt.session, SEED_READ_BYTES_MAX);
    // The pending message was recorded there too; it is not part of what was set aside.
    const entries = attempt.trial?.entries ?? Math.max(0, tail.entries - 1);
    const build = stage === 'bare' ? buildBareSeed : buildSeed;
    const text = build({
      records: tail.records,
      total: entries,
      pending: attempt.entry,
      channel: channelOf(message),
      boundary: randomBytes(9).toString('base64url'),
      tokensMax: seedTokensMax(learnt.limitTokens),
      because: attempt.trial || asksForBlame(failure) ? 'refused' : 'outgrown',
    });
    const hasSummary = entries > 0 && stage === 'fresh';
    const way = { from, to: newSessionId(), entries };
    const move: Move = { ...way, trial: trialOf(overflow, way, stage) };
    const seed: LogRecord = { v: 1, t: 'seed', ...newStamp(), text, parent: from, records: entries };
    const { keys, chat, turn } = attempt;
    await commit(ports.observability, attempt, {
      step: `recover:${attempt.recoveries}`,
      changes: [
        chatState(keys, chat).moveTo(move.to),
        sessionState(keys, move.to).begin(from, seed.at, { isSeeded: true }),
        ...inheritedLimit(attempt, move.to, learnt, ports.settings),
        // It quotes nothing, because what it quotes may be what is refused.
        ...(stage === 'bare' ? [carriedMemory(keys, move.to).fix('')] : []),
        ...append(keys, move.to, [seed, pending, ...scrubsOf(overflow)]),
        turn.recordIn(move.to, PENDING_INDEX),
        ...turn.enter(stage),
        ...turn.countRecoveries(spent),
        ...announced(attempt, move),
      ],
      expected: [chatState(keys, chat).isIn(attempt.session)],
      events: [
        {
          event: 'context.new-session',
          ...way,
          seedChars: text.length,
          bytesRead: tail.bytes,
          tookMs: Math.round((performance.now() - startedMs) * 10) / 10,
          isTrial: move.trial !== undefined,
          hasSummary,
        },
      ],
    });
    span.setAttributes({ has_summary: hasSummary, summary_length: text.length });
    return { kind: 'again' };
  });
}

/** The shortenings of the pending message: they stay with it. */
function scrubsOf({ attempt, opened }: Overflow): LogRecord[] {
  return opened.window.records.filter(
    (record) => record.t === 'scrub' && record.entry === attempt.entry && record.turn !== true,
  );
}

function seedTokensMax(limitTokens: number): number {
  const least = Math.min(SEED_TOKENS_MIN, limitTokens * SEED_SHARE_MAX);
  return Math.floor(Math.min(SEED_TOKENS_MAX, Math.max(least, limitTokens * SEED_SHARE)));
}

function trialOf(
  { attempt, failure }: Overflow,
  { from, to, entries }: Omit<Move, 'trial'>,
  stage: 'fresh' | 'bare',
): Trial | undefined {
  if (attempt.trial === undefined && !asksForBlame(failure)) return undefined;
  const { bareAfterPoison, freshAfterPoison } = attempt.texts;
  const notice = stage === 'bare' ? bareAfterPoison : freshAfterPoison;
  return { of: from, in: to, entries, notice, why: attempt.trial?.why ?? failure.reason };
}

/**
 * The changes that close the previous session and notify; a trial notifies nobody, and only a session that failed is
 * closed.
 */
function announced(attempt: Attempt, { from, to, entries, trial }: Move): Change[] {
  const { keys, session, turn } = attempt;
  const closed = (which: SessionId) => sessionState(keys, which).closeFor(to);
  if (trial)
    return [
      turn.tryIn(trial),
      // One that is given up is in no chain of parents: whoever erases the chat finds it here.
      sessionState(keys, from).tryAnother(to),
      ...(attempt.trial ? closed(session) : []),
    ];
  return [
    ...closed(from),
    // Where nothing was said before, nothing is lost.
    ...(entries > 0 ? [turn.notify([...attempt.notices, attempt.texts.freshSession])] : []),
  ];
}

/** A learnt window holds in the next session as well, for what is left of its time. */
function inheritedLimit(attempt: Attempt, to: SessionId, learnt: LearntLimit, settings: Settings): Change[] {
  if (learnt.keptTokens !== undefined) return learnLimit({ keys: attempt.keys, session: to }, settings, learnt);
  if (attempt.limit === undefined) return [];
  const { tokens, untilMs, of } = attempt.limit;
  return [sessionState(attempt.keys, to).learnWindow({ tokens, untilMs, of })];
}

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** Keeps the session on trial: it was answered in, so the previous session was to blame. */
export function trialWon({ keys, trial, notices, session, turn }: Attempt): { changes: Change[]; events: TurnEvent[] } {
  if (trial === undefined) return { changes: [], events: [] };
  const { of: from, entries, why } = trial;
  return {
    changes: [turn.notify([...notices, trial.notice]), ...sessionState(keys, from).closeFor(session), turn.endTrial()],
    events: [{ event: 'history.refused', from, to: session, entries, why }],
  };
}

/** Moves the chat back to its previous session: the fresh one did no better. */
export function trialLost({ keys, chat, trial, session, turn }: Attempt): Change[] {
  if (trial === undefined) return [];
  return [
    chatState(keys, chat).moveTo(trial.of),
    sessionState(keys, trial.of).forgiveRefusals(),
    carriedMemory(keys, trial.of).renew(),
    ...sessionState(keys, session).closeFor(trial.of),
    turn.endTrial(),
  ];
}

/** Removes a message, with its whole turn, from its conversation. */
export function removeTurn({ keys, entry, trial, session }: Attempt): Change[] {
  const removed: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return append(keys, trial?.of ?? session, [removed]);
}
