import { randomUUID } from 'node:crypto';
import type { Config } from '../../shared/base/config.ts';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type AlertingRecord, deliveryTurn } from '../../shared/state/incident/delivery.ts';
import type { Telegram } from '../../shared/telegram/client.ts';
import { createBookStore, type StoredBook } from './book-store.ts';
import { type AlertChannel, type Sent, telegramChannel, withLinks } from './channel.ts';
import { type Incident, incidentOf } from './incident.ts';
import { messageOf, ringOf, type Surroundings } from './message.ts';
import { type Delivered, deliveredOf, isDue, nextSending, type Sending, type Stage, stageOf } from './outbox.ts';
import { type Webhook, webhookChannel } from './webhook.ts';

/** The channels to the operators. */
export interface Channels {
  /** The chat from the configuration; `undefined` when there is none. */
  chatId: number | undefined;
  telegram(chatId: number): AlertChannel;
  webhook: Webhook | undefined;
  /** The first wait after a channel took nothing; each further wait doubles, up to five minutes. */
  retryMs: number;
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

export interface AlerterPorts {
  /** A fail-fast connection of its own; closed on stop. */
  redis: RedisClient;
  channels: Channels;
  around: Surroundings;
  log: Logger;
  everyMs: number;
  settleMs: number;
  /** A send that its process has not finished after this long is taken over: longer than any send. */
  takeOverMs: number;
}

export const ALERT_EVERY_MS = 1_000;
export const ALERT_TAKE_OVER_MS = 45_000;
const MINUTE_MS = 60_000;
/** By how much the clocks of two servers of a cluster may differ. */
const STEP_MS = 60_000;

/** A round of delivery: the book, and what its steps change. */
interface Round {
  stored: StoredBook;
  nowMs: number;
  record: AlertingRecord;
  /** What the channels have now of the incidents that changed, by name. */
  changed: Map<string, Delivered>;
}

/**
 * Brings the operator's chat and the webhook up to date with the book of incidents: one process at a time for the whole
 * installation, one message a round. Each stage of an incident is logged before it is sent. If the process dies after a
 * send and before the record of it, the next process sends the same again: twice rather than never. What the chat does not
 * take is tried again with growing waits for as long as the incident is stored, a week after its end.
 */
export function startAlerter(ports: AlerterPorts): Service {
  const { redis, log, everyMs } = ports;
  const turn = deliveryTurn(redis);
  const store = createBookStore(redis);
  const owner = randomUUID();
  const logged = new Set<string>();
  const loop = runLoop({
    name: 'alerter',
    async round() {
      const begun = await turn.begin(owner, ports.takeOverMs);
      if (begun === undefined) return everyMs;
      const round: Round = { ...begun, stored: await store.read(), changed: new Map() };
      round.record = byClock(round.record, round.nowMs);
      logNew(ports, round, logged);
      const isSent = await showNext(ports, round);
      const isCopied = await copyNext(ports, round);
      const delivered = [...round.changed].map(([name, each]) => [name, JSON.stringify(each)] as const);
      await turn.end(owner, delivered, { ...round.record, atMs: round.nowMs });
      // More may be waiting.
      return isSent || isCopied ? 0 : everyMs;
    },
    retryMs: everyMs,
    onError: (error) => log.debug({ err: error }, 'alerting failed; it is tried again'),
  });
  return {
    name: loop.name,
    async stop() {
      await loop.stop();
      redis.disconnect();
    },
  };
}

/** Before the first send of each stage, and once in each process. */
function logNew({ log, settleMs }: AlerterPorts, { stored, nowMs }: Round, logged: Set<string>): void {
  for (const [incident, each] of stored.book) {
    const stage = stageOf(each);
    const { opening, stage: known } = deliveredOf(each, stored.delivered);
    const name = `${opening} ${stage}`;
    if (stage <= known || logged.has(name) || !isDue(each, { nowMs, settleMs })) continue;
    logged.add(name);
    log[stage === 3 ? 'warn' : 'error']({ alert: ringOf(each), incident }, 'alert');
  }
}

/** Sends the chat what it lacks most. Returns whether it took something. */
async function showNext(ports: AlerterPorts, round: Round): Promise<boolean> {
  const { channels, log } = ports;
  const { stored, nowMs, record } = round;
  const { chatId } = channels;
  if (chatId === undefined) return withoutChat(ports, round);
  if (record.failing !== undefined && nowMs < record.failing.retryAtMs) return false;
  const pace = { nowMs, sentMs: record.sentMs, settleMs: ports.settleMs };
  const next = nextSending(stored.book, stored.delivered, pace, ports.around);
  if (next === undefined) return false;
  const to = record.moved?.from === chatId ? record.moved.to : chatId;
  const sent = await send(channels.telegram(to), next, to);
  if (sent.ok) {
    const shown = sent.messageId === undefined ? {} : { chatId: to, messageId: sent.messageId };
    const times = [...record.sentMs.filter((atMs) => nowMs - atMs < MINUTE_MS), nowMs];
    const { failing: _, ...rest } = record;
    round.record = { ...rest, lastSentMs: nowMs, sentMs: times };
    round.changed.set(incidentOf(next.incident), { ...next.after, ...shown, sentMs: nowMs });
    return true;
  }
  if (sent.movedTo !== undefined && sent.movedTo !== to) {
    round.record = { ...record, moved: { from: chatId, to: sent.movedTo } };
    return true;
  }
  round.record = failedAt(channels, record, sent, nowMs);
  if (!sent.isAway) log.error({ why: sent.why }, 'the chat took no alert; it is tried again');
  return false;
}

/** If the process dies between the edit and the reply, the edit is repeated, and the reply comes. */
async function send(
  channel: AlertChannel,
  { message, reply, after, isSilent }: Sending,
  chatId: number,
): Promise<Sent> {
  const messageId = after.chatId === chatId ? after.messageId : undefined;
  if (message === undefined) return channel.send(reply ?? '', { ...(messageId && { replyTo: messageId }), isSilent });
  if (messageId === undefined) return channel.send(message.text, { look: message, isSilent });
  const edited = await channel.edit(messageId, message.text, message);
  if (!edited.ok && edited.isLost) return channel.send(message.text, { look: message, isSilent });
  if (!edited.ok || isSilent || reply === undefined) return edited;
  const replied = await channel.send(reply, { replyTo: messageId });
  return replied.ok ? { ok: true, messageId } : replied;
}

/** Where no chat is configured, the webhook stands for it; without a webhook, the log does. */
function withoutChat({ channels, settleMs }: AlerterPorts, round: Round): boolean {
  for (const [name, incident] of round.stored.book) {
    const before = deliveredOf(incident, round.stored.delivered);
    const stage = channels.webhook ? before.copied : stageOf(incident);
    if (stage > before.stage && isDue(incident, { nowMs: round.nowMs, settleMs }))
      round.changed.set(name, { ...before, stage });
  }
  return false;
}

/** Sends the webhook the oldest stage that it lacks; it waits for no chat. Returns whether it took one. */
async function copyNext(
  { channels: { webhook }, around, log, settleMs }: AlerterPorts,
  round: Round,
): Promise<boolean> {
  const { stored, nowMs } = round;
  const lacking = [...stored.book].flatMap(([name, incident]) => {
    const before = round.changed.get(name) ?? deliveredOf(incident, stored.delivered);
    const isNew = stageOf(incident) > before.copied && isDue(incident, { nowMs, settleMs });
    return isNew ? [{ name, incident, before }] : [];
  });
  if (webhook === undefined) {
    for (const { name, incident, before } of lacking) round.changed.set(name, { ...before, copied: stageOf(incident) });
    return false;
  }
  const [next] = lacking.sort((one, other) => one.incident.lastMs - other.incident.lastMs);
  if (next === undefined) return false;
  const { name, incident, before } = next;
  const sent = await webhook.send(textOf(incident, before.copied, around, stored));
  if (sent.ok) round.changed.set(name, { ...before, copied: stageOf(incident) });
  else if (!sent.isAway) log.error({ why: sent.why }, 'the webhook took no alert; it is tried again');
  return sent.ok;
}

/** The first time the whole message, later what has changed. */
function textOf(incident: Incident, copied: Stage, around: Surroundings, { book }: StoredBook): string {
  const message = messageOf(incident, around, book);
  return copied === 0 ? withLinks(message.text, message) : ringOf(incident);
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
