import type { Config } from '../../shared/base/config.ts';
import type { AlertingRecord, ShownMessage } from '../../shared/state/incident/notices.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { type AlertChannel, type Sent, telegramChannel, withLinks } from './channel.ts';
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
  /** After the chat has refused a message for this long, it is enough that the webhook has it. */
  secondAfterMs: number;
  /** The first wait after a failure; each further wait doubles, up to five minutes. */
  retryMs: number;
}

/** What is to be told of an incident, with the whole message. */
export interface Telling extends Page {
  /** What has changed; absent where the message is a new one. */
  update?: string | undefined;
  /** The message says it, and nobody is rung. */
  isSilent: boolean;
  /** An incident that is only for information: its message and the replies to it ring nobody. */
  isNote?: boolean;
}

/** The result of a message: the channel that took it, or none; and the new state of delivery. */
export interface Delivery {
  by: string | undefined;
  record: AlertingRecord;
  /** The message about the incident; absent where it stands in no chat. */
  message?: ShownMessage | undefined;
  /** Why a channel did not take it, if so. */
  refused?: string | undefined;
}

export const SECOND_AFTER_MS = 60_000;
export const RETRY_MS = 5_000;
const RETRY_MS_MAX = 300_000;

/** The channels that the configuration names. */
export function createChannels(ports: {
  config: Config;
  telegram: Telegram;
  limits?: { secondChannelAfterMs?: number; alertRetryMs?: number };
}): Channels {
  const { config, telegram, limits } = ports;
  const retryMs = limits?.alertRetryMs ?? RETRY_MS;
  return {
    chatId: config.TELEGRAM_ALERT_CHAT_ID,
    telegram: (to) => telegramChannel(telegram, to),
    webhook: config.ALERT_WEBHOOK_URL === undefined ? undefined : webhookChannel(config.ALERT_WEBHOOK_URL, retryMs),
    secondAfterMs: limits?.secondChannelAfterMs ?? SECOND_AFTER_MS,
    retryMs,
  };
}

/**
 * Sends a notice to the operator's chat as a new message, or edits the incident's message and, unless the notice is silent,
 * replies to that message. The webhook gets a copy of each notice that is not silent. If the chat has failed for long, is
 * gone or is not configured, only the webhook gets the notice; without chat and webhook, the log. Contract: never throws.
 */
export async function deliver(
  channels: Channels,
  telling: Telling,
  shown: ShownMessage | undefined,
  record: AlertingRecord,
  nowMs: number,
): Promise<Delivery> {
  const { chatId, webhook } = channels;
  const to = chatId !== undefined && record.moved?.from === chatId ? record.moved.to : chatId;
  if (to === undefined && webhook === undefined) return { by: 'log', record: sentAt(record, nowMs) };
  const isEarly = record.failing !== undefined && nowMs < record.failing.retryAtMs;
  const message = shown?.chatId === to ? shown : undefined;
  const sendText = () => webhook?.send(telling.update ?? withLinks(telling.text, telling));
  const send = () => (to === undefined ? sendText() : show(channels.telegram(to), telling, message?.messageId));
  const first = isEarly ? undefined : await send();
  if (first?.ok) {
    const { messageId } = first;
    const now = messageId === undefined || to === undefined ? undefined : { chatId: to, messageId, atMs: nowMs };
    const after = sentAt(record, nowMs, telling.isSilent && message !== undefined);
    if (to === undefined) return { by: 'webhook', record: after, message: now };
    return {
      by: 'telegram',
      record: after,
      message: now,
      refused: telling.isSilent ? undefined : whyOf(await sendText()),
    };
  }
  if (chatId !== undefined && first?.movedTo !== undefined && first.movedTo !== to) {
    return deliver(channels, telling, shown, { ...record, moved: { from: chatId, to: first.movedTo } }, nowMs);
  }
  const failed = first === undefined ? record : failedAt(channels, record, first, nowMs);
  const isLong = nowMs - (failed.failing?.sinceMs ?? nowMs) >= channels.secondAfterMs;
  const second = to !== undefined && (isLong || first?.isGone) ? await sendText() : undefined;
  const refused = whyOf(second) ?? first?.why;
  // The operator has it; the record still says that the first channel fails.
  const sentMs = [...record.sentMs, nowMs];
  if (second?.ok) return { by: 'webhook', record: { ...failed, sentMs }, message: shown, refused };
  return { by: undefined, record: failed, refused };
}

/** Why a channel refused; `undefined` where it did not, or nothing was tried. */
function whyOf(sent: Sent | undefined): string | undefined {
  return sent?.ok === false && !sent.isAway ? sent.why : undefined;
}

/** The channels for a text that may only replace a message: one that is gone is let go, and nothing is sent. */
export function onlyChanging(channels: Channels): Channels {
  const telegram = (chatId: number) => ({ ...channels.telegram(chatId), send: async () => ({ ok: true as const }) });
  return { ...channels, telegram, webhook: undefined };
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

function sentAt({ failing: _, ...record }: AlertingRecord, nowMs: number, isSilent = false): AlertingRecord {
  return { ...record, lastSentMs: nowMs, sentMs: [...record.sentMs, ...(isSilent ? [] : [nowMs])] };
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
