import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { SPAN } from '../../shared/base/telemetry.ts';
import { alertCommand } from '../../shared/flow/alert.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { undeliverableAlert } from '../alerts/messages.ts';
import type { Attempt, Command, Conclusion } from '../lane/attempt.ts';
import { backoffMs } from '../lane/backoff.ts';
import type { Verdict } from '../lane/verdict.ts';
import { type DeliveryTime, deliver } from '../reply/outbox.ts';
import { endingOwnRepeat } from './due-reminder.ts';
import { moveChat } from './moved-chat.ts';
import { untold } from './not-taken.ts';
import type { TurnPorts } from './turn.ts';

/** A finished reply is already paid for, so it may outlast longer trouble than a model call. */
const DELIVERY_ATTEMPTS_MAX = 30;
const UNAUTHORIZED_RETRY_MS = 30_000;

/** Delivers a stored conclusion, and says what follows from what Telegram says. Contract: as `runTurn`. */
export async function deliverConclusion(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  time: DeliveryTime,
): Promise<Verdict> {
  const attributes = { 'messaging.system': 'telegram', 'spillway.parts': conclusion.parts.length };
  const { instruments, store } = ports.ask;
  const adapters = { telegram: ports.telegram, instruments, loadKept: (id: string) => store.media.read(id) };
  const work = async (span: Span) => {
    const delivered = await deliver(adapters, attempt, conclusion, to, time);
    if (delivered.kind !== 'delivered') failSpan(span, delivered.failure.kind);
    return delivered;
  };
  const delivery = await instruments.telemetry.span(SPAN.deliver, attributes, work, {
    kind: SpanKind.PRODUCER,
  });
  if (delivery.kind === 'delivered') return { kind: 'settle', conclusion };
  const { failure } = delivery;
  if (failure.migratedTo !== undefined && failure.migratedTo !== to.chatId) {
    const told = await moveChat(ports, attempt, conclusion, failure.migratedTo);
    return deliverConclusion(ports, attempt, told, { chatId: failure.migratedTo }, { ...time, isNew: false });
  }
  // A rejected token affects every message, and is not this one's fault.
  if (failure.kind === 'unauthorized')
    return {
      kind: 'later',
      delayMs: failure.retryAfterMs ?? UNAUTHORIZED_RETRY_MS,
      reason: 'telegram_unauthorized',
      isFree: true,
    };
  if (delivery.kind === 'later' && attempt.attempts < DELIVERY_ATTEMPTS_MAX) {
    const delayMs = backoffMs(attempt.attempts, failure.retryAfterMs);
    return { kind: 'later', delayMs, reason: `telegram_${failure.kind}` };
  }
  const why = `${failure.kind}: ${failure.description}`;
  const ended = failure.kind === 'gone' ? await endingOwnRepeat(ports, attempt) : [];
  return undeliverable(attempt, conclusion, `telegram_${failure.kind}`, why, ended);
}

/** The end of a message whose conclusion cannot be delivered: only the operator can be notified. */
export async function undeliverable(
  attempt: Attempt,
  conclusion: Conclusion,
  reason: string,
  why: string,
  commands: readonly Command[] = [],
): Promise<Verdict> {
  const { also } = conclusion;
  const alert = alertCommand(attempt.keys, undeliverableAlert(attempt, why));
  await attempt.write('undeliverable', [alert, ...untold(attempt, conclusion), ...commands]);
  return { kind: 'settle', conclusion: { outcome: 'undeliverable', reason, parts: [], ...(also && { also }) } };
}
