import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { bindScript, type RunScript } from '../../shared/redis/script.ts';
import { fieldsOf, msOf } from '../../shared/redis/stream.ts';
import { type AlertingRecord, alertingFields, alertingOf, byClock } from './alerting.ts';
import { type Channels, deliver } from './deliver.ts';
import { nextOutgoing, type QueuedNotice, recentOf } from './digest.ts';
import { noticeOf } from './other-version.ts';

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
  const queued = entries.map(queuedNotice);
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

function queuedNotice([id, fields]: [id: string, fields: string[]]): QueuedNotice {
  return { id, ...noticeOf(id, fieldsOf(fields).get('notice')) };
}
