import type { Config } from '../../shared/base/config.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import type { AlertingRecord } from './alerting.ts';
import { type AlertChannel, type Sent, telegramChannel, webhookChannel } from './channel.ts';

/** The channels to the operators. */
export interface Channels {
  /** The chat from the configuration; `undefined` when there is none. */
  chatId: number | undefined;
  telegram(chatId: number): AlertChannel;
  /** `undefined` when none is configured. */
  webhook: AlertChannel | undefined;
  /** After the first channel has refused a message for this long, the second one takes it. */
  secondAfterMs: number;
  /** The first wait after a failure; each further wait doubles, up to five minutes. */
  retryMs: number;
}

/** The result of a message: the channel that took it, or none; and the new state of delivery. */
export interface Delivery {
  by: string | undefined;
  record: AlertingRecord;
  /** Why the first channel did not take it, if so. */
  refused?: string;
}

export const SECOND_AFTER_MS = 60_000;
export const RETRY_MS = 5_000;
const RETRY_MS_MAX = 300_000;

/** The channels that the configuration names. */
export function createChannels({
  config: { TELEGRAM_ALERT_CHAT_ID: chatId, ALERT_WEBHOOK_URL: url },
  telegram,
  limits,
}: {
  config: Config;
  telegram: Telegram;
  limits?: { secondChannelAfterMs?: number; alertRetryMs?: number };
}): Channels {
  return {
    chatId,
    telegram: (to) => telegramChannel(telegram, to),
    webhook: url === undefined ? undefined : webhookChannel(url),
    secondAfterMs: limits?.secondChannelAfterMs ?? SECOND_AFTER_MS,
    retryMs: limits?.alertRetryMs ?? RETRY_MS,
  };
}

/**
 * Sends a message to the operator's chat, or to the second channel where the first has failed for long, is gone or does
 * not exist. With neither, the log is the channel. Contract: never throws.
 */
export async function deliver(
  channels: Channels,
  text: string,
  record: AlertingRecord,
  nowMs: number,
): Promise<Delivery> {
  const { chatId, webhook } = channels;
  if (chatId === undefined && webhook === undefined) return { by: 'log', record: sentAt(record, nowMs) };
  const isEarly = record.failing !== undefined && nowMs < record.failing.retryAtMs;
  if (chatId === undefined) return isEarly ? { by: undefined, record } : viaWebhook(channels, text, record, nowMs);
  const to = record.moved?.from === chatId ? record.moved.to : chatId;
  const first = isEarly ? undefined : await channels.telegram(to).send(text);
  if (first?.ok) return { by: 'telegram', record: sentAt(record, nowMs) };
  if (first?.movedTo !== undefined && first.movedTo !== to) {
    return deliver(channels, text, { ...record, moved: { from: chatId, to: first.movedTo } }, nowMs);
  }
  const failed = first === undefined ? record : failedAt(channels, record, first, nowMs);
  const isLong = nowMs - (failed.failing?.sinceMs ?? nowMs) >= channels.secondAfterMs;
  const refused = first === undefined ? {} : { refused: first.why };
  if (webhook === undefined || !(isLong || first?.isGone)) return { by: undefined, record: failed, ...refused };
  const second = await webhook.send(text);
  // The operator has it; the record still says that the first channel fails.
  const sentMs = [...record.sentMs, nowMs];
  return second.ok
    ? { by: 'webhook', record: { ...failed, sentMs }, ...refused }
    : { by: undefined, record: failed, refused: second.why };
}

async function viaWebhook(channels: Channels, text: string, record: AlertingRecord, nowMs: number): Promise<Delivery> {
  const sent = await channels.webhook?.send(text);
  if (sent === undefined || sent.ok) return { by: 'webhook', record: sentAt(record, nowMs) };
  return { by: undefined, record: failedAt(channels, record, sent, nowMs), refused: sent.why };
}

function sentAt({ failing: _, ...record }: AlertingRecord, nowMs: number): AlertingRecord {
  return { ...record, lastSentMs: nowMs, sentMs: [...record.sentMs, nowMs] };
}

function failedAt(
  { retryMs }: Channels,
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
