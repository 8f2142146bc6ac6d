import type { Config } from '../../shared/base/config.ts';
import type { AlertingRecord, ShownMessage } from '../../shared/state/incident/notices.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { type AlertChannel, type Sent, telegramChannel } from './channel.ts';
import type { Page } from './notice-text.ts';
import { type Webhook, webhookChannel } from './webhook.ts';

/** What two servers of a cluster may differ by. */
const STEP_MS = 60_000;

/** The record by the clock as it is now: where that has stepped back since, all times step with it. Pure. */
export function byClock(record: AlertingRecord, nowMs: number): AlertingRecord {
  const stepMs = (record.atMs ?? 0) - nowMs;
  if (!(stepMs > STEP_MS)) return record;
  const { lastSentMs, failing, sentMs } = record;
  return {
    ...record,
    ...(lastSentMs !== undefined && { lastSentMs: lastSentMs - stepMs }),
    ...(failing && {
      failing: { ...failing, sinceMs: failing.sinceMs - stepMs, retryAtMs: failing.retryAtMs - stepMs },
    }),
    sentMs: sentMs.map((ms) => ms - stepMs),
  };
}

/** The channels to the operators. */
export interface Channels {
  /** The chat from the configuration; `undefined` when there is none. */
  chatId: number | undefined;
  telegram(chatId: number): AlertChannel;
  /** `undefined` when none is configured. */
  webhook: Webhook | undefined;
  /** The first wait after a failure; each further wait doubles, up to five minutes. */
  retryMs: number;
}

/** What is to be sent about an incident, with the whole message. */
export interface Telling extends Page {
  /** What has changed; absent where the message is a new one. */
  update?: string | undefined;
  /** The message says it, and nobody is rung. */
  isSilent: boolean;
  /** An incident that is only for information: its message and the replies to it ring nobody. */
  isNote?: boolean;
}

/** Whether the chat took a message, and the new state of delivery. */
export interface Delivery {
  isSent: boolean;
  record: AlertingRecord;
  /** The message about the incident; absent where the chat did not take it. */
  message?: ShownMessage | undefined;
  /** Why the chat did not take it, if so. */
  refused?: string | undefined;
}

export const RETRY_MS = 5_000;
const RETRY_MS_MAX = 300_000;

/** The channels that the configuration names. */
export function createChannels(ports: {
  config: Config;
  telegram: Telegram;
  limits?: { alertRetryMs?: number };
}): Channels {
  const { config, telegram, limits } = ports;
  const retryMs = limits?.alertRetryMs ?? RETRY_MS;
  return {
    chatId: config.TELEGRAM_ALERT_CHAT_ID,
    telegram: (to) => telegramChannel(telegram, to),
    webhook: config.ALERT_WEBHOOK_URL === undefined ? undefined : webhookChannel(config.ALERT_WEBHOOK_URL, retryMs),
    retryMs,
  };
}

/**
 * Sends a notice to the operator's chat as a new message, or edits the incident's message and, unless the notice is silent,
 * replies to that message. Contract: never throws.
 */
export async function deliver(
  channels: Channels & { chatId: number },
  telling: Telling,
  shown: ShownMessage | undefined,
  record: AlertingRecord,
  nowMs: number,
): Promise<Delivery> {
  const { chatId } = channels;
  const to = record.moved?.from === chatId ? record.moved.to : chatId;
  if (record.failing !== undefined && nowMs < record.failing.retryAtMs) return { isSent: false, record };
  const message = shown?.chatId === to ? shown : undefined;
  const sent = await show(channels.telegram(to), telling, message?.messageId);
  if (sent.ok) {
    const { messageId } = sent;
    const now = messageId === undefined ? undefined : { chatId: to, messageId, atMs: nowMs };
    return { isSent: true, record: sentAt(record, nowMs, telling.isSilent && message !== undefined), message: now };
  }
  if (sent.movedTo !== undefined && sent.movedTo !== to)
    return deliver(channels, telling, shown, { ...record, moved: { from: chatId, to: sent.movedTo } }, nowMs);
  return {
    isSent: false,
    record: failedAt(channels, record, sent, nowMs),
    refused: sent.isAway ? undefined : sent.why,
  };
}

/** Killed between the change and the reply: the change is repeated, and the reply comes. */
async function show(channel: AlertChannel, telling: Telling, messageId: number | undefined): Promise<Sent> {
  const { text, update, isSilent, isNote = false } = telling;
  const whole = { look: telling, isSilent: isSilent || isNote };
  if (update === undefined || messageId === undefined) return channel.send(text, whole);
  const edited = await channel.edit(messageId, text, telling);
  if (!edited.ok && edited.isLost) return channel.send(text, whole);
  if (!edited.ok || isSilent) return edited;
  const replied = await channel.send(update, { replyTo: messageId, isSilent: isNote });
  return replied.ok ? { ok: true, messageId } : replied;
}

/** The record after a message was sent. Pure. */
export function sentAt({ failing: _, ...record }: AlertingRecord, nowMs: number, isSilent = false): AlertingRecord {
  return { ...record, lastSentMs: nowMs, sentMs: [...record.sentMs, ...(isSilent ? [] : [nowMs])] };
}

/** The record after a channel took nothing, with the time of the next try. Pure. */
export function failedAt(
  { retryMs }: Pick<Channels, 'retryMs'>,
  record: AlertingRecord,
  { why, retryAfterMs, isAway }: Extract<Sent, { ok: false }>,
  nowMs: number,
): AlertingRecord {
  const sinceMs = record.failing?.sinceMs ?? nowMs;
  if (isAway) return { ...record, failing: { sinceMs, why, tries: 0, retryAtMs: nowMs + (retryAfterMs ?? 0) } };
  const tries = (record.failing?.tries ?? 0) + 1;
  const waitMs = Math.max(Math.min(retryMs * 2 ** Math.min(tries - 1, 10), RETRY_MS_MAX), retryAfterMs ?? 0);
  return { ...record, failing: { sinceMs, why, tries, retryAtMs: nowMs + waitMs } };
}
