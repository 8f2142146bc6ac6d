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
import { winTrial } from '../recovery/fresh-session.ts';
import { forgetLimit } from '../recovery/learnt-limit.ts';
import { planReply } from '../reply/plan.ts';
import { type LoadedSession, withRecord } from '../session/held-window.ts';
import { type AssistantRecord, hasCalls, newStamp } from '../session/record.ts';
import { append } from '../session/store.ts';
import type { CallResult } from './call.ts';
import {
  answerText,
  answerWords,
  budgetNotice,
  changesToStore,
  earlierWords,
  isCut,
  isUnfinished,
  type Speech,
  wholeBlocks,
} from './words.ts';

/** The result of a call that returned an answer. */
export type AnswerResult = Extract<CallResult, { ok: true }>;

/**
 * The failure in an answer: a refusal, an overflow of the window that the endpoint did not report, or a missing text.
 * `undefined` if the answer is usable, if the model will continue it, or if the model has nothing to add after its tools.
 */
export function failureIn(
  { answer, isSeconded }: AnswerResult,
  { loadedSession, turn, windowTokens }: { loadedSession: LoadedSession; turn: Turn; windowTokens: number },
  round: number,
  settings: Pick<TurnSettings, 'TOOL_ROUNDS_MAX'>,
): Failure | undefined {
  const { stopReason, content, text, usage } = answer;
  const isEmpty = text.trim() === '' && !content.some(({ type }) => type === 'tool_use');
  const failure = classifyAnswer({
    stopReason,
    isEmpty,
    outputTokens: usage.outputTokens,
    inputTokens: conversationSize(usage, content)?.inputTokens,
    windowTokens,
  });
  if (failure) return isSeconded ? { ...failure, isSeconded } : failure;
  if (!isEmpty || isUnfinished(answer, round, settings.TOOL_ROUNDS_MAX)) return undefined;
  if (stopReason === 'max_tokens') return { kind: 'output', reason: 'cut_before_text' };
  // After its tools, a model may have nothing to add. Believe an empty answer only in a later attempt, or after earlier text.
  const isDone = turn.rounds > 0 && (turn.attempts > 1 || earlierWords(loadedSession, turn) !== '');
  return isDone ? undefined : { kind: 'transient', reason: 'unknown' };
}

/**
 * The record of an answer: the blocks that the API accepts in later requests, without a call whose input was cut, and
 * without a fallback model's thinking, which the chat's own model would reject.
 */
export function recordOf(turn: Turn, { answer, byFallback }: AnswerResult): AssistantRecord {
  const { model, usage, unreadable } = answer;
  const whole = wholeBlocks(answer);
  const blocks = byFallback ? whole.filter((block) => !isThinking(block)) : whole;
  return {
    v: 1,
    t: 'assistant',
    ...newStamp(),
    entry: turn.entry,
    content: storable(blocks),
    model,
    // Other code recognises calls in the log by the stop reason `tool_use`, but some endpoints state another reason for calls.
    stopReason: hasCalls(whole) ? 'tool_use' : answer.stopReason,
    usage,
    ...(turn.isOfGuest && { isForGuest: true }),
    ...(unreadable && { unreadable }),
  };
}

/** Concludes a message with the model's answer. */
export function concludeWithAnswer(
  call: {
    turn: Turn;
    loadedSession: LoadedSession;
    /** The chat's room, without the extra budget that a call gets for a large newest message. */
    room: Room;
    calibration: number;
    files: readonly FilePart[];
    nearlySpent: LimitUsage | undefined;
  },
  result: AnswerResult,
  settings: Pick<TurnSettings, 'TELEGRAM_RICH' | 'TZ' | 'MODEL' | 'ANTHROPIC_BASE_URL' | 'CONTEXT_WINDOW_TOKENS'>,
): Verdict {
  const { turn, loadedSession, room, calibration: factor, files, nearlySpent } = call;
  const { TELEGRAM_RICH: rich } = settings;
  const { answer, sizes, byFallback } = result;
  const { keys, chat, session, refusalsInRow, unreportedCompactions } = turn;
  const state = sessionState(keys, session);
  const calibration = byFallback ? undefined : calibrate(turn.calibration, sizes.count, answer);
  const record = recordOf(turn, result);
  const words = answerWords(turn, loadedSession, answer);
  const notice = nearlySpent && budgetNotice(turn, settings, nearlySpent);
  const text = answerText(turn, loadedSession, answer, { words, notice });
  const trialEnd = winTrial(turn);
  const notices = turn.trial ? [...turn.notices, turn.trial.notice] : turn.notices;
  const tokens = tokensWith(answer, sizes.count, factor);
  const isFull = tokens > room.fullTokens || answer.stopReason === 'model_context_window_exceeded';
  const leftTokens = room.usableTokens - tokens;
  return {
    kind: 'conclude',
    calledNothing: turn.rounds === 0,
    isCut: isCut(answer),
    conclusion: { outcome: 'answered', ...planReply([...notices, ...turn.readingNotices], text, { rich }, files) },
    changes: [
      ...append(keys, session, [record]),
      ...(calibration === undefined ? [] : [chatState(keys, chat).calibrate(calibration)]),
      ...(refusalsInRow > 0 ? [state.forgiveRefusals()] : []),
      ...trialEnd.changes,
      ...forgetLimit(turn, settings, acceptedTokens(result)),
      ...(unreportedCompactions > 0 ? [state.reportCompactions()] : []),
    ],
    events: trialEnd.events,
    ifCancelled: { changes: changesToStore(turn, { recordedText: '', newText: words }), events: [] },
    ...(isFull && { afterReply: { loadedSession: withRecord(loadedSession, record), room, leftTokens } }),
  };
}

/** How many input tokens the chat's own model accepted; 0 if their number is unknown, or if the fallback model answered. */
function acceptedTokens({ answer: { usage, content }, byFallback }: AnswerResult): number {
  return byFallback ? 0 : (conversationSize(usage, content)?.inputTokens ?? 0);
}

/**
 * Records an answer that calls tools, or at whose end the model paused. A recorded round is progress, so the counts of
 * attempts and of recoveries start again. Returns the session with the answer.
 */
export async function recordRound(
  turn: Turn<Env>,
  loadedSession: LoadedSession,
  { result, speech }: { result: AnswerResult; speech: Speech },
  round: number,
): Promise<LoadedSession> {
  const { env } = turn;
  const record = recordOf(turn, result);
  const stage = stageAfterRound(turn);
  const changes = [
    ...append(turn.keys, turn.session, [record]),
    ...turn.recordRound(round, { recoveries: turn.recoveries, stage }),
    ...speech.record(result.answer.text),
    ...forgetLimit(turn, env.settings, acceptedTokens(result)),
  ];
  await commit(turn, { step: `round:${round}`, changes, events: [] });
  env.reach('round stored');
  return withRecord(loadedSession, record);
}

/** A copy of the turn, with the values that `recordRound` has stored. */
export function turnAfterRound<T extends Turn>(turn: T, rounds: number): T {
  const stage = stageAfterRound(turn);
  const { recoveries: recoveriesBefore } = turn;
  return turn.withoutOutage().with({ rounds, attempts: 1, silences: 0, recoveriesBefore, stage });
}

/** The stage after a round. `compacted` becomes `none`, so that the session can be compacted again; other stages stay. */
function stageAfterRound({ stage }: Turn): Turn['stage'] {
  return stage === 'compacted' ? 'none' : stage;
}
