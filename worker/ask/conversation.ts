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
import { answered, failureIn, progressed, recordRound } from './answer.ts';
import { type Called, callModel, countExactly } from './call.ts';
import { leaveOutOldPictures } from './old-pictures.ts';
import { openSession, pendingRecord } from './pending.ts';
import { goesOn, type Speech } from './words.ts';

/** The content that the model is asked to answer, and who receives its text as it streams. */
export interface Question {
  message: InboundMessage;
  content: UserRecord['content'];
  /** Takes what the model says. */
  speech: Speech;
  onText: OnText;
  /** Called with the names of the tools that are running, and with none when they have ended. */
  onTools: (names: readonly string[]) => void;
}

/**
 * Asks the model to answer a message, with as many rounds of tools as it wants. Each round is recorded before the next
 * call, so a crash resumes there. A request that is counted as too long is not sent.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function askModel(
  begun: Turn<Env>,
  { message, content, speech, onText, onTools }: Question,
  time: TurnTime,
): Promise<Verdict> {
  const { env } = begun;
  const { settings } = env;
  const { signal } = time;
  let turn = begun;
  const { windowTokens, maxOutputTokens: modelOutputTokens } = await env.model.limits(settings.MODEL);
  const learntTokens = learntWindow(turn.limit, settings);
  const room = chatRoom(windowTokens, learntTokens, settings);
  turn = await withFixedText(turn, room.limitTokens);
  const calibration = calibrationFor(settings.MODEL, turn.calibration);
  const pending = pendingRecord(turn, message, content);
  const about = { message, pending, windowTokens, modelOutputTokens, calibration };
  const hear: OnText = (text) => {
    time.progress();
    speech.hear(text);
    onText(text);
  };
  let loadedSession = await openSession(turn, pending, room.limitTokens);
  for (let round = turn.rounds; ; round++) {
    const asking = askingIn(turn, loadedSession, round);
    if (asking) return { kind: 'park', asking };
    const finished = await finishRound(turn, loadedSession, { round, onTools, onResult: time.progress }, signal);
    if (!finished) return { kind: 'hand back' };
    loadedSession = finished;
    if (hasOnlyUnreadableCalls(loadedSession, turn))
      return failed('unreadable_calls', turn.texts.unavailable, 'the model wrote calls of tools that are no JSON');
    // Telegram is away, so no answer could be delivered. The finished rounds are stored; the wait uses up no attempt.
    const awayMs = env.breaker.seenAwayMs();
    if (awayMs > 0) return { kind: 'later', delayMs: awayMs, reason: TELEGRAM_AWAY, isUncounted: true };
    loadedSession = await leaveOutOldPictures(turn, loadedSession, windowTokens);
    const roundTokens = newestTokens(loadedSession, calibration);
    const callRoom = chatRoom(windowTokens, learntTokens, budgetFor(settings, roundTokens));
    const call: Call = { ...about, room: callRoom, roundTokens, loadedSession, turn };
    const wordsOnly = round >= settings.TOOL_ROUNDS_MAX;
    const called = await callModel(call, { onText: hear, wordsOnly }, signal);
    if (!called.ok) return reactTo(call, called, speech, time);
    const failure = failureIn(called, call, round, settings);
    if (failure) return reactTo(call, { ...called, failure, silences: 0 }, speech, time);
    if (!called.byFallback) turn = await endModelChoice(turn);
    if (!goesOn(called.answer, round, settings)) {
      const files = turn.rounds > 0 ? await env.files.of(turn) : [];
      const nearlySpent = await env.budget?.nearlySpent(turn.payer, turn.entry);
      return answered({ turn, loadedSession, room, calibration, files, nearlySpent }, called, settings);
    }
    loadedSession = await recordRound(turn, loadedSession, { called, speech }, round + 1);
    turn = progressed(turn, round + 1);
  }
}

/** Recovers from a failed call; hands the message back if we aborted the call ourselves. */
async function reactTo(
  call: Call,
  { failure, sent, silences }: Omit<Extract<Called, { ok: false }>, 'ok'>,
  speech: Speech,
  time: TurnTime,
): Promise<Verdict> {
  const fellSilent = call.turn.silences + silences + (time.isSilent() ? 1 : 0);
  const turn = call.turn.with({ silences: fellSilent });
  if (fellSilent > call.turn.silences) await turn.write('', [turn.setSilences(fellSilent)]);
  if (time.signal.aborted) return { kind: 'hand back' };
  if (failure.kind === 'refusal') await speech.forget();
  const countTokens = (signal: AbortSignal) => countExactly(call, signal);
  const hasWords = speech.partialAnswer.own !== '';
  return recover({ ...call, ...sent, turn, failure, countTokens, hasWords, tried: [] }, time);
}

/** The tokens of the newest message with its files, or of the newest batch of tool results, as it is shown. */
function newestTokens({ window }: LoadedSession, calibration: number): number {
  const newest = asShown(window.records).findLast((record) => record.t === 'user');
  return newest?.t === 'user' ? countContent(newest.content, calibration) : 0;
}
