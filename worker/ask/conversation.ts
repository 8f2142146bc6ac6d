import type { InboundMessage } from '../../shared/flow/message.ts';
import { type Attempt, type Command, OUTAGE_FIELDS, type RecoveryStage, TIMEOUTS } from '../lane/attempt.ts';
import { auditCommand } from '../lane/audit-trail.ts';
import type { Settings } from '../lane/settings.ts';
import type { Decision } from '../lane/verdict.ts';
import type { Block } from '../model/block.ts';
import { tokenizerFactor } from '../model/catalog.ts';
import { calibrate } from '../model/count.ts';
import { classifyAnswer } from '../model/errors/classify.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { ModelAnswer, OnText } from '../model/port.ts';
import { type Room, roomOf } from '../model/room.ts';
import { isThinking } from '../model/rules/shapes.ts';
import type { RecoverPorts } from '../recovery/effects.ts';
import { STORM } from '../recovery/storm.ts';
import { trialWon } from '../recovery/trial.ts';
import { NOTICE } from '../reply/notices.ts';
import { sourcesOf, withSources } from '../reply/sources.ts';
import { splitReply } from '../reply/split.ts';
import { type AssistantRecord, textOf, type UserRecord } from '../session/record.ts';
import { appendCommands, newStamp, type OpenedSession } from '../session/store.ts';
import { finishRound, openCalls, withRecord } from '../tools/round.ts';
import { type Called, type CallPorts, callModel } from './call.ts';
import { type FailedCall, react, waitOrFail } from './on-failure.ts';
import { openSession, pendingRecord } from './open-session.ts';
import type { TurnTime } from './time.ts';

/** What asking the model works with. */
export type AskPorts = CallPorts & RecoverPorts;

/** What the model is asked about a message, and who receives its text as it streams. */
export interface Question {
  message: InboundMessage;
  content: UserRecord['content'];
  /** Absent when nothing streams the text. */
  onText: OnText | undefined;
}

/** What the question is about. */
type About = Pick<FailedCall, 'attempt' | 'message' | 'pending' | 'opened' | 'modelOutputTokens'> & {
  room: Room;
  /** What the model itself takes, even if the chat may use less of it. */
  windowTokens: number;
};

type Answered = Extract<Called, { ok: true }>;

/**
 * Asks the model to answer a message, with as many rounds of tools as it wants. Each round is recorded before the next
 * call, so a crash resumes there. A request that is counted as too long is not sent.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function askModel(
  ports: AskPorts,
  begun: Attempt,
  { message, content, onText }: Question,
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
  const learntTokens = attempt.limit?.tokens ?? windowTokens;
  const room = roomOf(Math.min(windowTokens, learntTokens, settings.contextBudgetTokens), settings);
  const calibration = attempt.calibration ?? tokenizerFactor(ports.settings.modelName);
  const pending = pendingRecord(settings, attempt, message, content);
  const about = { message, pending, room, windowTokens, modelOutputTokens };
  let opened = await openSession(ports, attempt, pending, room.limitTokens);
  for (let round = attempt.rounds; ; round++) {
    if (openCalls(opened, attempt).length > 0) {
      const finished = await finishRound(ports, attempt, opened, round, signal);
      if (!finished) return { kind: 'hand back' };
      opened = finished;
    }
    const now = { ...about, opened, attempt };
    const called = await callModel(
      ports,
      { ...now, calibration, onText, wordsOnly: round >= settings.toolRoundsMax },
      signal,
    );
    if (!called.ok) return reactTo(ports, now, called, time);
    const hidden = failureOf(ports, now, called.answer, round);
    if (hidden) {
      await attempt.write('', [costCommand(attempt, called.answer, 'retry')]);
      return reactTo(ports, now, { ...called, failure: hidden, isRepaired: false }, time);
    }
    if (!goesOn(called.answer, round, settings)) return answered(now, called);
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

/** A recorded round is progress: it resets the attempts and the bound on recoveries. */
async function recordRound(
  ports: AskPorts,
  attempt: Attempt,
  opened: OpenedSession,
  { called, room }: { called: Answered; room: Room },
  round: number,
): Promise<OpenedSession> {
  const record = recordOf(attempt, called);
  const turn = attempt.keys.turn(attempt.entry);
  const stage = stageAfterRound(attempt);
  await attempt.write(`round:${round}`, [
    ...appendCommands(attempt.keys, attempt.session, [record]),
    costCommand(attempt, called.answer),
    ['HSET', turn, 'rounds', round, 'attempts', 1, 'recoveriesBefore', attempt.recoveries, 'stage', stage],
    ['HDEL', turn, TIMEOUTS, ...OUTAGE_FIELDS],
    ...trialWon(attempt),
    ...(isCalm(called, room) ? [['HSET', attempt.keys.session(attempt.session), 'compactionsInRow', 0] as const] : []),
  ]);
  ports.instruments.reach('round stored');
  return withRecord(opened, record);
}

