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
import { limitFromCall } from './observe.ts';
import { isOfSize } from './policy.ts';
import { buildBareSeed, buildSeed } from './seed.ts';

const SEED_TOKENS_MAX = 8_000;
const SEED_SHARE = 0.1;
/** A shorter seed would be useless, so a seed may have this many tokens unless they exceed `SEED_SHARE_MAX` of the window. */
const SEED_TOKENS_MIN = 1_000;
const SEED_SHARE_MAX = 0.25;
/** The index of the pending message in a fresh log, after the seed. */
const PENDING_INDEX = 1;

/** The previous session, the fresh one, and the number of the previous session's records without the pending message. */
interface Move {
  from: SessionId;
  to: SessionId;
  entries: number;
}

/**
 * Opens a fresh session with a seed and the message, in one write, and lets the next attempt run there. On trial, the chat
 * stays in its previous session, without a notice, until the message is answered in the fresh one (see `winTrial`).
 * Otherwise the chat moves at once. The write has no effect if the chat has left its previous session meanwhile. Without
 * `quotes`, the seed quotes only finished tool calls, because the model may have refused a message.
 */
export async function startFreshSession(
  call: FailedCall,
  { quotes, isTrial }: { quotes: boolean; isTrial: boolean },
): Promise<Verdict> {
  const { turn, message, pending } = call;
  const { env, keys, chat } = turn;
  return env.telemetry.span(SPAN.overflowRecovery, {}, async (span) => {
    const startedMs = performance.now();
    const limit = limitFromCall(env.settings, call);
    const from = turn.session;
    const tail = await env.sessions.tail(from, SEED_READ_BYTES_MAX);
    // The log contains the pending message, too, so subtract 1.
    const move: Move = { from, to: newSessionId(), entries: Math.max(0, tail.entries - 1) };
    const build = quotes ? buildSeed : buildBareSeed;
    const text = build({
      records: tail.records,
      total: move.entries,
      pending: turn.entry,
      channel: channelOf(message),
      boundary: randomBytes(9).toString('base64url'),
      tokensMax: seedTokensMax(limit.limitTokens),
      because: isTrial ? 'refused' : 'outgrown',
    });
    const hasSummary = move.entries > 0 && quotes;
    const seed: LogRecord = { v: 1, t: 'seed', ...newStamp(), text, parent: from, records: move.entries };
    await commit(turn, {
      step: `recover:${turn.recoveries}`,
      changes: [
        sessionState(keys, move.to).begin(from, seed.at, { isSeeded: true }),
        ...learnLimit({ keys, session: move.to }, env.settings, limit, turn.limit),
        ...(quotes ? [] : [sessionMemory(keys, move.to).fix('')]),
        ...append(keys, move.to, [seed, pending, ...shorteningsOf(call)]),
        turn.recordIn(move.to, PENDING_INDEX),
        ...changesOfStep(call, quotes ? undefined : 'quoteless', 'fresh'),
        ...(isTrial ? changesToBeginTrial(call, move, quotes) : changesToMove(turn, move)),
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

/** The scrubs that replace parts of the pending message. The fresh session needs copies of these scrubs. */
function shorteningsOf({ turn, loadedSession }: FailedCall): LogRecord[] {
  return loadedSession.window.records.filter(
    (record) => record.t === 'scrub' && record.entry === turn.entry && record.turn !== true,
  );
}

function seedTokensMax(limitTokens: number): number {
  const tokensMin = Math.min(SEED_TOKENS_MIN, limitTokens * SEED_SHARE_MAX);
  return Math.floor(Math.min(SEED_TOKENS_MAX, Math.max(tokensMin, limitTokens * SEED_SHARE)));
}

/** The changes that move the chat to the fresh session, with a notice if the previous session had any other records. */
function changesToMove(turn: Turn, { from, to, entries }: Move): Change[] {
  const { keys, chat, notices, texts } = turn;
  return [
    chatState(keys, chat).moveTo(to),
    ...sessionState(keys, from).closeFor(to),
    ...(entries > 0 ? [turn.notify([...notices, texts.freshSession])] : []),
  ];
}

function changesToBeginTrial({ turn, failure }: FailedCall, { from, to, entries }: Move, quotes: boolean): Change[] {
  const { bareAfterPoison, freshAfterPoison, freshSession } = turn.texts;
  const noticeOfRefusal = quotes ? freshAfterPoison : bareAfterPoison;
  const notice = isOfSize(failure) && quotes ? freshSession : noticeOfRefusal;
  const trial: Trial = { of: from, in: to, entries, notice, why: failure.reason };
  // After a lost trial no later session refers to the fresh session. `addTrial` lets the erasure of the chat find that session.
  return [turn.tryIn(trial), sessionState(turn.keys, from).addTrial(to)];
}

const REMOVED = '[A message that the model did not take was left out, with all that was said and done about it.]';

/** The changes and events that end a trial with an answer and close the previous session. The conclusion moves the chat. */
export function winTrial(turn: Turn): { changes: Change[]; events: TurnEvent[] } {
  const { keys, trial, session } = turn;
  if (trial === undefined) return { changes: [], events: [] };
  const { of: from, entries, why } = trial;
  return {
    changes: [...sessionState(keys, from).closeFor(session), turn.endTrial()],
    events: [{ event: 'history.refused', from, to: session, entries, why }],
  };
}

/** The changes that end a trial without an answer and close the fresh session. The chat has stayed in the previous session. */
export function loseTrial(turn: Turn): Change[] {
  const { keys, trial, session } = turn;
  if (trial === undefined) return [];
  return [...sessionState(keys, session).closeFor(trial.of), turn.endTrial()];
}

/** The changes that hide a message and its whole turn from the chat's own conversation. */
export function removeTurn({ keys, entry, trial, session }: Turn): Change[] {
  const scrub: LogRecord = { v: 1, t: 'scrub', ...newStamp(), entry, turn: true, text: REMOVED };
  return append(keys, trial?.of ?? session, [scrub]);
}
