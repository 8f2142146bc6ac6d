import { randomUUID } from 'node:crypto';
import type { Service } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { clip } from '../../shared/base/text.ts';
import { type RedisClient, untilReady } from '../../shared/redis/connection.ts';
import { type AlertingRecord, deliveryTurn } from '../../shared/state/incident/delivery.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { createBookStore, type StoredBook } from './book-store.ts';
import { type AlertChannel, type Channels, type SendResult, telegramChannel, withLinks } from './channel.ts';
import { type Incident, incidentOf } from './incident.ts';
import { messageOf, type Surroundings, shortTextOf, surroundingsOf } from './message.ts';
import { type Delivered, deliveredOf, isDue, nextSending, type Sending, type Stage, stageOf } from './next-sending.ts';
import { webhookChannel } from './webhook.ts';

const RETRY_MS_MAX = 300_000;

/** Creates the channels that the settings configure. */
export function createChannels({ settings, telegram, limits: { alertRetryMs: retryMs } }: ProcessEnv): Channels {
  return {
    chatId: settings.TELEGRAM_ALERT_CHAT_ID,
    telegram: (to) => telegramChannel(telegram, to),
    webhook: settings.ALERT_WEBHOOK_URL === undefined ? undefined : webhookChannel(settings.ALERT_WEBHOOK_URL, retryMs),
    retryMs,
  };
}

const MINUTE_MS = 60_000;
/** A stored time up to this far ahead does not prove a clock step, because the clocks of two Redis servers may differ. */
const STEP_MS = 60_000;
/** Below Discord's limit of 2,000 characters. */
const WEBHOOK_CHARS_MAX = 1_900;

interface Round {
  env: ProcessEnv;
  channels: Channels;
  stored: StoredBook;
  nowMs: number;
  record: AlertingRecord;
  /** The delivery states that this round has changed, by the names of their incidents. */
  changes: Map<string, Delivered>;
}

/** How often the webhook refused each incident, by name. The least refused one goes first, so that none blocks the others. */
type Refusals = Map<string, number>;

/**
 * Starts the service that brings the operators' chat and the webhook up to date with the book of incidents. One process of the
 * installation does this at a time; a round takes at most one step for each channel. Each round logs new stages of incidents
 * before it sends anything. Delivery is at least once: if the process dies after a send and before it stores the delivery
 * state, the next process sends the same message again. Failed sends are retried with backoff until the incident is removed, at
 * the latest a week after its end.
 */
export function startAlerter(env: ProcessEnv, redis: RedisClient, channels: Channels): Service {
  const { log, limits } = env;
  const everyMs = limits.alertEveryMs;
  const lease = deliveryTurn(redis);
  const store = createBookStore(redis);
  const owner = randomUUID();
  const loggedStages = new Set<string>();
  const refusals: Refusals = new Map();
  const loop = runLoop({
    name: 'alerter',
    async round() {
      if (redis.status !== 'ready') await untilReady(redis, everyMs);
      const leaseStart = await lease.begin(owner, limits.alertTakeOverMs);
      if (leaseStart === undefined) return everyMs;
      const { nowMs } = leaseStart;
      const changes = new Map<string, Delivered>();
      let record = withoutFutureTimes(leaseStart.record, nowMs);
      try {
        const round: Round = { env, channels, stored: await store.read(), nowMs, record, changes };
        logNew(round, loggedStages);
        const hasMore = await Promise.all([sendToChat(round), sendToWebhook(round, refusals)]);
        record = round.record;
        return hasMore.includes(true) ? 0 : everyMs;
      } finally {
        const delivered = [...changes].map(([name, each]) => [name, JSON.stringify(each)] as const);
        await lease.end(owner, delivered, record);
      }
    },
    retryMs: everyMs,
    onError: (error) => log.warn({ err: error }, 'alerting failed; it is tried again'),
  });
  return {
    name: loop.name,
    async stop() {
      await loop.stop();
      redis.disconnect();
    },
  };
}

