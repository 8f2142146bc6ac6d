import type { InboundMessage } from '../shared/message.ts';
import { METRIC } from '../shared/telemetry.ts';
import type { Attempt, Command, RecoveryStage } from './attempt.ts';
import { auditCommand } from './audit.ts';
import { fill, keptIn } from './media/fill.ts';
import { classifyAnswer, type Failure } from './model/classify.ts';
import { type Count, calibrate, countRequest, usableTokens } from './model/count.ts';
import { tokenizerFactor } from './model/family.ts';
import type { ModelAnswer, ModelResult } from './model/model.ts';
import type { Repair } from './model/repair.ts';
import { NOTICE } from './notice.ts';
import { openSession, pendingRecord } from './opening.ts';
import { type FailedCall, react } from './react.ts';
import { bytesOf } from './recovery/left-out.ts';
import type { RecoverParts } from './recovery/step.ts';
import { splitReply } from './reply/format.ts';
import { type AssistantRecord, textOf, type UserRecord } from './session/record.ts';
import { asShown } from './session/shown.ts';
import { appendCommands, newStamp, type OpenedSession } from './session/store.ts';
import { view } from './session/view.ts';
import { finishRound, openCalls, type RoundParts, withRecord } from './tools/round.ts';
import type { Decided } from './verdict.ts';

/** What asking the model works with. */
export interface AskParts extends RecoverParts, RoundParts {
  systemPrompt: string;
  maxAttempts: number;
  /** Share of the window at which a session is compacted after a reply. */
  compactAt: number;
  /** Rounds of tools for one message; after them the model must answer in words. */
  toolRoundsMax: number;
}

const REPAIRS_KEPT = 20;
/** What a request may weigh, with what our count does not see; the API refuses 32 MB. */
const BODY_BYTES_MAX = 28 * 1024 * 1024;

/** What a call is about. */
type Call = Omit<FailedCall, 'failure' | 'isRepaired'>;

/** What a call came to when it went through. */
interface Answered {
  answer: ModelAnswer;
  count: Count;
}

/**
 * Asks the model for the answer to a message, with as many rounds of tools as it wants. Each round is recorded before the
 * next call, so a crash goes on where it was. A request that is counted to be too long is not sent.
 *
 * Contract: throws `FencedError`, or what Redis throws.
 */
export async function askModel(
  parts: AskParts,
  begun: Attempt,
  message: InboundMessage,
  content: UserRecord['content'],
  signal: AbortSignal,
): Promise<Decided> {
  let attempt = begun;
  const windowTokens = await parts.model.windowTokens(parts.modelName);
  const limitTokens = Math.min(windowTokens, attempt.limitTokens ?? windowTokens);
  const calibration = attempt.calibration ?? tokenizerFactor(parts.modelName);
  const pending = pendingRecord(attempt, message, content);
  const about = { message, pending, limitTokens };
  let opened = await openSession(parts, attempt, pending, { limitTokens, calibration });
  for (let round = attempt.rounds; ; round++) {
    if (openCalls(opened, attempt).length > 0) {
      const finished = await finishRound(parts, attempt, opened, round, signal);
      if (!finished) return { do: 'hand back' };
      opened = finished;
    }
    const result = await callModel(parts, { ...about, opened, attempt }, calibration, round, signal);
    if (!('answer' in result)) return result;
    if (!goesOn(result.answer, round, parts)) return answered(parts, { ...about, opened, attempt }, result);
    opened = await recordRound(parts, attempt, opened, result.answer, round + 1);
    attempt = progressed(attempt);
  }
}

/** One call of the model, and what is done when it fails. */
async function callModel(
  parts: AskParts,
  about: Call,
  calibration: number,
  round: number,
  signal: AbortSignal,
): Promise<Decided | Answered> {
  const { attempt, opened, limitTokens } = about;
  const messages = view(opened.window);
  const tools = parts.tools.specs();
  const maxTokens = attempt.maxOutputTokens ?? parts.maxOutputTokens;
  const fixed = { system: parts.systemPrompt, tools: tools.length === 0 ? '' : JSON.stringify(tools) };
  const count = countRequest(fixed, opened.window, messages, parts.modelName, calibration);
  const counted = tooLarge(about, count, usableTokens(limitTokens, maxTokens));
  if (counted) return react(parts, { ...about, failure: counted, isRepaired: false }, signal);
  const refs = keptIn(messages);
  const filled = refs.length === 0 ? messages : fill(messages, await parts.media.load(refs));
  parts.reach('model called');
  const result = await parts.model.send(
    {
      model: parts.modelName,
      maxTokens,
      system: parts.systemPrompt,
      messages: filled,
      tools,
      wordsOnly: round >= parts.toolRoundsMax,
      caches: true,
    },
    signal,
  );
  await recordRepairs(parts, attempt, result.repairs);
  const failure = result.ok ? failureOf(parts, about, result.answer, round) : result.failure;
  if (result.ok && !failure) return { answer: result.answer, count };
  if (signal.aborted || !failure) return { do: 'hand back' };
  return react(parts, { ...about, failure, isRepaired: result.repairs.length > 0 }, signal);
}

/** A repair is no failure, but each one hides a fault of ours that somebody should look at. */
async function recordRepairs(parts: AskParts, attempt: Attempt, repairs: ModelResult['repairs']): Promise<void> {
  if (repairs.length === 0) return;
  for (const { rule, what } of repairs) parts.telemetry.count(METRIC.repairs, { rule, what });
  const kept: readonly Repair[] = repairs.slice(0, REPAIRS_KEPT);
  await attempt.write('', [auditCommand(attempt, { event: 'request.repaired', repairs: kept })]);
}

