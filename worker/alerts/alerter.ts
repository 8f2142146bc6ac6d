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
  noticeQueue,
  type Owed,
  type TakenNotices,
  type ToldNotices,
} from '../../shared/state/incident/notices.ts';
import type { Notice } from './book.ts';
import { noticeOf } from './book-store.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { severityOf } from './causes.ts';
import { byClock, type Channels, deliver, onlyChanging, type Telling } from './delivery.ts';
import type { NoticeKind } from './due-notice.ts';
import { endPage, type Page } from './notice-text.ts';

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
/** How long a notice is kept that no channel takes. */
const KEPT_MS = 7 * 24 * 3600_000;
/**
 * Tells of the waiting notices at least once each: one process at a time for the whole installation. An incident is one
 * message, which changes with it; a reply to it rings when that matters. Each notice is logged before it is told. What no
 * channel takes is kept for days and retried with backoff; nothing else waits for it.
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
      const told = await tellNext(ports, taken, logged);
      await queue.putBack(owner, told);
      // Something was told, and more may be waiting.
      return told.isSent ? 0 : everyMs;
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

/** A round: what is taken, and where the queue is. */
type Taken = Omit<TakenNotices, 'notices'>;
type Told = ToldNotices & { isSent: boolean };

async function tellNext(ports: AlerterPorts, { notices, ...taken }: TakenNotices, logged: Set<string>): Promise<Told> {
  const queued = notices.map(([id, json]) => ({ id, ...noticeOf(id, json) }));
  logNew(ports, queued, logged);
  const { nowMs, owed } = taken;
  const told = await sendDue(ports, queued, { ...taken, record: byClock(taken.record, nowMs) });
  // What was told is written down first: killed before that, it is told again.
  const due = told.isSent ? undefined : owed;
  const paid = await pay(ports, due, { nowMs, record: told.record }, queued.length === 0);
  for (const id of told.ids) logged.delete(id);
  const record = { ...paid.record, sentMs: recentOf(paid.record.sentMs, nowMs), atMs: nowMs };
  return { ...told, record, ...(due && paid.isPaid && { paid: due, isSent: true }) };
}

async function sendDue(
  { channels, log }: AlerterPorts,
  queued: readonly QueuedNotice[],
  { nowMs, record, messages }: Taken,
): Promise<Told> {
  const outgoing = nextOutgoing(queued, record.sentMs, nowMs);
  if (outgoing === undefined) return { ids: [], record, messages: new Map(), isSent: false };
  const { incident, kind } = outgoing;
  const {
    by,
    record: after,
    refused,
    message: sent,
  } = await deliver(channels, outgoing, messages.get(incident), record, nowMs);
  if (refused !== undefined)
    log.error(
      { why: refused },
      by === undefined ? 'an alert could not be sent; it is kept' : 'one channel took no alert',
    );
  if (by === undefined) {
    const ids = queued.map(({ id }) => id).filter((id) => nowMs - msOf(id) > KEPT_MS);
    if (ids.length > 0) log.error({ notices: ids.length }, 'alerts that no channel took for a week are given up');
    return { ids, record: after, messages: new Map(), isSent: false };
  }
  const message = sent && { ...sent, atMs: nowMs };
  // While there is something to press under it, the message changes on.
  const isOver = kind === 'resolved' && (outgoing.buttons ?? []).length === 0;
  const owed = kind === 'resolved' && by === 'webhook' && message ? [{ to: message, text: outgoing.text }] : [];
  return {
    ...{ ids: outgoing.ids, record: after, isSent: true, owed },
    messages: new Map([...forgotten(messages, nowMs - KEPT_MS), [incident, isOver ? undefined : message] as const]),
  };
}

/**
 * Edits a chat message that still shows an incident as open although the webhook already got the end of the incident.
 * Gives the edit up after a week. The edit waits until no notice is queued.
 */
async function pay(
  ports: AlerterPorts,
  owed: Owed | undefined,
  { nowMs, record }: Pick<Taken, 'nowMs' | 'record'>,
  isQuiet: boolean,
): Promise<{ isPaid: boolean; record: AlertingRecord }> {
  if (owed === undefined) return { isPaid: false, record };
  const { to, text } = owed;
  if (nowMs - to.atMs > KEPT_MS) {
    ports.log.error({ owed: to }, 'a message that could not be changed for a week is given up');
    return { isPaid: true, record };
  }
  if (!isQuiet) return { isPaid: false, record };
  const telling = { ...endPage(text), update: '', isSilent: true };
  const { by, record: after } = await deliver(onlyChanging(ports.channels), telling, to, record, nowMs);
  return { isPaid: by !== undefined, record: after };
}

/** What nothing has been told of since: a new message is better seen, and facts never end. */
function forgotten(told: ReadonlyMap<string, { atMs: number }>, sinceMs: number): [name: string, undefined][] {
  const old = [...told].filter(([, { atMs }]) => atMs < sinceMs);
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

/** What is told next, and the notices that are done with it. */
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
 * What is told next, oldest first; `undefined` while the rate is used up. All that waits about one opening of an incident
 * is told at once, as its newest notice has it: only what its message has no room for is told by itself. `sentMs` are the
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
  const isNote = severityOf(first.incident.split(':')[0] ?? '') === 'note';
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
