import { randomUUID } from 'node:crypto';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { clip } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { msOf } from '../../shared/redis/stream.ts';
import {
  type AlertingRecord,
  type DeliveredNotices,
  noticeQueue,
  type TakenNotices,
} from '../../shared/state/incident/notices.ts';
import type { Notice } from './book.ts';
import { noticeOf } from './book-store.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { severityOf } from './causes.ts';
import { type Sent, withLinks } from './channel.ts';
import { byClock, type Channels, deliver, failedAt, sentAt, type Telling } from './delivery.ts';
import type { NoticeKind } from './due-notice.ts';
import type { Page } from './notice-text.ts';

export interface AlerterPorts {
  /** A fail-fast connection of its own; closed on stop. */
  redis: RedisClient;
  channels: Channels;
  log: Logger;
  everyMs: number;
  /** A send that its process has not finished after this long is taken over: longer than any send. */
  takeOverMs: number;
}

export const ALERT_EVERY_MS = 1_000;
export const ALERT_TAKE_OVER_MS = 45_000;

const NOTICES_MAX = 500;
/** How long a notice is kept that the chat does not take. */
const KEPT_MS = 7 * 24 * 3600_000;
/** How many notices are kept for a chat that takes none, once the webhook has them. */
const KEPT_MAX = 250;
/**
 * Delivers the waiting notices at least once each: one process at a time for the whole installation. An incident is one
 * message in the chat, which changes with it; a reply to it rings when that matters. Each notice is logged before it is
 * sent. What the chat does not take is kept for days and retried with backoff.
 */