/** The attempt as it continues after a round: what was stored with the round, and what a failure now starts from. */
function progressed(attempt: Attempt, rounds: number): Attempt {
  const stage = stageAfterRound(attempt);
  const isOver = (name: string) => (OUTAGE_FIELDS as readonly string[]).includes(name);
  const field: Attempt['field'] = (name) => (isOver(name) ? undefined : attempt.field(name));
  return {
    ...attempt,
    field,
    rounds,
    attempts: 1,
    timeouts: 0,
    recoveriesBefore: attempt.recoveries,
    stage,
    ...endedTrial(attempt),
  };
}

/** A round that left the session well below full: the last compaction did not refill at once. */
function isCalm({ answer }: Answered, { fullTokens }: Room): boolean {
  return answer.usage.inputTokens + answer.usage.outputTokens <= fullTokens;
}

/** A call that went through ends the trial: the session is kept, and its user is notified. */
function endedTrial({ trial, notices }: Attempt): Pick<Attempt, 'trial' | 'notices'> {
  return { trial: undefined, notices: trial ? [...notices, trial.notice] : notices };
}

/** A compaction is done once a call goes through. What a fresh session was opened for does not come back. */
function stageAfterRound({ stage }: Attempt): RecoveryStage {
  return stage === 'compacted' ? 'none' : stage;
}

/**
 * An answer as the log keeps it: verbatim, except for a call that was cut in the middle of its input, and for a
 * fallback model's thinking, which the first model would reject.
 */
function recordOf({ entry }: Attempt, { answer, byFallback }: Answered): AssistantRecord {
  const { content, model, stopReason, usage } = answer;
  const isCutCall = isCut(answer) && content.at(-1)?.type === 'tool_use';
  const whole = isCutCall ? content.slice(0, -1) : content;
  const kept = byFallback ? whole.filter((block) => !isThinking(block)) : whole;
  return { v: 1, t: 'assistant', ...newStamp(), entry, content: kept, model, stopReason, usage };
}

function isCut({ stopReason }: ModelAnswer): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded';
}

/** What the model said earlier for this message, tool calls included. */
function ownBlocks({ window }: OpenedSession, { entry }: Attempt): Block[] {
  return window.records.flatMap((record) =>
    record.t === 'assistant' && record.entry === entry && typeof record.content !== 'string' ? record.content : [],
  );
}

/**
 * The last text that the model wrote for this message before it called tools: it may have nothing to add after them.
 */
function earlierWords({ window }: OpenedSession, { entry }: Attempt): string {
  const own = window.records.filter((record) => record.t === 'assistant' && record.entry === entry);
  const texts = (own as AssistantRecord[]).map(({ content }) => textOf(content).trim());
  return texts.findLast((text) => text !== '') ?? '';
}

function answered({ attempt, opened, room }: About, called: Answered): Decision {
  const { answer, sent, byFallback } = called;
  const record = recordOf(attempt, called);
  const words =
    [answer.text, earlierWords(opened, attempt), NOTICE.nothingToAdd].find((said) => said.trim() !== '') ?? '';
  const sourced = withSources(words, sourcesOf([...ownBlocks(opened, attempt), ...answer.content]));
  const text = [sourced, ...(isCut(answer) ? [NOTICE.cutAnswer] : [])].filter((part) => part !== '').join('\n\n');
  const isFull = !isCalm(called, room) || answer.stopReason === 'model_context_window_exceeded';
  const { notices } = endedTrial(attempt);
  return {
    kind: 'conclude',
    conclusion: { outcome: 'answered', parts: [...notices, ...splitReply(text)] },
    commands: [
      ...appendCommands(attempt.keys, attempt.session, [record]),
      costCommand(attempt, answer),
      ...learnt(
        attempt,
        byFallback ? undefined : calibrate(attempt.calibration, sent.count, answer.usage.inputTokens),
        isFull,
      ),
      ...trialWon(attempt),
    ],
    ...(isFull && { afterReply: { opened: withRecord(opened, record), room } }),
  };
}

function costCommand(attempt: Attempt, { model, usage }: ModelAnswer, purpose: 'answer' | 'retry' = 'answer'): Command {
  return auditCommand(attempt, { event: 'model.answered', purpose, model, ...usage });
}

/** What an answer teaches: how our estimate compares, and that the session did not refill at once. */
function learnt(attempt: Attempt, calibration: number | undefined, isFull: boolean): Command[] {
  const { keys, chat, session, compactionsInRow, refusalsInRow } = attempt;
  const calm = !isFull && compactionsInRow > 0;
  return [
    ...(calibration === undefined ? [] : [['HSET', keys.chat(chat), 'calibration', calibration.toFixed(4)] as const]),
    ...(calm ? [['HSET', keys.session(session), 'compactionsInRow', 0] as const] : []),
    ...(refusalsInRow > 0 ? [['HSET', keys.session(session), 'refusalsInRow', 0] as const] : []),
  ];
}
