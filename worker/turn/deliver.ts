import { type Span, SpanKind } from '@opentelemetry/api';
import { failSpan } from '../../shared/base/spans.ts';
import { SPAN } from '../../shared/base/telemetry.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import { undeliverableAlert } from '../alerts/messages.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { Delivered } from '../lane/verdict.ts';
import { type DeliveryTime, deliver } from '../reply/outbox.ts';
import { endingOwnRepeat } from './due-reminder.ts';
import { moveChat } from './moved-chat.ts';
import { undelivered } from './not-taken.ts';
import { waitWithAnswer } from './telegram-wait.ts';
import type { TurnPorts } from './turn.ts';

const UNAUTHORIZED_RETRY_MS = 30_000;

/** Delivers a stored conclusion, and says what follows from what Telegram says. Contract: as `runTurn`. */
export async function deliverConclusion(
  ports: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: Destination,
  time: DeliveryTime,
): Promise<Delivered> {
  const attributes = { 'messaging.system': 'telegram', 'spillway.parts': conclusion.parts.length };
  const { observability, store } = ports.ask;
  const adapters = {
    telegram: ports.telegram,
    breaker: ports.breaker,
    observability,
    loadKept: (id: string) => store.media.read(attempt.home, id),
  };
  const work = async (span: Span) => {
    const delivered = await deliver(adapters, attempt, conclusion, to, time);
    if (delivered.kind !== 'delivered') failSpan(span, delivered.failure.kind);
    return delivered;
  };
  const delivery = await observability.telemetry.span(SPAN.deliver, attributes, work, {
    kind: SpanKind.PRODUCER,
  });
  if (delivery.kind === 'delivered') {
    const { record } = delivery;
    return { kind: 'settle', conclusion, ...(record.parts > 0 && { delivery: record }) };
  }
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
  if (delivery.kind === 'later') return waitWithAnswer(ports, attempt, conclusion, failure);
  return undelivered(attempt, conclusion, {
    outcome: 'undeliverable',
    reason: `telegram_${failure.kind}`,
    alert: undeliverableAlert(attempt, `${failure.kind}: ${failure.description}`),
    commands: failure.kind === 'gone' ? await endingOwnRepeat(ports, attempt) : [],
  });
}
