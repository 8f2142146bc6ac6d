import { channelOf, type InboundMessage } from '../shared/message.ts';
import { METRIC, SPAN } from '../shared/telemetry.ts';
import { alertCommand } from './alert.ts';
import type { Attempt, Command } from './attempt.ts';
import { auditCommand } from './audit.ts';
import { backoffMs } from './backoff.ts';
import { tornAlert } from './incident.ts';
import { classifyAnswer, type Failure } from './model/classify.ts';
import { type Count, calibrate, countRequest, tokenizerFactor, usableTokens } from './model/count.ts';
import type { ModelAnswer } from './model/model.ts';
import type { Repair } from './model/repair.ts';
import { NOTICE } from './notice.ts';
import type { Trigger } from './recovery/policy.ts';
import { recover } from './recovery/recover.ts';
import type { Overflow, RecoverParts } from './recovery/step.ts';
import { splitReply } from './reply/format.ts';
import type { LogRecord, UserRecord } from './session/record.ts';
import { appendCommands, newStamp, type OpenedSession } from './session/store.ts';
import { view } from './session/view.ts';
import { type Decided, failed } from './verdict.ts';

/** What asking the model works with. */
export interface AskParts extends RecoverParts {
  modelName: string;
  systemPrompt: string;
  maxAttempts: number;
  /** Share of the window at which a session is compacted after a reply. */
  compactAt: number;
}

const REPAIRS_KEPT = 20;
/** Bytes that a load reads at most per token of the window, calibrated: plain text then fills three quarters of it. */
const VIEW_BYTES_PER_TOKEN = 3.6;

/** Asks the model for the answer to a message, unless its request is counted to be too long. */
export async function askModel(
  parts: AskParts,
  attempt: Attempt,
  message: InboundMessage,
  text: string,
  signal: AbortSignal,
): Promise<Decided> {
  const windowTokens = await parts.model.windowTokens(parts.modelName);
  const limitTokens = Math.min(windowTokens, attempt.limitTokens ?? windowTokens);
  const calibration = attempt.calibration ?? tokenizerFactor(parts.modelName);
  const pending = pendingRecord(attempt, message, text);
  const opened = await openSession(
    parts,
    attempt,
    pending,
    Math.floor((limitTokens * VIEW_BYTES_PER_TOKEN) / calibration),
  );
  const messages = view(opened.window);
  const fixed = { system: parts.systemPrompt, tools: '' };
  const count = countRequest(fixed, opened.window, messages, parts.modelName, calibration);
  const asked: Asked = { attempt, message, pending, opened, limitTokens, count };
  const maxTokens = attempt.maxOutputTokens ?? parts.maxOutputTokens;
  const counted = tooLong(count, usableTokens(limitTokens, maxTokens), attempt);
  if (counted) return react(parts, { ...asked, failure: counted }, signal);
  parts.reach('model called');
  const result = await parts.model.send(
    { model: parts.modelName, maxTokens, system: parts.systemPrompt, messages, caches: true },
    signal,
  );
  await recordRepairs(parts, attempt, result.repairs);
  const failure = result.ok ? failureOf(result.answer, limitTokens) : result.failure;
  if (result.ok && !failure) return answered(parts, asked, result.answer);
  if (signal.aborted || !failure) return { do: 'hand back' };
  return react(parts, { ...asked, failure }, signal);
}

/** A repair is no failure, but each one hides a fault of ours that somebody should look at. */
async function recordRepairs(parts: AskParts, attempt: Attempt, repairs: readonly Repair[]): Promise<void> {
  if (repairs.length === 0) return;
  for (const { rule, what } of repairs) parts.telemetry.count(METRIC.repairs, { rule, what });
  await attempt.write('', [
    auditCommand(attempt, { event: 'request.repaired', repairs: repairs.slice(0, REPAIRS_KEPT) }),
  ]);
}

/** A call that was made, or counted. */
type Asked = Omit<Overflow, 'failure'> & { count: Count };

/**
 * Prevention: what we count to be too long is not sent. The last stage of a message is sent all the same, since a count
 * is a guess and the user would get nothing.
 */
function tooLong(count: Count, usable: number, { stage }: Attempt): Failure | undefined {
  if (count.tokens <= usable || stage === 'scrubbed') return undefined;
  return { kind: 'token', reason: 'counted_too_long', observedTokens: count.tokens };
}

type Failed = Asked & { failure: Failure };

