import { SpanKind } from '@opentelemetry/api';
import { parseChatKey } from '../shared/keys.ts';
import { channelOf, type InboundMessage } from '../shared/message.ts';
import type { Destination, Telegram } from '../shared/telegram.ts';
import { SPAN } from '../shared/telemetry.ts';
import { alertCommand } from './alert.ts';
import type { Attempt, Command, Conclusion } from './attempt.ts';
import { backoffMs } from './backoff.ts';
import { carryOut, commandOf } from './command.ts';
import { failedAlert, undeliverableAlert } from './incident.ts';
import { classifyAnswer, type Failure } from './model/classify.ts';
import type { ModelAnswer, ModelRequest } from './model/model.ts';
import { NOTICE, unsupportedKind } from './notice.ts';
import type { Trigger } from './recovery/policy.ts';
import { recover } from './recovery/recover.ts';
import type { Overflow, RecoverParts } from './recovery/step.ts';
import { splitReply } from './reply/format.ts';
import { deliver, markFirst } from './reply/outbox.ts';
import { showTyping } from './reply/typing.ts';
import type { LogRecord, UserRecord } from './session/record.ts';
import { appendCommands, newStamp, type OpenedSession } from './session/store.ts';
import { view } from './session/view.ts';

export interface TurnParts extends RecoverParts {
  telegram: Telegram;
  modelName: string;
  systemPrompt: string;
  maxAttempts: number;
}

/** What the processor is to do with the job. The turn itself never touches the queue. */
export type Verdict =
  | { do: 'settle'; conclusion: Conclusion }
  /** Back to the head of the queue at once: recovery has changed what is sent. */
  | { do: 'again' }
  | { do: 'later'; delayMs: number; reason: string }
  /** Cut short from outside: given back without using an attempt. */
  | { do: 'hand back' };

/** A reply may outlive a longer trouble than a model call: it is paid for. */
const DELIVERY_ATTEMPTS_MAX = 30;
/** Bytes per token of window that a load reads at most: enough for scripts that take three bytes a character. */
const VIEW_BYTES_PER_TOKEN = 5;
const UNAUTHORIZED_RETRY_MS = 30_000;

/**
 * One attempt at a message: conclude it unless an earlier attempt did, then deliver. Contract: throws `FencedError` when
 * another attempt took over, or what Redis throws; every other failure is a verdict.
 */
export async function runTurn(parts: TurnParts, attempt: Attempt, signal: AbortSignal): Promise<Verdict> {
  const to = destinationOf(attempt);
  if (attempt.conclusion) return deliverConclusion(parts, attempt, attempt.conclusion, to, false);
  const stopTyping = showTyping(parts.telegram, to);
  try {
    const decided = await decide(parts, attempt, signal);
    if (signal.aborted && !('conclusion' in decided)) return { do: 'hand back' };
    if (!('conclusion' in decided)) return decided;
    await attempt.write('conclusion', [
      ['HSET', attempt.keys.turn(attempt.entry), 'conclusion', JSON.stringify(decided.conclusion), 'attempts', 1],
      markFirst(attempt),
      ...decided.commands,
    ]);
    parts.reach('answer stored');
    stopTyping();
    return await deliverConclusion(parts, attempt, decided.conclusion, to, true);
  } finally {
    stopTyping();
  }
}

type Decided = { conclusion: Conclusion; commands: Command[] } | Exclude<Verdict, { do: 'settle' }>;

async function decide(parts: TurnParts, attempt: Attempt, signal: AbortSignal): Promise<Decided> {
  if (!attempt.message.ok) return failed(attempt, 'undecodable', NOTICE.unreadable, attempt.message.problem);
  const message = attempt.message.value;
  if (attempt.attempts > parts.maxAttempts)
    return failed(attempt, 'attempts_used_up', NOTICE.unavailable, 'each attempt was cut short');
  if (message.content.kind === 'unsupported') {
    return {
      conclusion: { outcome: 'refused', reason: 'unsupported_kind', parts: [unsupportedKind(message.content.what)] },
      commands: [],
    };
  }
  const command = commandOf(message.content.text);
  return command ? carryOut(command, attempt) : askModel(parts, attempt, message, message.content.text, signal);
}

