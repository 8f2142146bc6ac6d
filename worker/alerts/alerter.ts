import { randomUUID } from 'node:crypto';
import type { Service } from '../../shared/base/lifecycle.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { clip } from '../../shared/base/text.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { type AlertingRecord, deliveryTurn } from '../../shared/state/incident/delivery.ts';
import type { ProcessEnv } from '../shard-env.ts';
import { createBookStore, type StoredBook } from './book-store.ts';
import { type AlertChannel, type Channels, type Sent, telegramChannel, withLinks } from './channel.ts';
import { type Incident, incidentOf } from './incident.ts';
import { messageOf, ringOf, type Surroundings, surroundingsOf } from './message.ts';
import { type Delivered, deliveredOf, isDue, nextSending, type Sending, type Stage, stageOf } from './next-sending.ts';
import { webhookChannel } from './webhook.ts';

const RETRY_MS_MAX = 300_000;

/** The channels that the configuration names. */
export function createChannels({ settings, telegram, limits: { alertRetryMs: retryMs } }: ProcessEnv): Channels {
  return {
    chatId: settings.TELEGRAM_ALERT_CHAT_ID,
    telegram: (to) => telegramChannel(telegram, to),
    webhook: settings.ALERT_WEBHOOK_URL === undefined ? undefined : webhookChannel(settings.ALERT_WEBHOOK_URL, retryMs),
    retryMs,
  };
}

const MINUTE_MS = 60_000;
/** By how much the clocks of two servers of a cluster may differ. */
const STEP_MS = 60_000;
/** Discord takes no longer text. */
const WEBHOOK_CHARS_MAX = 1_900;

/** The state of one round. */
interface Round {
  env: ProcessEnv;
  channels: Channels;
  stored: StoredBook;
  nowMs: number;
  record: AlertingRecord;
  /** What the channels have now of the incidents that changed, by name. */
  changed: Map<string, Delivered>;
}

/** How often the webhook refused an incident, by its name: a text that it never takes holds up no other one. */
type Refusals = Map<string, number>;

/**
 * Brings the operator's chat and the webhook up to date with the book of incidents: one process at a time for the whole
 * installation, one message a round. Each stage of an incident is logged before it is sent. Delivery is at least once: if
 * the process dies between a send and the record of it, the next process sends the same again. What a channel does not take
 * is tried again with growing waits for as long as the incident is stored, a week after its end.
 */
