import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { clip } from '../../shared/base/text.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { bindScript, type RunScript } from '../../shared/redis/script.ts';
import { fieldsOf, msOf } from '../../shared/redis/stream.ts';
import type { Notice } from './book.ts';
import { noticeOf } from './book-store.ts';
import { type AlertingRecord, alertingFields, alertingOf, byClock, type Channels, deliver } from './delivery.ts';

export interface AlerterPorts {
  /** A fail-fast connection of its own; closed on stop. */
  redis: RedisClient;
  keys: Keys;
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

type TakeReply = [] | [nowMs: number, fields: string[], entries: [id: string, fields: string[]][]];

/** The scripts that run before and after a send. */
interface Scripts {
  owner: string;
  take: RunScript<TakeReply>;
  putBack: RunScript<1>;
}

/**
 * Sends the waiting notices at least once each: one process at a time for the whole installation, in the order in which
 * they were queued. Above a rate they fold into one digest. Each is logged before it is sent. What no channel takes is
 * kept for days and retried with backoff; nothing else waits for it.
 */
export function startAlerter(ports: AlerterPorts): Service {
  const { redis, log, everyMs } = ports;
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const scripts: Scripts = {
    owner: randomUUID(),
    take: script<TakeReply>('take-notices'),
    putBack: script<1>('put-notices-back'),
  };
  const logged = new Set<string>();
  const loop = runLoop({
    name: 'alerter',
    round: async () => ((await sendNext(ports, scripts, logged)) ? 0 : everyMs),
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

/** Returns whether something was sent, and more may be waiting. */
async function sendNext(ports: AlerterPorts, scripts: Scripts, logged: Set<string>): Promise<boolean> {
  const { notices, alerting, alertingLock } = ports.keys;
  const at = [notices, alerting, alertingLock];
  const reply = await scripts.take(at, [scripts.owner, ports.takeOverMs, NOTICES_MAX]);
  if (reply.length === 0) return false;
  const [nowMs, fields, entries] = reply;
  const queued = entries.map(([id, of]) => ({ id, ...noticeOf(id, fieldsOf(of).get('notice')) }));
  logNew(ports, queued, logged);
  const before = byClock(alertingOf(Object.fromEntries(fieldsOf(fields))), nowMs);
  const { ids, record, isSent } = await sendDue(ports, queued, before, nowMs);
  for (const id of ids) logged.delete(id);
  const kept = { ...record, sentMs: recentOf(record.sentMs, nowMs), atMs: nowMs };
  await scripts.putBack(at, [scripts.owner, ids.length, ...ids, ...alertingFields(kept)]);
  return isSent;
}

async function sendDue(
  { channels, log }: AlerterPorts,
  queued: readonly QueuedNotice[],
  record: AlertingRecord,
  nowMs: number,
): Promise<{ ids: readonly string[]; record: AlertingRecord; isSent: boolean }> {
  const outgoing = nextOutgoing(queued, record.sentMs, nowMs);
  if (outgoing === undefined) return { ids: [], record, isSent: false };
  const delivery = await deliver(channels, outgoing.text, record, nowMs);
  if (delivery.refused !== undefined) log.error({ why: delivery.refused }, 'an alert could not be sent; it is kept');
  if (delivery.by !== undefined) return { ids: outgoing.ids, record: delivery.record, isSent: true };
  const ids = queued.map(({ id }) => id).filter((id) => nowMs - msOf(id) > KEPT_MS);
  if (ids.length > 0) log.error({ notices: ids.length }, 'alerts that no channel took for a week are given up');
  return { ids, record: delivery.record, isSent: false };
}

/** Before the send, and once in each process that takes the notice. */
function logNew({ log }: AlerterPorts, queued: readonly QueuedNotice[], logged: Set<string>): void {
  for (const { id, incident, kind, text } of queued) {
    if (logged.has(id)) continue;
    logged.add(id);
    log[kind === 'resolved' ? 'warn' : 'error']({ alert: text, incident, kind }, 'alert');
  }
}

/** A notice that waits to be sent. */
export interface QueuedNotice extends Notice {
  id: string;
}

/** What is sent next: one notice as it is, or all that wait in one message. */
export type Outgoing = { ids: readonly string[]; text: string };

/** An operator reads this many messages one by one; more are sent as one. */
export const SINGLES_PER_MINUTE = 5;
const MESSAGES_PER_HOUR = 30;
const MINUTE_MS = 60_000;
const HOUR_MS = 3600_000;
/** Telegram takes 4,096 UTF-16 units. */
const TEXT_CHARS_MAX = 4_000;
const LINE_CHARS_MAX = 200;
const DIGEST_CHARS_MAX = 3_800;

/**
 * Which of the waiting notices are sent next, oldest first; `undefined` while the rate is used up. Above the rate,
 * notices fold into one digest with counts, so none is ever dropped. `sentMs` are the times of earlier messages. Pure.
 */
export function nextOutgoing(
  queued: readonly QueuedNotice[],
  sentMs: readonly number[],
  nowMs: number,
): Outgoing | undefined {
  const [first] = queued;
  const sentWithin = (ms: number) => sentMs.filter((atMs) => nowMs - atMs < ms).length;
  const isSpent = sentWithin(MINUTE_MS) >= SINGLES_PER_MINUTE || sentWithin(HOUR_MS) >= MESSAGES_PER_HOUR;
  if (first === undefined || isSpent) return undefined;
  if (queued.length <= SINGLES_PER_MINUTE) return { ids: [first.id], text: clip(first.text, TEXT_CHARS_MAX) };
  return { ids: queued.map(({ id }) => id), text: digestText(queued) };
}

/** The times that the rate still depends on. */
export function recentOf(sentMs: readonly number[], nowMs: number): number[] {
  return sentMs.filter((atMs) => nowMs - atMs < HOUR_MS);
}

function digestText(queued: readonly QueuedNotice[]): string {
  const kinds = Map.groupBy(queued, ({ kind }) => kind);
  const numbers = [...kinds].map(([kind, notices]) => `${notices.length} ${kind}`).join(', ');
  const incidents = new Set(queued.map(({ incident }) => incident)).size;
  const lines = [
    `Digest of ${queued.length} alerts about ${incidents} incidents: ${numbers}. The log has each in full.`,
  ];
  let chars = lines[0]?.length ?? 0;
  for (const { text } of queued) {
    const line = `- ${clip(text.split('\n')[0] ?? '', LINE_CHARS_MAX)}`;
    if (chars + line.length > DIGEST_CHARS_MAX) break;
    lines.push(line);
    chars += line.length + 1;
  }
  const more = queued.length - (lines.length - 1);
  return [...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}
