import type { FilePart } from '../../shared/flow/reply.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import { sessionState } from '../../shared/state/session/session.ts';
import type { LimitUsage } from '../../shared/state/spending/limit.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import type { TurnSettings } from '../lane/turn-settings.ts';
import type { Verdict } from '../lane/verdict.ts';
import { calibrate, type Room, tokensWith } from '../model/count.ts';
import { classifyAnswer } from '../model/errors/classify.ts';
import type { Failure } from '../model/errors/failure.ts';
import { isThinking, storable } from '../model/rules/blocks.ts';
import { conversationSize } from '../model/usage.ts';
import { trialWon } from '../recovery/fresh-session.ts';
import { forgetLimit } from '../recovery/learnt-limit.ts';
import { planned } from '../reply/plan.ts';
import { type OpenedSession, withRecord } from '../session/held-window.ts';
import { type AssistantRecord, newStamp } from '../session/record.ts';
import { append } from '../session/store.ts';
import type { Called } from './call.ts';
import {
  answerText,
  answerWords,
  changesToStore,
  earlierWords,
  goesOn,
  hasCalls,
  nearlyInWords,
  type Speech,
  wholeBlocks,
} from './words.ts';

/** A call that brought an answer. */
export type Answered = Extract<Called, { ok: true }>;

/** The failure that an answer hides: a refusal, a window exceeded without an error, or no text. */
export function failureIn(
  { answer, isSeconded }: Answered,
  { opened, turn, windowTokens }: { opened: OpenedSession; turn: Turn; windowTokens: number },
  round: number,
  settings: Pick<TurnSettings, 'TOOL_ROUNDS_MAX'>,
): Failure | undefined {
  const { stopReason, content, text, usage } = answer;
  const isEmpty = text.trim() === '' && !content.some(({ type }) => type === 'tool_use');
  const hidden = classifyAnswer({
    stopReason,
    isEmpty,
    outputTokens: usage.outputTokens,
    inputTokens: conversationSize(usage, content)?.inputTokens,
    windowTokens,
  });
  if (hidden) return isSeconded ? { ...hidden, isSeconded } : hidden;
  if (!isEmpty || goesOn(answer, round, settings)) return undefined;
  if (stopReason === 'max_tokens') return { kind: 'output', reason: 'cut_before_text' };
  // After its tools a model may have nothing to add, once it was asked a second time.
  const isDone = turn.rounds > 0 && (turn.attempts > 1 || earlierWords(opened, turn) !== '');
  return isDone ? undefined : { kind: 'transient', reason: 'unknown' };
}

/**
 * An answer as the log keeps it: what the API takes back of it, without a call that was cut in the middle of its input,
 * and without a fallback model's thinking, which the first model would reject.
 */
export function recordOf(turn: Turn, { answer, byFallback }: Answered): AssistantRecord {
  const { model, usage, unreadable } = answer;
  const whole = wholeBlocks(answer);
  const kept = byFallback ? whole.filter((block) => !isThinking(block)) : whole;
  return {
    v: 1,
    t: 'assistant',
    ...newStamp(),
    entry: turn.entry,
    content: storable(kept),
    model,
    // Readers of the log know a call by its stop reason, which some endpoints state otherwise.
    stopReason: hasCalls(whole) ? 'tool_use' : answer.stopReason,
    usage,
    ...(turn.isOfGuest && { isForGuest: true }),
    ...(unreadable && { unreadable }),
  };
}

/** The decision to end a message with the model's answer. */
export function answered(
  call: {
    turn: Turn;
    opened: OpenedSession;
    /** The room that the chat may fill in the long run. */
    room: Room;
    calibration: number;
    files: readonly FilePart[];
    nearlySpent: LimitUsage | undefined;
  },
  called: Answered,
  settings: Pick<TurnSettings, 'TELEGRAM_RICH' | 'TZ' | 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
): Verdict {
  const { turn, opened, room, calibration: factor, files, nearlySpent } = call;
  const { TELEGRAM_RICH: rich } = settings;
  const { answer, sent, byFallback } = called;
  const { keys, chat, session, refusalsInRow, unreportedCompactions } = turn;
  const own = sessionState(keys, session);
  const calibration = byFallback ? undefined : calibrate(turn.calibration, sent.count, answer);
  const record = recordOf(turn, called);
  const words = answerWords(turn, opened, answer);
  const notice = nearlySpent && nearlyInWords(turn, settings, nearlySpent);
  const text = answerText(turn, opened, answer, { words, notice });
  const won = trialWon(turn);
  const notices = turn.trial ? [...turn.notices, turn.trial.notice] : turn.notices;
  const tokens = tokensWith(answer, sent.count, factor);
  const isFull = tokens > room.fullTokens || answer.stopReason === 'model_context_window_exceeded';
  const leftTokens = room.usableTokens - tokens;
  return {
    kind: 'conclude',
    calledNothing: turn.rounds === 0,
    conclusion: { outcome: 'answered', ...planned([...notices, ...turn.readingNotices], text, { rich }, files) },
    changes: [
      ...append(keys, session, [record]),
      ...(calibration === undefined ? [] : [chatState(keys, chat).calibrate(calibration)]),
      ...(refusalsInRow > 0 ? [own.forgiveRefusals()] : []),
      ...won.changes,
      ...forgetLimit(turn, settings, takenTokens(called)),
      ...(unreportedCompactions > 0 ? [own.reportCompactions()] : []),
    ],
    events: won.events,
    ifCancelled: { changes: changesToStore(turn, { recorded: '', own: words }), events: [] },
    ...(isFull && { afterReply: { opened: withRecord(opened, record), room, leftTokens } }),
  };
}

/** The input that the model of the chat took; 0 where the endpoint does not say. */
function takenTokens({ answer: { usage, content }, byFallback }: Answered): number {
  if (byFallback) return 0;
  return conversationSize(usage, content)?.inputTokens ?? 0;
}

/** A recorded round is progress: it resets the attempts and the bound on recoveries. */
export async function recordRound(
  turn: Turn<Env>,
  opened: OpenedSession,
  { called, speech }: { called: Answered; speech: Speech },
  round: number,
): Promise<OpenedSession> {
  const { env } = turn;
  const record = recordOf(turn, called);
  const stage = stageAfterRound(turn);
  const changes = [
    ...append(turn.keys, turn.session, [record]),
    ...turn.recordRound(round, { recoveries: turn.recoveries, stage }),
    ...speech.record(called.answer.text),
    ...forgetLimit(turn, env.settings, takenTokens(called)),
  ];
  await commit(turn, { step: `round:${round}`, changes, events: [] });
  env.reach('round stored');
  return withRecord(opened, record);
}

/** The attempt as it continues after a round: what was stored with the round, and what a failure now starts from. */
export function progressed<Begun extends Turn>(turn: Begun, rounds: number): Begun {
  const stage = stageAfterRound(turn);
  const { recoveries: recoveriesBefore } = turn;
  return turn.withoutOutage().with({ rounds, attempts: 1, silences: 0, recoveriesBefore, stage });
}

/** An accepted call ends `compacted`, so that the session can be compacted again. `fresh` stays for this message. */
function stageAfterRound({ stage }: Turn): Turn['stage'] {
  return stage === 'compacted' ? 'none' : stage;
}
