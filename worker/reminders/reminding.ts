import { SpanKind } from '@opentelemetry/api';
import type { AllowedIds } from '../../shared/base/config.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { Observability } from '../../shared/base/observability.ts';
import { METRIC, messaging, SPAN, traceparent } from '../../shared/base/telemetry.ts';
import { parseChatKey } from '../../shared/redis/keys.ts';
import type { Due, ReminderBook } from '../../shared/state/reminder/book.ts';
import { entering } from './reminder.ts';

export interface RemindingPorts {
  book: Pick<ReminderBook, 'due' | 'enter' | 'putOff'>;
  /** Whom the bot answers now. Contract: rejects when nobody can say. */
  allowed: () => Promise<AllowedIds>;
  observability: Observability;
  /** The least time between two times of a repeat. */
  minutesMin: number;
  /** How often to look for reminders that other processes have set. */
  everyMs: number;
}

export const REMINDERS_EVERY_MS = 5_000;
const BATCH = 100;
const CLOSED_WAIT_MS = 3_600_000;

/**
 * Turns reminders that are due into messages of their chats, at the start and then at their times. Several processes
 * may do so side by side: each due time becomes one message. What was due while none ran comes late, once.
 */
export function startReminding(ports: RemindingPorts): Service {
  const { book, everyMs, observability } = ports;
  return runLoop({
    name: 'reminding',
    async round(signal) {
      const { nowMs, nextMs, due } = await book.due(BATCH);
      for (const each of due) if (!signal.aborted) await remind(ports, each, nowMs);
      if (due.length === BATCH) return 0;
      return nextMs === undefined ? everyMs : Math.min(everyMs, Math.max(1, nextMs - nowMs));
    },
    retryMs: everyMs,
    onError: (error) => observability.log.warn({ err: error }, 'reminding failed; it is tried again'),
  });
}

async function remind(
  { book, allowed, observability, minutesMin }: RemindingPorts,
  due: Due,
  nowMs: number,
): Promise<void> {
  const { chat, otherChat, id, dueAtMs, stored } = due;
  const { telemetry, log, reach } = observability;
  const ids = await allowed();
  const isListed = (id: number) => ids === 'everyone' || ids.has(id);
  if (![chat, otherChat].some((each) => each && isListed(parseChatKey(each)?.chatId ?? 0))) {
    log.warn({ chat, reminder: id }, 'a reminder waits: its chat is not on the allow list');
    return book.putOff(due, nowMs + CLOSED_WAIT_MS);
  }
  const { message, nextMs } = entering(stored, { dueAtMs, nowMs, minutesMin, isListed });
  const attributes = { ...messaging('send', 'inbound'), 'spillway.reminder': id };
  const entry = await telemetry.span(SPAN.remind, attributes, () => book.enter(due, message, nextMs, traceparent()), {
    kind: SpanKind.PRODUCER,
  });
  if (entry === undefined) return;
  reach('accepted');
  telemetry.count(METRIC.accepted, {});
  log.info({ chat, reminder: id, entry, lateMs: nowMs - dueAtMs }, 'a reminder is due');
}
