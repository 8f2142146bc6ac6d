import { randomUUID } from 'node:crypto';
import type { Alert } from '../shared/alert.ts';
import type { Keys } from '../shared/keys.ts';
import { pause, type Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import { BLOCK_MS, type RedisClient } from '../shared/redis.ts';
import type { Telegram } from '../shared/telegram.ts';

export interface AlerterParts {
  redis: RedisClient;
  /** A connection of its own: it blocks. */
  blocking: RedisClient;
  keys: Keys;
  telegram: Telegram;
  /** `undefined` when the operator wants no alerts on Telegram: they are logged. */
  chatId: number | undefined;
  log: Logger;
  /** An alert that its taker did not finish for so long is taken over: longer than a send can last. */
  takeOverMs: number;
}

export const ALERT_TAKE_OVER_MS = 45_000;

const GROUP = 'alerter';
const INCIDENT_SECONDS = 3600;
const DAILY_MAX = 200;
const RETRY_MS = 5_000;
const ALERT_CHARS_MAX = 4_000;
const TRIES_MAX = 50;

/**
 * Sends queued alerts, at least once each, from a queue of their own: a failing alert blocks no recovery. An alert
 * that another alerter took and did not finish is taken over.
 */
export function startAlerter(parts: AlerterParts): Service {
  const stopping = new AbortController();
  const running = sendAlerts(parts, stopping.signal);
  return {
    name: 'alerter',
    async stop() {
      stopping.abort();
      parts.blocking.disconnect();
      await running;
    },
  };
}

type StreamEntry = [id: string, fields: string[]];

async function sendAlerts(parts: AlerterParts, signal: AbortSignal): Promise<void> {
  const consumer = randomUUID();
  while (!signal.aborted) {
    try {
      await prepare(parts);
      for (const entry of await nextAlerts(parts, consumer)) await sendOne(parts, entry, signal);
    } catch (error) {
      if (signal.aborted) return;
      parts.log.warn({ err: error }, 'alerting failed; it is tried again');
      await pause(RETRY_MS, signal);
    }
  }
}

async function prepare({ redis, keys }: AlerterParts): Promise<void> {
  await redis.xgroup('CREATE', keys.alerts, GROUP, '0', 'MKSTREAM').catch((error: Error) => {
    if (!error.message.startsWith('BUSYGROUP')) throw error;
  });
}

async function nextAlerts(
  { redis, blocking, keys, takeOverMs }: AlerterParts,
  consumer: string,
): Promise<StreamEntry[]> {
  const [, orphaned] = (await redis.xautoclaim(keys.alerts, GROUP, consumer, takeOverMs, '0', 'COUNT', 10)) as [
    string,
    StreamEntry[],
  ];
  if (orphaned.length > 0) return orphaned;
  const read = (await blocking.xreadgroup(
    'GROUP',
    GROUP,
    consumer,
    'COUNT',
    10,
    'BLOCK',
    BLOCK_MS,
    'STREAMS',
    keys.alerts,
    '>',
  )) as [string, StreamEntry[]][] | null;
  return read?.[0]?.[1] ?? [];
}

async function sendOne(parts: AlerterParts, [id, fields]: StreamEntry, signal: AbortSignal): Promise<void> {
  const { redis, keys, log } = parts;
  const alert = JSON.parse(fields[fields.indexOf('alert') + 1] ?? '{}') as Alert;
  if (await isDue(parts, alert, id)) {
    log.error({ alert: alert.text, incident: alert.incident }, 'alert');
    if (parts.chatId !== undefined) await untilSent(parts, alert, signal);
  }
  if (signal.aborted) return;
  await redis.multi().xack(keys.alerts, GROUP, id).xdel(keys.alerts, id).exec();
}

/** Once per incident and hour, and never more than a day's cap; the stream id makes a retry of the same alert due. */
async function isDue({ redis, keys }: AlerterParts, alert: Alert, id: string): Promise<boolean> {
  const key = keys.incident(alert.incident);
  await redis.set(key, id, 'EX', INCIDENT_SECONDS, 'NX');
  if ((await redis.get(key)) !== id) return false;
  const day = keys.incident(`sent-on-${new Date().toISOString().slice(0, 10)}`);
  const [[, sent]] = (await redis
    .multi()
    .incr(day)
    .expire(day, 48 * 3600)
    .exec()) as [[null, number]];
  return sent <= DAILY_MAX;
}

async function untilSent({ telegram, chatId, log }: AlerterParts, alert: Alert, signal: AbortSignal): Promise<void> {
  for (let tries = 1; !signal.aborted && tries <= TRIES_MAX; tries++) {
    const sent = await telegram.sendMessage({ chatId: chatId ?? 0 }, alert.text.slice(0, ALERT_CHARS_MAX));
    if (sent.ok) return;
    log.error({ failure: sent.failure, incident: alert.incident }, 'the alert could not be sent');
    if (sent.failure.kind === 'gone' || sent.failure.kind === 'rejected') return;
    await pause(sent.failure.retryAfterMs ?? RETRY_MS, signal);
  }
}