async function askModel(
  parts: TurnParts,
  attempt: Attempt,
  message: InboundMessage,
  text: string,
  signal: AbortSignal,
): Promise<Decided> {
  const windowTokens = await parts.model.windowTokens(parts.modelName);
  const limitTokens = Math.min(windowTokens, attempt.limitTokens ?? windowTokens);
  const pending = pendingRecord(attempt, message, text);
  const opened = await openSession(parts, attempt, pending, limitTokens * VIEW_BYTES_PER_TOKEN);
  const request: ModelRequest = {
    model: parts.modelName,
    maxTokens: attempt.maxOutputTokens ?? parts.maxOutputTokens,
    system: parts.systemPrompt,
    messages: view(opened.window),
  };
  parts.reach('model called');
  const result = await parts.model.send(request, signal);
  const failure = result.ok ? failureOf(result.answer, limitTokens) : result.failure;
  if (result.ok && !failure) return answered(attempt, result.answer);
  if (signal.aborted || !failure) return { do: 'hand back' };
  return react(parts, { attempt, message, pending, opened, failure, limitTokens }, signal);
}

type Failed = Omit<Overflow, 'failure'> & { failure: Failure };

async function react(parts: TurnParts, failedCall: Failed, signal: AbortSignal): Promise<Decided> {
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

function answered(attempt: Attempt, answer: ModelAnswer): Decided {
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
  const cut =
    answer.stopReason === 'max_tokens' || answer.stopReason === 'model_context_window_exceeded'
      ? `\n\n${NOTICE.cutAnswer}`
      : '';
  return {
    conclusion: { outcome: 'answered', parts: [...attempt.notices, ...splitReply(answer.text + cut)] },
    commands: appendCommands(attempt.keys, attempt.session, [record]),
  };
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

/** The conclusion that a message failed: kept as a dead letter, told to the user and to the operator. */
function failed(attempt: Attempt, reason: string, notice: string, detail: string, sharedCause = false) {
  const conclusion: Conclusion = { outcome: 'failed', reason, parts: [notice] };
  return { conclusion, commands: [alertCommand(attempt.keys, failedAlert(attempt, reason, detail, sharedCause))] };
}

async function deliverConclusion(
  parts: TurnParts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  isNew: boolean,
): Promise<Verdict> {
  const attributes = { 'messaging.system': 'telegram', 'spillway.parts': conclusion.parts.length };
  const delivery = await parts.telemetry.span(
    SPAN.deliver,
    attributes,
    () => deliver(parts, attempt, conclusion, to, isNew),
    {
      kind: SpanKind.PRODUCER,
    },
  );
  if (delivery.state === 'delivered') return { do: 'settle', conclusion };
  const { failure } = delivery;
  if (delivery.state === 'later' && attempt.attempts < DELIVERY_ATTEMPTS_MAX) {
    const waitMs =
      failure.kind === 'unauthorized' ? UNAUTHORIZED_RETRY_MS : backoffMs(attempt.attempts, failure.retryAfterMs);
    return { do: 'later', delayMs: waitMs, reason: `telegram_${failure.kind}` };
  }
  const alert = undeliverableAlert(attempt, `${failure.kind}: ${failure.description}`);
  await attempt.write('undeliverable', [alertCommand(attempt.keys, alert)]);
  return { do: 'settle', conclusion: { outcome: 'undeliverable', reason: `telegram_${failure.kind}`, parts: [] } };
}

async function openSession(
  parts: TurnParts,
  attempt: Attempt,
  pending: UserRecord,
  bytesMax: number,
): Promise<OpenedSession> {
  return parts.telemetry.span(SPAN.open, {}, async (span) => {
    const opened = await parts.sessions.open(attempt, pending, bytesMax);
    span.setAttributes({
      'spillway.window.records': opened.window.records.length,
      'spillway.window.bytes': opened.bytes,
    });
    return opened;
  });
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

function destinationOf(attempt: Attempt): Destination {
  const parsed = parseChatKey(attempt.chat);
  if (!parsed) throw new Error(`not a chat key: ${attempt.chat}`);
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