/**
 * Prevention: what we count to be too long, or too large, is not sent. The last stage of a message is sent all the same,
 * since a count is a guess and the user would get nothing.
 */
function tooLarge({ attempt, opened }: Call, { tokens }: Count, usable: number): Failure | undefined {
  if (attempt.stage === 'scrubbed') return undefined;
  if (tokens > usable) return { kind: 'token', reason: 'counted_too_long', observedTokens: tokens };
  if (bytesOf(asShown(opened.window.records)) <= BODY_BYTES_MAX) return undefined;
  return { kind: 'wire', reason: 'counted_too_large' };
}

/** An answer can hide a failure: a refusal, a window that was exceeded in silence, or nothing to read. */
function failureOf(
  parts: AskParts,
  { opened, attempt, limitTokens }: Call,
  answer: ModelAnswer,
  round: number,
): Failure | undefined {
  const hidden = classifyAnswer({ stopReason: answer.stopReason, ...answer.usage, windowTokens: limitTokens });
  if (hidden || goesOn(answer, round, parts) || isCut(answer)) return hidden;
  const isBlank = answer.text.trim() === '' && earlierWords(opened, attempt) === '';
  return isBlank ? { kind: 'transient', reason: 'unknown' } : undefined;
}

/** Whether the model is not done: it calls tools, or paused. */
function goesOn({ stopReason, content }: ModelAnswer, round: number, { toolRoundsMax }: AskParts): boolean {
  if (round >= toolRoundsMax) return false;
  return stopReason === 'pause_turn' || (stopReason === 'tool_use' && content.some(({ type }) => type === 'tool_use'));
}

/** A round that was recorded is progress: attempts and the bound on recoveries begin anew. */
async function recordRound(
  parts: AskParts,
  attempt: Attempt,
  opened: OpenedSession,
  answer: ModelAnswer,
  round: number,
): Promise<OpenedSession> {
  const record = recordOf(attempt, answer);
  const turn = attempt.keys.turn(attempt.entry);
  const stage = stageAfterRound(attempt);
  await attempt.write(`round:${round}`, [
    ...appendCommands(attempt.keys, attempt.session, [record]),
    costCommand(attempt, answer),
    ['HSET', turn, 'rounds', round, 'attempts', 1, 'recoveriesBefore', attempt.recoveries, 'stage', stage],
  ]);
  parts.reach('round stored');
  return withRecord(opened, record);
}

/** The attempt as it goes on after a round: what was stored with the round, and what a failure now starts from. */
function progressed(attempt: Attempt): Attempt {
  const stage = stageAfterRound(attempt);
  return { ...attempt, attempts: 1, recoveriesBefore: attempt.recoveries, stage };
}

/** A compaction that let a call through has done its work. What a fresh session is for does not come back. */
function stageAfterRound({ stage }: Attempt): RecoveryStage {
  return stage === 'compacted' ? 'none' : stage;
}

/** An answer as the log keeps it: verbatim, but for a call that was cut in the middle of its input. */
function recordOf({ entry }: Attempt, answer: ModelAnswer): AssistantRecord {
  const { content, model, stopReason, usage } = answer;
  const isCutCall = isCut(answer) && content.at(-1)?.type === 'tool_use';
  const kept = isCutCall ? content.slice(0, -1) : content;
  return { v: 1, t: 'assistant', ...newStamp(), entry, content: kept, model, stopReason, usage };
}

function isCut({ stopReason }: ModelAnswer): boolean {
  return stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded';
}

/** What the model said last for this message before it called tools: it may have nothing to add after them. */
function earlierWords({ window }: OpenedSession, { entry }: Attempt): string {
  const own = window.records.filter((record) => record.t === 'assistant' && record.entry === entry);
  const texts = (own as AssistantRecord[]).map(({ content }) => textOf(content).trim());
  return texts.findLast((text) => text !== '') ?? '';
}

function answered(parts: AskParts, { attempt, opened, limitTokens }: Call, { answer, count }: Answered): Decided {
  const record = recordOf(attempt, answer);
  const words = answer.text.trim() === '' ? earlierWords(opened, attempt) : answer.text;
  const text = [words, ...(isCut(answer) ? [NOTICE.cutAnswer] : [])].filter((part) => part !== '').join('\n\n');
  const spent = answer.usage.inputTokens + answer.usage.outputTokens;
  const isFull = spent > limitTokens * parts.compactAt || answer.stopReason === 'model_context_window_exceeded';
  return {
    conclusion: { outcome: 'answered', parts: [...attempt.notices, ...splitReply(text)] },
    commands: [
      ...appendCommands(attempt.keys, attempt.session, [record]),
      costCommand(attempt, answer),
      ...learnt(attempt, calibrate(attempt.calibration, count, answer.usage.inputTokens), isFull),
    ],
    ...(isFull && { afterReply: { opened: withRecord(opened, record), limitTokens } }),
  };
}

function costCommand(attempt: Attempt, { model, usage }: ModelAnswer): Command {
  return auditCommand(attempt, { event: 'model.answered', purpose: 'answer', model, ...usage });
}

/** What an answer teaches: how our estimate compares, and that the session did not refill at once. */
function learnt(attempt: Attempt, calibration: number | undefined, isFull: boolean): Command[] {
  const { keys, chat, session, compactionsInRow } = attempt;
  const calm = !isFull && compactionsInRow > 0;
  return [
    ...(calibration === undefined ? [] : [['HSET', keys.chat(chat), 'calibration', calibration.toFixed(4)] as const]),
    ...(calm ? [['HSET', keys.session(session), 'compactionsInRow', 0] as const] : []),
  ];
}