export function startAlerter(ports: AlerterPorts): Service {
  const { redis, log, everyMs } = ports;
  const queue = noticeQueue(redis);
  const owner = randomUUID();
  const logged = new Set<string>();
  const loop = runLoop({
    name: 'alerter',
    async round() {
      const taken = await queue.take(owner, ports.takeOverMs, NOTICES_MAX);
      if (taken === undefined) return everyMs;
      const round = await deliverNext(ports, taken, logged);
      await queue.putBack(owner, round);
      // More may be waiting.
      return round.isSent ? 0 : everyMs;
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

/** What a round delivered. */
type Round = DeliveredNotices & { isSent: boolean };

async function deliverNext(
  ports: AlerterPorts,
  { notices, messages, nowMs, record: stored }: TakenNotices,
  logged: Set<string>,
): Promise<Round> {
  const queued = notices.map(([id, json]) => ({ id, ...noticeOf(id, json) }));
  logNew(ports, queued, logged);
  const before = byClock(stored, nowMs);
  const { chatId } = ports.channels;
  const shown = chatId && (await showNext(ports, queued, { nowMs, messages, record: before, chatId }));
  const { copied, sent } = await copyNext(ports, queued, before, nowMs);
  const round = shown || withoutChat(ports, queued, { ...before, copied }, sent, nowMs);
  for (const id of round.ids) logged.delete(id);
  const sentMs = sent?.ok && !round.isSent ? [...round.record.sentMs, nowMs] : round.record.sentMs;
  const left = queued.map(({ id }) => id).filter((id) => copied.includes(id) && !round.ids.includes(id));
  return {
    ...round,
    record: { ...round.record, sentMs: recentOf(sentMs, nowMs), atMs: nowMs, copied: left },
    isSent: round.isSent || copied.length > (before.copied?.length ?? 0),
  };
}

/**
 * Sends the webhook the next notices that it does not have; `copied` are all that it has then. Each channel goes on by
 * itself: the webhook does not wait for the chat, nor the chat for the webhook.
 */
async function copyNext(
  { channels: { webhook }, log }: AlerterPorts,
  queued: readonly QueuedNotice[],
  { sentMs, copied = [] }: AlertingRecord,
  nowMs: number,
): Promise<{ copied: readonly string[]; sent?: Sent | undefined }> {
  const missing = queued.filter(({ id }) => !copied.includes(id));
  const next = webhook && nextOutgoing(missing, sentMs, nowMs);
  if (webhook === undefined || next === undefined) return { copied };
  const sent = next.isSilent ? undefined : await webhook.send(next.update ?? withLinks(next.text, next));
  if (sent?.ok !== false) return { copied: [...copied, ...next.ids], sent };
  if (!sent.isAway) log.error({ why: sent.why }, 'the webhook took no alert');
  return { copied, sent };
}

/** Where no chat is configured, what the webhook has is done; without a webhook, what is logged. */
function withoutChat(
  { channels }: AlerterPorts,
  queued: readonly QueuedNotice[],
  record: AlertingRecord,
  sent: Sent | undefined,
  nowMs: number,
): Round {
  const isDone = (id: string) => !channels.webhook || record.copied?.includes(id) || isOld(id, nowMs);
  const ids = queued.map(({ id }) => id).filter(isDone);
  const after = sent?.ok === false ? failedAt(channels, record, sent, nowMs) : record;
  const isSent = ids.length > 0 && sent?.ok !== false;
  return { ids, record: isSent ? sentAt(record, nowMs) : after, messages: new Map(), isSent };
}

/** Shows the next notices in the chat. What it does not take is kept for it. */
async function showNext(
  { channels, log }: AlerterPorts,
  queued: readonly QueuedNotice[],
  { nowMs, messages, record, chatId }: Omit<TakenNotices, 'notices'> & { chatId: number },
): Promise<Round> {
  const nothing = { ids: [], record, messages: new Map(), isSent: false };
  const next = nextOutgoing(queued, record.sentMs, nowMs);
  if (next === undefined) return nothing;
  const delivery = await deliver({ ...channels, chatId }, next, messages.get(next.incident), record, nowMs);
  const { isSent, message, record: after, refused } = delivery;
  if (refused !== undefined) log.error({ why: refused }, 'the chat took no alert; it is kept');
  if (!isSent) {
    const all = queued.map(({ id }) => id);
    const old = all.filter((id) => isOld(id, nowMs));
    if (old.length > 0) log.error({ notices: old.length }, 'alerts that the chat did not take for a week are given up');
    // Behind more than are read at once, the webhook would miss the newest.
    const surplus = all.slice(0, -KEPT_MAX).filter((id) => record.copied?.includes(id) && !old.includes(id));
    return { ...nothing, ids: [...old, ...surplus], record: after };
  }
  // While there is something to press under it, the message changes on.
  const isOver = next.kind === 'resolved' && (next.buttons ?? []).length === 0;
  const shown = [next.incident, isOver ? undefined : message] as const;
  const changed = new Map([...forgotten(messages, nowMs - KEPT_MS), shown]);
  return { ids: next.ids, record: after, messages: changed, isSent };
}

function isOld(id: string, nowMs: number): boolean {
  return nowMs - msOf(id) > KEPT_MS;
}

/** Messages that have not changed for long: a new one is better seen, and facts never end. */
function forgotten(shown: ReadonlyMap<string, { atMs: number }>, sinceMs: number): [name: string, undefined][] {
  const old = [...shown].filter(([, { atMs }]) => atMs < sinceMs);
  return old.map(([name]) => [name, undefined]);
}

/** Before the send, and once in each process that takes the notice. */
function logNew({ log }: AlerterPorts, queued: readonly QueuedNotice[], logged: Set<string>): void {
  for (const { id, incident, kind, text, update } of queued) {
    if (logged.has(id)) continue;
    logged.add(id);
    log[LEVELS[kind] ?? 'error']({ alert: update ?? text, incident, kind }, 'alert');
  }
}

const LEVELS: Readonly<Partial<Record<NoticeKind, 'info' | 'warn'>>> = { acted: 'info', resolved: 'warn' };

/** A notice that waits to be sent. */
export interface QueuedNotice extends Notice {
  id: string;
}

/** What is sent next, and the notices that are done with it. */
export interface Outgoing extends Telling {
  ids: readonly string[];
  incident: string;
  kind: NoticeKind;
}

/** Telegram takes 20 calls a minute in a group, and a change with its reply is two. */
export const SENDS_PER_MINUTE = 10;
/** An operator is rung this often in an hour by what is only a change: more of them are seen in the message alone. */
export const RINGS_PER_HOUR = 30;
const MINUTE_MS = 60_000;
const HOUR_MS = 3600_000;
/** Longer than the rate makes a notice wait in most hours. */
const LATE_MS = 120_000;
/** Telegram takes 4,096 UTF-16 units. */
const TEXT_CHARS_MAX = 4_000;

/**
 * What is sent next, oldest first; `undefined` while the rate is used up. All that waits about one opening of an incident
 * is sent at once, as its newest notice has it: only what its message has no room for is sent by itself. `sentMs` are the
 * times of earlier messages. Pure.
 */
export function nextOutgoing(
  queued: readonly QueuedNotice[],
  sentMs: readonly number[],
  nowMs: number,
): Outgoing | undefined {
  const [first] = queued;
  const sentWithin = (ms: number) => sentMs.filter((atMs) => nowMs - atMs < ms).length;
  if (first === undefined || sentWithin(MINUTE_MS) >= SENDS_PER_MINUTE) return undefined;
  const group = sameOpening(queued, first);
  const newest = group.at(-1) ?? first;
  const isOpening = first.update === undefined;
  const naming = group.findIndex(({ manner }) => manner === 'naming');
  const done = naming === -1 ? group : group.slice(0, isOpening ? naming : naming + 1);
  const rings = done.findLast(({ manner }) => manner !== 'silent');
  const isMuted = naming === -1 && sentWithin(HOUR_MS) >= RINGS_PER_HOUR;
  const isNote = severityOf(first.incident.split(':')[0] ?? '') === 'info';
  const late = lateLine(first, nowMs);
  return {
    ...{ ids: done.map(({ id }) => id), incident: first.incident, kind: done.at(-1)?.kind ?? first.kind },
    ...clipped(newest, isOpening ? late : ''),
    ...(!isOpening && { update: clip((rings ?? newest).update ?? '', TEXT_CHARS_MAX) + late }),
    isSilent: !isOpening && (isMuted || rings === undefined || (isNote && naming === -1)),
    isNote,
  };
}

/** What is added to a notice that could not be sent when it was due: it reads as if it were of now. */
function lateLine({ id }: QueuedNotice, nowMs: number): string {
  const dueMs = msOf(id);
  return nowMs - dueMs < LATE_MS ? '' : `\n${ALERT_WORDS.late(utcTime(dueMs))}`;
}

/** As much of a page as a message takes, with what is added. */
function clipped({ text, entities, links, buttons }: Page, added: string): Page {
  const whole = clip(text, TEXT_CHARS_MAX);
  return {
    text: whole + added,
    entities: entities.filter(({ offset, length }) => offset + length <= whole.length),
    links,
    ...(buttons && { buttons }),
  };
}

/** The notices about the opening that a notice is about: the next opening has a message of its own. */
function sameOpening(queued: readonly QueuedNotice[], first: QueuedNotice): QueuedNotice[] {
  const [, ...later] = queued.filter(({ incident }) => incident === first.incident);
  const next = later.findIndex(({ update }) => update === undefined);
  return [first, ...(next === -1 ? later : later.slice(0, next))];
}

/** The times that the rate still depends on. */
export function recentOf(sentMs: readonly number[], nowMs: number): number[] {
  return sentMs.filter((atMs) => nowMs - atMs < HOUR_MS);
}
