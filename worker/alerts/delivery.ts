import type { Config } from '../../shared/base/config.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import type { Telegram } from '../../shared/telegram/client.ts';

/** The state of alert delivery, for the whole installation. Times are ms since the epoch by Redis' clock. */
export interface AlertingRecord {
  /** When an alert last reached an operator. */
  lastSentMs?: number;
  /** Set while no alert reaches one. */
  failing?: { sinceMs: number; why: string; tries: number; retryAtMs: number };
  /** The new id of the operator's group after it became a supergroup. */
  moved?: { from: number; to: number };
  /** The times of the messages of the last hour. */
  sentMs: readonly number[];
  /** When this was written. */
  atMs?: number;
}

/** What two servers of a cluster may differ by. */
const STEP_MS = 60_000;

/** Reads the state of alert delivery. Rejects when Redis cannot be reached. */
export async function readAlerting(redis: RedisClient, keys: Keys): Promise<AlertingRecord> {
  return alertingOf(await redis.hgetall(keys.alerting));
}

/** A record from the fields of its hash. */
export function alertingOf(fields: Readonly<Record<string, string>>): AlertingRecord {
  const { lastSentMs, failingSinceMs, why, tries, retryAtMs, movedFrom, movedTo, sentMs, atMs } = fields;
  const failing = { sinceMs: Number(failingSinceMs), why: why ?? '', tries: Number(tries ?? 0) };
  return {
    ...(lastSentMs !== undefined && { lastSentMs: Number(lastSentMs) }),
    ...(failingSinceMs !== undefined && { failing: { ...failing, retryAtMs: Number(retryAtMs ?? 0) } }),
    ...(movedTo !== undefined && { moved: { from: Number(movedFrom), to: Number(movedTo) } }),
    sentMs: (sentMs ?? '').split(',').filter(Boolean).map(Number),
    ...(atMs !== undefined && { atMs: Number(atMs) }),
  };
}

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

/** The fields of a record, for its hash; an empty value removes the field. */
export function alertingFields({ lastSentMs, failing, moved, sentMs, atMs }: AlertingRecord): (string | number)[] {
  return [
    ...['lastSentMs', lastSentMs ?? ''],
    ...['failingSinceMs', failing?.sinceMs ?? '', 'why', failing?.why ?? ''],
    ...['tries', failing?.tries ?? '', 'retryAtMs', failing?.retryAtMs ?? ''],
    ...['movedFrom', moved?.from ?? '', 'movedTo', moved?.to ?? ''],
    ...['sentMs', sentMs.join(','), 'atMs', atMs ?? ''],
  ];
}

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
export function createChannels(ports: {
  config: Config;
  telegram: Telegram;
  limits?: { secondChannelAfterMs?: number; alertRetryMs?: number };
}): Channels {
  const { config, telegram, limits } = ports;
  const { TELEGRAM_ALERT_CHAT_ID: chatId, ALERT_WEBHOOK_URL: url } = config;
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

/** The result of a message to an operator. */
export type Sent =
  | { ok: true }
  | {
      ok: false;
      /** Whether the destination no longer exists: a chat that is gone may never come back. */
      isGone: boolean;
      /** For the log: never a URL or a token. */
      why: string;
      retryAfterMs?: number;
      /** Nothing was tried, because Telegram is away: it is tried as soon as that is over. */
      isAway?: true;
      /** The chat's new id. */
      movedTo?: number;
    };

/**
 * A way to an operator.
 *
 * Contract: never throws; a message whose fate is unknown counts as not sent, so it may come twice. Ends within 30
 * seconds.
 */
export interface AlertChannel {
  readonly name: string;
  send(text: string): Promise<Sent>;
}

const WEBHOOK_TIMEOUT_MS = 10_000;

/** The operator's chat on Telegram. */
export function telegramChannel(telegram: Telegram, chatId: number): AlertChannel {
  return {
    name: 'telegram',
    async send(text) {
      const sent = await telegram.sendMessage({ chatId }, text);
      if (sent.ok) return { ok: true };
      const { kind, description, retryAfterMs, migratedTo } = sent.failure;
      return {
        ok: false,
        isGone: kind === 'gone' || kind === 'rejected',
        why: `${kind}: ${description}`,
        ...(retryAfterMs !== undefined && { retryAfterMs }),
        ...(kind === 'away' && { isAway: true }),
        ...(migratedTo !== undefined && { movedTo: migratedTo }),
      };
    },
  };
}

/**
 * A URL that takes `POST {"text": …}`, as Slack's incoming webhooks do. The body has no other field, since they refuse
 * unknown ones. The URL is a secret and is never logged.
 */
export function webhookChannel(url: string): AlertChannel {
  return {
    name: 'webhook',
    async send(text) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text }),
          signal: AbortSignal.timeout(WEBHOOK_TIMEOUT_MS),
        });
        await response.body?.cancel();
        return response.ok ? { ok: true } : { ok: false, isGone: false, why: `status ${response.status}` };
      } catch (error) {
        // Only the code: the message may quote the URL.
        const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
        return { ok: false, isGone: false, why: `${name} ${String(cause?.code ?? '')}`.trim() };
      }
    },
  };
}