/** Updates one channel's fields in the delivery state of an incident. */
function note({ stored, changes }: Round, incident: Incident, part: Partial<Delivered>): void {
  const name = incidentOf(incident);
  changes.set(name, { ...(changes.get(name) ?? deliveredOf(incident, stored.delivered)), ...part });
}

/** Logs the new stage of each incident for which `isDue` holds. Each process logs a stage only once. */
function logNew({ env, stored, nowMs }: Round, loggedStages: Set<string>): void {
  const settleMs = env.limits.alertSettleMs;
  for (const [incident, each] of stored.book) {
    const stage = stageOf(each);
    const { opening, stage: known } = deliveredOf(each, stored.delivered);
    const name = `${opening} ${stage}`;
    if (stage <= known || loggedStages.has(name) || !isDue(each, { nowMs, settleMs })) continue;
    loggedStages.add(name);
    env.log[stage === 3 ? 'warn' : 'error']({ alert: shortTextOf(each), incident }, 'alert');
  }
}

/** Takes the next step in the chat, if there is one. Returns whether another step may follow at once. */
async function sendToChat(round: Round): Promise<boolean> {
  const { env, channels, stored, nowMs, record } = round;
  const { chatId } = channels;
  if (chatId === undefined) return withoutChat(round);
  if (record.failing !== undefined && nowMs < record.failing.retryAtMs) return false;
  const { alertSettleMs: settleMs, alertEditEveryMs: editEveryMs } = env.limits;
  const pace = { nowMs, sentMs: record.sentMs, settleMs, editEveryMs };
  const next = nextSending(stored.book, stored.delivered, pace, surroundingsOf(env.settings));
  if (next === undefined) return false;
  const to = record.moved?.from === chatId ? record.moved.to : chatId;
  const result = await send(channels.telegram(to), next, to);
  if (result.ok) {
    const { copied: _, ...after } = next.after;
    const position = result.messageId === undefined ? {} : { chatId: to, messageId: result.messageId };
    note(round, next.incident, { ...after, ...position, sentMs: nowMs });
    const { failing: __, ...rest } = record;
    const sentMs = [...record.sentMs.filter((atMs) => nowMs - atMs < MINUTE_MS), nowMs];
    round.record = { ...rest, lastSentMs: nowMs, sentMs };
    return true;
  }
  if (result.movedTo !== undefined && result.movedTo !== to) {
    round.record = { ...record, moved: { from: chatId, to: result.movedTo } };
    return true;
  }
  round.record = withFailure(channels, record, result, nowMs);
  if (!result.isAway) env.log.error({ why: result.why }, 'the chat took no alert; it is tried again');
  return false;
}

/**
 * Takes one step in the chat. If the message to edit is gone, or Telegram rejects the edit, sends a new message. If the process
 * dies between the edit and the reply, the next round repeats the edit, which changes nothing, and sends the reply. If Telegram
 * rejects a new message even as plain text, sends only a short text, so that one incident does not block the others.
 */
async function send(channel: AlertChannel, sending: Sending, chatId: number): Promise<SendResult> {
  const { incident, message, reply, after, isSilent } = sending;
  const messageId = after.chatId === chatId ? after.messageId : undefined;
  if (message === undefined) return channel.send(reply ?? '', { ...(messageId && { replyTo: messageId }), isSilent });
  const edit = messageId === undefined ? undefined : await channel.edit(messageId, message.text, message);
  if (edit === undefined || (!edit.ok && edit.isLost)) {
    const result = await channel.send(message.text, { look: message, isSilent });
    return !result.ok && result.isLost ? channel.send(shortTextOf(incident), { isSilent }) : result;
  }
  if (!edit.ok || isSilent || reply === undefined || messageId === undefined) return edit;
  const replyResult = await channel.send(reply, { replyTo: messageId });
  return replyResult.ok ? { ok: true, messageId } : replyResult;
}

