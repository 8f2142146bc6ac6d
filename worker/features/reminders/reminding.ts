import { SpanKind } from '@opentelemetry/api';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { runLoop } from '../../../shared/base/loop.ts';
import type { AllowedIds } from '../../../shared/base/settings.ts';
import { METRIC, messaging, SPAN, traceparent } from '../../../shared/base/telemetry.ts';
import { parseChatKey } from '../../../shared/redis/keys.ts';
import { allowedNow } from '../../../shared/state/chat/allowed-people.ts';
import { createReminderBook, type DueEntry, type ReminderBook } from '../../../shared/state/reminder/book.ts';
import type { ShardEnv } from '../../shard-env.ts';
import { messageFor } from './reminder.ts';

const BATCH = 100;
const CLOSED_WAIT_MS = 3_600_000;

/**
 * Turns due reminders into messages of their chats. Several processes may run this loop at the same time: each due time still
 * becomes at most one message. A reminder that was due while no process ran becomes one late message. A reminder waits while
 * its chat is not on the allow list.
 */
export function startReminding(env: ShardEnv): Service {
  const book = createReminderBook(env.redis, env.keys);
  const loadAllowedIds = allowedIdsLoader(env);
  const everyMs = env.limits.remindersEveryMs;
  return runLoop({
    name: 'reminding',
    async round(signal) {
      const { nowMs, nextMs, due } = await book.due(BATCH);
      for (const each of due) if (!signal.aborted) await remind(env, book, await loadAllowedIds(), each, nowMs);
      if (due.length === BATCH) return 0;
      return nextMs === undefined ? everyMs : Math.min(everyMs, Math.max(1, nextMs - nowMs));
    },
    retryMs: everyMs,
    onError: (error) => env.log.warn({ err: error }, 'reminding failed; it is tried again'),
  });
}

/**
 * Creates a loader of the allow list. Without `TELEGRAM_ALLOWED_IDS`, a worker accepts everything that the producer accepted.
 */
function allowedIdsLoader({ redis, settings: { TELEGRAM_ALLOWED_IDS: ids } }: ShardEnv): () => Promise<AllowedIds> {
  return allowedNow(redis, ids !== 'everyone' && ids.size === 0 ? 'everyone' : ids);
}

async function remind(
  { settings, telemetry, log, reach }: ShardEnv,
  book: ReminderBook,
  ids: AllowedIds,
  due: DueEntry,
  nowMs: number,
): Promise<void> {
  const { chat, otherChat, id, dueAtMs, stored } = due;
  const minutesMin = settings.REMINDER_MINUTES_MIN;
  const isListed = (id: number) => ids === 'everyone' || ids.has(id);
  if (![chat, otherChat].some((each) => each && isListed(parseChatKey(each)?.chatId ?? 0))) {
    log.warn({ chat, reminder: id }, 'a reminder waits: its chat is not on the allow list');
    return book.putOff(due, nowMs + CLOSED_WAIT_MS);
  }
  const { message, nextMs } = messageFor(stored, { dueAtMs, nowMs, minutesMin, isListed });
  const attributes = { ...messaging('send', 'inbound'), 'spillway.reminder': id };
  const entry = await telemetry.span(SPAN.remind, attributes, () => book.enter(due, message, nextMs, traceparent()), {
    kind: SpanKind.PRODUCER,
  });
  if (entry === undefined) return;
  reach('accepted');
  telemetry.count(METRIC.accepted, {});
  log.info({ chat, reminder: id, entry, lateMs: nowMs - dueAtMs }, 'a reminder is due');
}
