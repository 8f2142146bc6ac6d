import type { InboundMessage } from '../../shared/flow/message.ts';
import type { Attempt } from '../lane/attempt.ts';
import type { Settings } from '../lane/settings.ts';
import { type Decision, TELEGRAM_AWAY } from '../lane/verdict.ts';
import { tokenizerFactor } from '../model/catalog.ts';
import { classifyAnswer } from '../model/errors/classify.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { ModelAnswer, OnText } from '../model/port.ts';
import { chatRoom, type Room } from '../model/room.ts';
import type { RecoverPorts } from '../recovery/effects.ts';
import { STORM } from '../recovery/storm.ts';
import type { UserRecord } from '../session/record.ts';
import { finishRound, openCalls } from '../tools/round.ts';
import { answered, costCommands, earlierWords, isCalm, isCut } from './answer.ts';
import { type Called, type CallPorts, callModel } from './call.ts';
import { type FailedCall, react, waitOrFail } from './on-failure.ts';
import { openSession, pendingRecord } from './open-session.ts';
import { progressed, recordRound } from './recorded-round.ts';
import type { TurnTime } from './time.ts';

/** What asking the model works with. */
export type AskPorts = CallPorts & RecoverPorts;

/** What the model is asked about a message, and who receives its text as it streams. */
export interface Question {
  message: InboundMessage;
  content: UserRecord['content'];
  /** Absent when nothing streams the text. */
  onText: OnText | undefined;
  /** Called with the names of the tools that are running, and with none when they have ended. */
  onTools: (names: readonly string[]) => void;
}

/** What the question is about. */
type About = Pick<FailedCall, 'attempt' | 'message' | 'pending' | 'opened' | 'modelOutputTokens'> & {
  room: Room;
  /** What the model itself takes, even if the chat may use less of it. */
  windowTokens: number;
};

/**
 * Asks the model to answer a message, with as many rounds of tools as it wants. Each round is recorded before the next
 * call, so a crash resumes there. A request that is counted as too long is not sent.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function askModel(
  ports: AskPorts,
  begun: Attempt,
  { message, content, onText, onTools }: Question,
  time: TurnTime,
): Promise<Decision> {
  const { settings } = ports;
  const { signal } = time;
  let attempt = begun;
  // During a storm, do not send a request that would only be refused again.
  const storm = begun.field(STORM) === undefined ? undefined : await ports.endpoint.storm.enter(begun);
  if (storm) return waitOrFail(ports, begun, storm);
  const { windowTokens, maxOutputTokens: modelOutputTokens } = await ports.endpoint.model.limits(
    ports.settings.modelName,
  );
  const room = chatRoom(windowTokens, attempt.limit?.tokens, settings);
  const calibration = attempt.calibration ?? tokenizerFactor(ports.settings.modelName);
  const pending = attempt.opened?.record ?? pendingRecord(settings, attempt, message, content);
  const about = { message, pending, room, windowTokens, modelOutputTokens };
  let opened = await openSession(ports, attempt, pending, room.limitTokens);
  for (let round = attempt.rounds; ; round++) {
    const calls = openCalls(opened, attempt);
    if (calls.length > 0) {
      onTools(calls.map(({ name }) => name));
      const finished = await finishRound(ports, attempt, opened, round, signal);
      onTools([]);
      if (!finished) return { kind: 'hand back' };
      opened = finished;
    }
    // Nobody can be told the answer: what is done so far is recorded, and the rest waits free of charge.
    const awayMs = ports.breaker.seenAwayMs();
    if (awayMs > 0) return { kind: 'later', delayMs: awayMs, reason: TELEGRAM_AWAY, isFree: true };
    const now = { ...about, opened, attempt };
    const called = await callModel(
      ports,
      { ...now, calibration, onText, wordsOnly: round >= settings.toolRoundsMax },
      signal,
    );
    if (!called.ok) return reactTo(ports, now, called, time);
    const hidden = failureOf(ports, now, called.answer, round);
    if (hidden) {
      await attempt.write('', costCommands(attempt, called.answer, settings.prices, 'retry'));
      return reactTo(ports, now, { ...called, failure: hidden, isRepaired: false }, time);
    }
    if (!goesOn(called.answer, round, settings)) {
      const files = attempt.rounds > 0 ? await ports.files.of(attempt) : [];
      return answered({ ...now, files }, called, settings);
    }
    opened = await recordRound(ports, attempt, opened, { called, room }, round + 1);
    attempt = { ...progressed(attempt, round + 1), ...(isCalm(called, room) && { compactionsInRow: 0 }) };
  }
}

/** Reacts to a failed call; hands the message back if we aborted the call ourselves. */
async function reactTo(
  ports: AskPorts,
  { room, windowTokens: _, ...about }: About,
  { failure, isRepaired, sent }: Pick<Extract<Called, { ok: false }>, 'failure' | 'isRepaired' | 'sent'>,
  time: TurnTime,
): Promise<Decision> {
  if (time.signal.aborted) return { kind: 'hand back' };
  const { count, fixedTokens, askedOutputTokens } = sent;
  const counts = { limitTokens: room.limitTokens, sentTokens: count.tokens, fixedTokens, askedOutputTokens };
  return react(ports, { ...about, ...counts, failure, isRepaired }, time);
}

/** An answer can hide a failure: a refusal, a window exceeded without an error, or no text. */
function failureOf(
  ports: AskPorts,
  { opened, attempt, windowTokens }: About,
  answer: ModelAnswer,
  round: number,
): Failure | undefined {
  const hidden = classifyAnswer({ stopReason: answer.stopReason, ...answer.usage, windowTokens });
  if (hidden || goesOn(answer, round, ports.settings) || answer.text.trim() !== '') return hidden;
  if (answer.stopReason === 'max_tokens') return { kind: 'output', reason: 'cut_before_text' };
  // After its tools a model may have nothing to add, and some models say nothing before them. Asked once more, it may
  // say more.
  const isDone = attempt.rounds > 0 && attempt.attempts > 1;
  const isBlank = !isCut(answer) && !isDone && earlierWords(opened, attempt) === '';
  return isBlank ? { kind: 'transient', reason: 'unknown' } : undefined;
}

/** Whether the model is not done: it called tools, or paused. */
function goesOn(
  { stopReason, content }: ModelAnswer,
  round: number,
  { toolRoundsMax }: Pick<Settings, 'toolRoundsMax'>,
): boolean {
  if (round >= toolRoundsMax) return false;
  return stopReason === 'pause_turn' || (stopReason === 'tool_use' && content.some(({ type }) => type === 'tool_use'));
}