/** Without an alert chat, a stage counts as delivered once the webhook or, without a webhook, the log has the stage. */
function withoutChat(round: Round): boolean {
  const { env, channels, nowMs } = round;
  const settleMs = env.limits.alertSettleMs;
  const { failing: _, ...record } = round.record;
  round.record = record;
  for (const incident of round.stored.book.values()) {
    const before = deliveredOf(incident, round.stored.delivered);
    const stage = channels.webhook ? before.copied : stageOf(incident);
    if (stage > before.stage && isDue(incident, { nowMs, settleMs })) note(round, incident, { stage });
  }
  return false;
}

/** Posts an incident, if any, whose newest stage the webhook has not received. Returns whether the webhook accepted it. */
async function sendToWebhook(round: Round, refusals: Refusals): Promise<boolean> {
  const { env, channels, stored, nowMs } = round;
  const settleMs = env.limits.alertSettleMs;
  const outdated = [...stored.book.values()].filter((incident) => {
    const { copied } = deliveredOf(incident, stored.delivered);
    return stageOf(incident) > copied && (copied > 0 || isDue(incident, { nowMs, settleMs }));
  });
  if (channels.webhook === undefined) {
    for (const incident of outdated) note(round, incident, { copied: stageOf(incident) });
    return false;
  }
  const refusalsOf = (incident: Incident) => refusals.get(incidentOf(incident)) ?? 0;
  const [next] = outdated.sort((one, other) => refusalsOf(one) - refusalsOf(other) || one.lastMs - other.lastMs);
  if (next === undefined) return false;
  const { copied } = deliveredOf(next, stored.delivered);
  const text = clip(webhookText(next, copied, surroundingsOf(env.settings), stored), WEBHOOK_CHARS_MAX);
  const result = await channels.webhook.send(text);
  if (result.ok) {
    refusals.delete(incidentOf(next));
    note(round, next, { copied: stageOf(next) });
  } else if (!result.isAway) {
    refusals.set(incidentOf(next), refusalsOf(next) + 1);
    env.log.error({ why: result.why }, 'the webhook took no alert; it is tried again');
  }
  return result.ok;
}

/** The whole message if the webhook has received no stage of the incident yet, otherwise a short text. */
function webhookText(incident: Incident, copied: Stage, around: Surroundings, { book }: StoredBook): string {
  const message = messageOf(incident, around, book);
  if (copied === 0) return withLinks(message.text, message);
  const name = around.installation === undefined ? '' : ` (${around.installation})`;
  return `${shortTextOf(incident)}${name}`;
}

/**
 * The record as of now. If Redis' clock has stepped back, times in the future are corrected or removed, so that no wait
 * lasts as long as the step.
 */
function withoutFutureTimes(record: AlertingRecord, nowMs: number): AlertingRecord {
  const { failing, sentMs, atMs = 0 } = record;
  if (atMs <= nowMs + STEP_MS) return { ...record, atMs: nowMs };
  const corrected = failing && { failing: { ...failing, sinceMs: Math.min(failing.sinceMs, nowMs), retryAtMs: nowMs } };
  return { ...record, ...corrected, sentMs: sentMs.filter((ms) => ms <= nowMs), atMs: nowMs };
}

/** The record after a failed send, with the time of the next try. Pure. */
export function withFailure(
  { retryMs }: Pick<Channels, 'retryMs'>,
  record: AlertingRecord,
  { why, retryAfterMs, isAway }: Extract<SendResult, { ok: false }>,
  nowMs: number,
): AlertingRecord {
  const sinceMs = record.failing?.sinceMs ?? nowMs;
  if (isAway) return { ...record, failing: { sinceMs, why, tries: 0, retryAtMs: nowMs + (retryAfterMs ?? 0) } };
  const tries = (record.failing?.tries ?? 0) + 1;
  const waitMs = Math.max(Math.min(retryMs * 2 ** Math.min(tries - 1, 10), RETRY_MS_MAX), retryAfterMs ?? 0);
  return { ...record, failing: { sinceMs, why, tries, retryAtMs: nowMs + waitMs } };
}
