import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { learntWindow } from '../lane/turn-settings.ts';
import { failed, TELEGRAM_AWAY, type Verdict } from '../lane/verdict.ts';
import { budgetFor, calibrationFor, chatRoom, countContent } from '../model/count.ts';
import type { OnText } from '../model/port.ts';
import { endModelChoice } from '../recovery/default-model.ts';
import type { Call } from '../recovery/effects.ts';
import { recover } from '../recovery/recover.ts';
import { withFixedText } from '../session/fixed-text.ts';
import type { LoadedSession } from '../session/held-window.ts';
import { asShown } from '../session/overlay.ts';
import type { UserRecord } from '../session/record.ts';
import { askingIn, finishRound, hasOnlyUnreadableCalls } from '../tools/round.ts';
import type { TurnTime } from '../turn/deadline.ts';
import { concludeWithAnswer, failureIn, recordRound, turnAfterRound } from './answer.ts';
import { type CallResult, callModel, countExactly } from './call.ts';
import { omitOldPictures } from './old-pictures.ts';
import { openSession } from './pending.ts';
import { isUnfinished, type Speech } from './words.ts';

/** A message for the model to answer, with the partial answer and the callbacks for progress. */
export interface Question {
  message: InboundMessage;
  /** The message as a record of the log. */
  pending: UserRecord;
  speech: Speech;
  onText: OnText;
  /** Called with the names of the tools that begin to run, and with an empty list once all have ended. */
  onTools: (names: readonly string[]) => void;
}

/**
 * Asks the model to answer a message, with rounds of tools. Records each round before the next call, so that an attempt
 * after a crash continues after the last recorded round. If a call fails, recovery chooses the verdict.
 *
 * Contract: throws `FencedError`, or what Redis and the blob store throw.
 */
export async function askModel(
  initialTurn: Turn<Env>,
  { message, pending, speech, onText, onTools }: Question,
  time: TurnTime,
): Promise<Verdict> {
  const { env } = initialTurn;
  const { settings } = env;
  const { signal } = time;
  let turn = initialTurn;
  const { windowTokens, maxOutputTokens: modelOutputTokens } = await env.model.limits(settings.MODEL);
  const learntTokens = learntWindow(turn.limit, settings);
  const room = chatRoom(windowTokens, learntTokens, settings);
  turn = await withFixedText(turn, room.limitTokens);
  const calibration = calibrationFor(settings.MODEL, turn.calibration);
  const callFields = { message, pending, windowTokens, modelOutputTokens, calibration };
  const onEachText: OnText = (text) => {
    time.progress();
    speech.update(text);
    onText(text);
  };
  let loadedSession = await openSession(turn, pending, room.limitTokens);
  for (let round = turn.rounds; ; round++) {
    const asking = askingIn(turn, loadedSession, round);
    if (asking) return { kind: 'park', asking };
    const updatedSession = await finishRound(turn, loadedSession, { round, onTools, onResult: time.progress }, signal);
    if (!updatedSession) return { kind: 'hand back' };
    loadedSession = updatedSession;
    if (hasOnlyUnreadableCalls(loadedSession, turn))
      return failed('unreadable_calls', turn.texts.unavailable, 'the model wrote calls of tools that are no JSON');
    // Wait until Telegram answers, since no reply could be delivered. The wait uses up no attempt, and all rounds are stored.
    const awayMs = env.breaker.seenAwayMs();
    if (awayMs > 0) return { kind: 'later', delayMs: awayMs, reason: TELEGRAM_AWAY, isUncounted: true };
    loadedSession = await omitOldPictures(turn, loadedSession, windowTokens);
    const roundTokens = newestTokens(loadedSession, calibration);
    const callRoom = chatRoom(windowTokens, learntTokens, budgetFor(settings, roundTokens));
    const call: Call = { ...callFields, room: callRoom, roundTokens, loadedSession, turn };
    const wordsOnly = round >= settings.TOOL_ROUNDS_MAX;
    const result = await callModel(call, { onText: onEachText, wordsOnly }, signal);
    if (!result.ok) return reactTo(call, result, speech, time);
    const failure = failureIn(result, call, round, settings);
    if (failure) return reactTo(call, { ...result, failure, silences: 0 }, speech, time);
    if (!result.byFallback) turn = await endModelChoice(turn);
    if (!isUnfinished(result.answer, round, settings.TOOL_ROUNDS_MAX)) {
      const files = turn.rounds > 0 ? await env.files.of(turn) : [];
      const nearlySpent = await env.budget?.nearlySpent(turn.payer, turn.entry);
      return concludeWithAnswer({ turn, loadedSession, room, calibration, files, nearlySpent }, result, settings);
    }
    loadedSession = await recordRound(turn, loadedSession, { result, speech }, round + 1);
    turn = turnAfterRound(turn, round + 1);
  }
}

/** Recovers from a failed call. If the attempt was aborted, hands the message back instead. */
async function reactTo(
  call: Call,
  { failure, sizes, silences }: Omit<Extract<CallResult, { ok: false }>, 'ok'>,
  speech: Speech,
  time: TurnTime,
): Promise<Verdict> {
  const silenceCount = call.turn.silences + silences + (time.isSilent() ? 1 : 0);
  const turn = call.turn.with({ silences: silenceCount });
  if (silenceCount > call.turn.silences) await turn.write('', [turn.setSilences(silenceCount)]);
  if (time.signal.aborted) return { kind: 'hand back' };
  if (failure.kind === 'refusal') await speech.forget();
  const countTokens = (signal: AbortSignal) => countExactly(call, signal);
  const hasWords = speech.partialAnswer.newText !== '';
  return recover({ ...call, ...sizes, turn, failure, countTokens, hasWords, tried: [] }, time);
}

/** The size of the newest message with its files, or of the newest batch of tool results, in tokens of a request. */
function newestTokens({ window }: LoadedSession, calibration: number): number {
  const newest = asShown(window.records).findLast((record) => record.t === 'user');
  return newest?.t === 'user' ? countContent(newest.content, calibration) : 0;
}
