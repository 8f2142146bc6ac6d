import { randomBytes } from 'node:crypto';
import { SPAN } from '../../shared/base/telemetry.ts';
import { channelOf } from '../../shared/flow/message.ts';
import type { SessionId } from '../../shared/redis/keys.ts';
import type { Change } from '../../shared/state/change.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { sessionMemory, sessionState } from '../../shared/state/session/session.ts';
import type { Trial } from '../../shared/state/turn/record.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import { commit, type TurnEvent } from '../lane/events.ts';
import type { Verdict } from '../lane/verdict.ts';
import { type LogRecord, newStamp } from '../session/record.ts';
import { append, newSessionId, SEED_READ_BYTES_MAX } from '../session/store.ts';
import { changesOfStep, type FailedCall } from './effects.ts';
import { learnLimit } from './learnt-limit.ts';
import { learntFrom } from './observe.ts';
import { isOfSize } from './policy.ts';
import { buildBareSeed, buildSeed } from './seed.ts';

const SEED_TOKENS_MAX = 8_000;
const SEED_SHARE = 0.1;
/** A shorter seed says nothing: it takes this much even of a window that is only guessed to be small. */
const SEED_TOKENS_MIN = 1_000;
const SEED_SHARE_MAX = 0.25;
/** The place of the pending message in a fresh log: behind the seed. */
const PENDING_INDEX = 1;

/** The session before, the fresh one, and the messages and answers of the session before. */
interface Move {
  from: SessionId;
  to: SessionId;
  entries: number;
}

/**
 * Replays the message in a fresh session that opens with a seed, stored in one step. On trial, the chat stays in the
 * session before until the message is answered in the fresh one (see `trialWon`), and nobody is told yet. Otherwise the
 * chat moves at once, by compare-and-set. `quotes` is false where the seed must not quote what may have been refused.
 */
export async function startFreshSession(
  call: FailedCall,
  { quotes, isTrial }: { quotes: boolean; isTrial: boolean },
): Promise<Verdict> {
  const { env } = call.turn;
  const { turn, message, pending } = call;
  return env.telemetry.span(SPAN.overflowRecovery, {}, async (span) => {
    const startedMs = performance.now();
    const learnt = learntFrom(env.settings, call);
    const from = turn.session;
    const tail = await env.sessions.tail(from, SEED_READ_BYTES_MAX);
    // The pending message stands in the log as well, and is not left behind.
    const move: Move = { from, to: newSessionId(), entries: Math.max(0, tail.entries - 1) };
    const build = quotes ? buildSeed : buildBareSeed;
    const text = build({
      records: tail.records,
      total: move.entries,
      pending: turn.entry,
      channel: channelOf(message),
      boundary: randomBytes(9).toString('base64url'),
      tokensMax: seedTokensMax(learnt.limitTokens),
      because: isTrial ? 'refused' : 'outgrown',
    });
    const hasSummary = move.entries > 0 && quotes;
    const seed: LogRecord = { v: 1, t: 'seed', ...newStamp(), text, parent: from, records: move.entries };
    const { keys, chat } = turn;
    await commit(turn, {
      step: `recover:${turn.recoveries}`,
      changes: [
        sessionState(keys, move.to).begin(from, seed.at, { isSeeded: true }),
        ...learnLimit({ keys, session: move.to }, env.settings, learnt, turn.limit),
        ...(quotes ? [] : [sessionMemory(keys, move.to).fix('')]),
        ...append(keys, move.to, [seed, pending, ...shorteningsOf(call)]),
        turn.recordIn(move.to, PENDING_INDEX),
        ...changesOfStep(call, quotes ? undefined : 'quoteless', 'fresh'),
        ...(isTrial ? trialBegun(call, move, quotes) : moved(turn, move)),
      ],
      expected: [chatState(keys, chat).expectSession(from)],
      events: [
        {
          event: 'context.new-session',
          ...move,
          seedChars: text.length,
          bytesRead: tail.bytes,
          tookMs: Math.round((performance.now() - startedMs) * 10) / 10,
          isTrial,
          hasSummary,
        },
      ],
    });
    span.setAttributes({ has_summary: hasSummary, summary_length: text.length });
    return { kind: 'again' };
  });
}

/** The shortenings of the pending message: they stay with it. */
function shorteningsOf({ turn, opened }: FailedCall): LogRecord[] {
  return opened.window.records.filter(
    (record) => record.t === 'scrub' && record.entry === turn.entry && record.turn !== true,
  );
}

function seedTokensMax(limitTokens: number): number {
  const least = Math.min(SEED_TOKENS_MIN, limitTokens * SEED_SHARE_MAX);
  return Math.floor(Math.min(SEED_TOKENS_MAX, Math.max(least, limitTokens * SEED_SHARE)));
}

/** The chat goes on in the fresh session, and its user is told if anything had been said before. */
function moved(turn: Turn, { from, to, entries }: Move): Change[] {
  const { keys, chat, notices, texts } = turn;
  return [
    chatState(keys, chat).moveTo(to),
    ...sessionState(keys, from).closeFor(to),
    ...(entries > 0 ? [turn.notify([...notices, texts.freshSession])] : []),
  ];
}

function trialBegun({ turn, failure }: FailedCall, { from, to, entries }: Move, quotes: boolean): Change[] {
  const { bareAfterPoison, freshAfterPoison, freshSession } = turn.texts;
  const refused = quotes ? freshAfterPoison : bareAfterPoison;
  const notice = isOfSize(failure) && quotes ? freshSession : refused;
  const trial: Trial = { of: from, in: to, entries, notice, why: failure.reason };
  // After a lost trial no session names the fresh one as its parent. The erasure of the chat finds it by this note.
  return [turn.tryIn(trial), sessionState(turn.keys, from).addTrial(to)];
}

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** Stored with the answer that wins a trial, beside the move of the chat: the session before is closed. */
export function trialWon(turn: Turn): { changes: Change[]; events: TurnEvent[] } {
  const { keys, trial, session } = turn;
  if (trial === undefined) return { changes: [], events: [] };
  const { of: from, entries, why } = trial;
  return {
    changes: [...sessionState(keys, from).closeFor(session), turn.endTrial()],
    events: [{ event: 'history.refused', from, to: session, entries, why }],
  };
}

/** Stored with any other end of a message on trial: the chat has stayed in its session, and the fresh one is closed. */
export function trialLost(turn: Turn): Change[] {
  const { keys, trial, session } = turn;
  if (trial === undefined) return [];
  return [...sessionState(keys, session).closeFor(trial.of), turn.endTrial()];
}

/** Removes a message, with its whole turn, from its conversation. */
export function removeTurn({ keys, entry, trial, session }: Turn): Change[] {
  const removed: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return append(keys, trial?.of ?? session, [removed]);
}