export function startAlerter(env: ProcessEnv, redis: RedisClient, channels: Channels): Service {
  const { log, limits } = env;
  const everyMs = limits.alertEveryMs;
  const turn = deliveryTurn(redis);
  const store = createBookStore(redis);
  const owner = randomUUID();
  const logged = new Set<string>();
  const refusals: Refusals = new Map();
  const loop = runLoop({
    name: 'alerter',
    async round() {
      const begun = await turn.begin(owner, limits.alertTakeOverMs);
      if (begun === undefined) return everyMs;
      const { nowMs } = begun;
      const changed = new Map<string, Delivered>();
      let record = ofNow(begun.record, nowMs);
      try {
        const round: Round = { env, channels, stored: await store.read(), nowMs, record, changed };
        logNew(round, logged);
        const sent = await Promise.all([sendToChat(round), sendToWebhook(round, refusals)]);
        record = round.record;
        // More may be waiting.
        return sent.includes(true) ? 0 : everyMs;
      } finally {
        const delivered = [...changed].map(([name, each]) => [name, JSON.stringify(each)] as const);
        await turn.end(owner, delivered, record);
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

/** Notes what a channel has now of an incident, beside what the other channel has. */
function note({ stored, changed }: Round, incident: Incident, part: Partial<Delivered>): void {
  const name = incidentOf(incident);
  changed.set(name, { ...(changed.get(name) ?? deliveredOf(incident, stored.delivered)), ...part });
}

/** Logs each new stage of an incident before it is sent, once in each process. */
function logNew({ env, stored, nowMs }: Round, logged: Set<string>): void {
  const settleMs = env.limits.alertSettleMs;
  for (const [incident, each] of stored.book) {
    const stage = stageOf(each);
    const { opening, stage: known } = deliveredOf(each, stored.delivered);
    const name = `${opening} ${stage}`;
    if (stage <= known || logged.has(name) || !isDue(each, { nowMs, settleMs })) continue;
    logged.add(name);
    env.log[stage === 3 ? 'warn' : 'error']({ alert: ringOf(each), incident }, 'alert');
  }
}

/** Sends the chat what it lacks most. Returns whether it took something. */
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
  const sent = await send(channels.telegram(to), next, to);
  if (sent.ok) {
    const { copied: _, ...after } = next.after;
    const shown = sent.messageId === undefined ? {} : { chatId: to, messageId: sent.messageId };
    note(round, next.incident, { ...after, ...shown, sentMs: nowMs });
    const { failing: __, ...rest } = record;
    const sentMs = [...record.sentMs.filter((atMs) => nowMs - atMs < MINUTE_MS), nowMs];
    round.record = { ...rest, lastSentMs: nowMs, sentMs };
    return true;
  }
  if (sent.movedTo !== undefined && sent.movedTo !== to) {
    round.record = { ...record, moved: { from: chatId, to: sent.movedTo } };
    return true;
  }
  round.record = failedAt(channels, record, sent, nowMs);
  if (!sent.isAway) env.log.error({ why: sent.why }, 'the chat took no alert; it is tried again');
  return false;
}

/**
 * Sends one step. If the process dies between the edit and the reply, the next round repeats the edit, which changes
 * nothing, and sends the reply. A message that Telegram refuses even in plain words is sent as its first words alone: it
 * would hold up all others.
 */
async function send(channel: AlertChannel, sending: Sending, chatId: number): Promise<Sent> {
  const { incident, message, reply, after, isSilent } = sending;
  const messageId = after.chatId === chatId ? after.messageId : undefined;
  if (message === undefined) return channel.send(reply ?? '', { ...(messageId && { replyTo: messageId }), isSilent });
  const edited = messageId === undefined ? undefined : await channel.edit(messageId, message.text, message);
  if (edited === undefined || (!edited.ok && edited.isLost)) {
    const sent = await channel.send(message.text, { look: message, isSilent });
    return !sent.ok && sent.isLost ? channel.send(ringOf(incident), { isSilent }) : sent;
  }
  if (!edited.ok || isSilent || reply === undefined || messageId === undefined) return edited;
  const replied = await channel.send(reply, { replyTo: messageId });
  return replied.ok ? { ok: true, messageId } : replied;
}

/** Without a chat, an incident counts as delivered once the webhook, or else the log, has it. */
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

/** Posts the oldest stage that the webhook lacks. Returns whether it took one. */
async function sendToWebhook(round: Round, refusals: Refusals): Promise<boolean> {
  const { env, channels, stored, nowMs } = round;
  const { webhook } = channels;
  const settleMs = env.limits.alertSettleMs;
  const lacking = [...stored.book.values()].filter((incident) => {
    const { copied } = deliveredOf(incident, stored.delivered);
    return stageOf(incident) > copied && (copied > 0 || isDue(incident, { nowMs, settleMs }));
  });
  if (webhook === undefined) {
    for (const incident of lacking) note(round, incident, { copied: stageOf(incident) });
    return false;
  }
  const refusalsOf = (incident: Incident) => refusals.get(incidentOf(incident)) ?? 0;
  const [next] = lacking.sort((one, other) => refusalsOf(one) - refusalsOf(other) || one.lastMs - other.lastMs);
  if (next === undefined) return false;
  const { copied } = deliveredOf(next, stored.delivered);
  const sent = await webhook.send(
    clip(webhookText(next, copied, surroundingsOf(env.settings), stored), WEBHOOK_CHARS_MAX),
  );
  if (sent.ok) {
    refusals.delete(incidentOf(next));
    note(round, next, { copied: stageOf(next) });
  } else if (!sent.isAway) {
    refusals.set(incidentOf(next), refusalsOf(next) + 1);
    env.log.error({ why: sent.why }, 'the webhook took no alert; it is tried again');
  }
  return sent.ok;
}

/** The whole message when it is the first, later what has changed. */
function webhookText(incident: Incident, copied: Stage, around: Surroundings, { book }: StoredBook): string {
  const message = messageOf(incident, around, book);
  if (copied === 0) return withLinks(message.text, message);
  const name = around.installation === undefined ? '' : ` (${around.installation})`;
  return `${ringOf(incident)}${name}`;
}

/** The record of now: where Redis' clock has stepped back since it was written, no rate and no delay lasts as long as the step. */
function ofNow(record: AlertingRecord, nowMs: number): AlertingRecord {
  const { failing, sentMs, atMs = 0 } = record;
  if (atMs <= nowMs + STEP_MS) return { ...record, atMs: nowMs };
  const again = failing && { failing: { ...failing, sinceMs: Math.min(failing.sinceMs, nowMs), retryAtMs: nowMs } };
  return { ...record, ...again, sentMs: sentMs.filter((ms) => ms <= nowMs), atMs: nowMs };
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