async function react(parts: AskParts, failedCall: Failed, signal: AbortSignal): Promise<Decided> {
  const { attempt, failure } = failedCall;
  if (failure.kind === 'terminal') return terminal(attempt, failure);
  if (failure.kind === 'transient') {
    if (attempt.attempts >= parts.maxAttempts)
      return failed(attempt, failure.reason, NOTICE.unavailable, 'all attempts failed');
    return { do: 'later', delayMs: backoffMs(attempt.attempts, failure.retryAfterMs), reason: failure.reason };
  }
  const recovery = await recover(
    parts,
    { ...failedCall, failure: { ...failure, kind: failure.kind as Trigger } },
    signal,
  );
  return recovery.do === 'again' ? { do: 'again' } : { conclusion: recovery.conclusion, commands: recovery.commands };
}

/** An answer can hide a failure: a refusal, a window that was exceeded in silence, or nothing to read. */
function failureOf(answer: ModelAnswer, windowTokens: number): Failure | undefined {
  const { stopReason, text, usage } = answer;
  const hidden = classifyAnswer({ stopReason, ...usage, windowTokens });
  if (hidden || text.trim() !== '') return hidden;
  return { kind: 'transient', reason: 'unknown' };
}

function answered(parts: AskParts, asked: Asked, answer: ModelAnswer): Decided {
  const { attempt, count, opened, limitTokens } = asked;
  const record: LogRecord = {
    v: 1,
    t: 'assistant',
    ...newStamp(),
    entry: attempt.entry,
    content: answer.content,
    model: answer.model,
    stopReason: answer.stopReason,
    usage: answer.usage,
  };
  const isCut = answer.stopReason === 'max_tokens' || answer.stopReason === 'model_context_window_exceeded';
  const cut = isCut ? `\n\n${NOTICE.cutAnswer}` : '';
  const spent = answer.usage.inputTokens + answer.usage.outputTokens;
  const isFull = spent > limitTokens * parts.compactAt || answer.stopReason === 'model_context_window_exceeded';
  const window = { ...opened.window, records: [...opened.window.records, record] };
  return {
    conclusion: { outcome: 'answered', parts: [...attempt.notices, ...splitReply(answer.text + cut)] },
    commands: [
      ...appendCommands(attempt.keys, attempt.session, [record]),
      ...learnt(attempt, calibrate(attempt.calibration, count, answer.usage.inputTokens), isFull),
    ],
    ...(isFull && { afterReply: { opened: { ...opened, window, logRecords: opened.logRecords + 1 }, limitTokens } }),
  };
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

/** Nothing that we could change would help: the user is told, the operator once per kind of trouble. */
function terminal(attempt: Attempt, failure: Failure): Decided {
  if (failure.reason !== 'refused')
    return failed(attempt, failure.reason, NOTICE.misconfigured, `status ${failure.status ?? 'none'}`, true);
  const { entry, keys, session } = attempt;
  const scrub: LogRecord = {
    v: 1,
    t: 'scrub',
    ...newStamp(),
    entry,
    text: '[A message that the model declined was left out.]',
  };
  const refusal = failed(attempt, 'refused', NOTICE.declined, 'the model declined the message');
  return { ...refusal, commands: [...refusal.commands, ...appendCommands(keys, session, [scrub])] };
}

async function openSession(
  parts: AskParts,
  attempt: Attempt,
  pending: UserRecord,
  bytesMax: number,
): Promise<OpenedSession> {
  const opened = await parts.telemetry.span(SPAN.open, {}, async (span) => {
    const loaded = await parts.sessions.open(attempt, pending, bytesMax);
    const { records } = loaded.window;
    span.setAttributes({ 'spillway.window.records': records.length, 'spillway.window.bytes': loaded.bytes });
    return loaded;
  });
  await reportTorn(attempt, opened.window);
  return opened;
}

/** A torn line is left out of the view, in its place; the operator learns of it, once a message. */
async function reportTorn(attempt: Attempt, { head, records }: OpenedSession['window']): Promise<void> {
  const torn = [head, ...records].filter((record) => record?.t === 'torn').length;
  if (torn === 0) return;
  await attempt.write(`torn:${attempt.session}`, [
    alertCommand(attempt.keys, tornAlert(attempt, torn)),
    auditCommand(attempt, { event: 'session.torn', records: torn }),
  ]);
}

function pendingRecord(attempt: Attempt, message: InboundMessage, text: string): UserRecord {
  return {
    v: 1,
    t: 'user',
    ...newStamp(),
    content: text,
    entry: attempt.entry,
    channel: channelOf(message),
    ...(message.chatType !== 'private' && { from: message.from.name ?? String(message.from.id) }),
  };
}
