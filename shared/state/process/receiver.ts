import { join } from 'node:path';
import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { TelegramFailure } from '../../telegram/failure.ts';

/** How updates come in. */
export type Receiver = 'poller' | 'webhook';

/** Why no updates arrived: a call that failed, deliveries that did not reach us, or updates that could not be stored. */
type ReceiveFailure = TelegramFailure['kind'] | 'undelivered' | 'unstored';

/**
 * What the poller, or the keeper of the webhook, last got from Telegram. Times are ms since the epoch by Redis' clock;
 * a time is absent when the event never happened.
 */
export interface PollRecord {
  /** Which of the two reported last. */
  receiver: Receiver;
  /** When a receiver first got any answer or failure. */
  firstMs: number;
  lastAnswerMs?: number;
  /** When Telegram last said that another process polls, or has set another webhook or none. */
  conflictMs?: number;
  /** When Telegram last refused the bot token. */
  unauthorizedMs?: number;
  /** Since when, and when last, updates came that could not be stored; no poll since then had all of its updates stored. */
  unstoredSinceMs?: number;
  unstoredMs?: number;
  /** When it last failed in any other way. */
  otherMs?: number;
  otherKind?: string;
}

/** Short compared with the two minutes after which silence is reported. */
export const HEARTBEAT_EVERY_MS = 5_000;
/** A receiver that has not polled for so long is stuck: a poll without updates lasts 50 seconds. */
export const POLL_AGE_MS = 120_000;

const TIMES = ['lastAnswerMs', 'conflictMs', 'unauthorizedMs', 'unstoredMs', 'otherMs'] as const;
type TimeField = (typeof TIMES)[number];

export type Heartbeat = ReturnType<typeof createHeartbeat>;

/**
 * Reports to other processes how receiving goes.
 *
 * Contract: best effort. The methods return at once and never throw; the same news is written at most every `everyMs`; no
 * secret is ever written.
 */
export function createHeartbeat(
  redis: RedisClient,
  keys: Keys,
  log: Logger,
  everyMs: number,
  receiver: Receiver = 'poller',
) {
  const beat = bindScript<number>(redis, join(import.meta.dirname, 'beat.lua'));
  const writtenAtMs = new Map<TimeField, number>();
  const write = (field: TimeField, kind = ''): void => {
    const nowMs = performance.now();
    if (nowMs - (writtenAtMs.get(field) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    if (field === 'lastAnswerMs') writtenAtMs.delete('unstoredMs');
    if (field === 'unstoredMs') writtenAtMs.delete('lastAnswerMs');
    writtenAtMs.set(field, nowMs);
    beat([keys.poll], [field, kind, receiver]).catch((error: Error) => {
      writtenAtMs.delete(field);
      log.debug({ err: error }, 'the heartbeat could not be written');
    });
  };
  return {
    answered: () => write('lastAnswerMs'),
    failed(kind: ReceiveFailure): void {
      if (kind === 'conflict' || kind === 'webhook_set') write('conflictMs');
      else if (kind === 'unauthorized') write('unauthorizedMs');
      else if (kind === 'unstored') write('unstoredMs');
      else write('otherMs', kind);
    },
  };
}

/** Reads what heartbeats wrote; `undefined` when no process ever received. Rejects when Redis cannot be reached. */
export async function readHeartbeat(redis: RedisClient, keys: Keys): Promise<PollRecord | undefined> {
  const fields = await redis.hgetall(keys.poll);
  if (fields.firstMs === undefined) return undefined;
  const times = [...TIMES, 'unstoredSinceMs'].filter((field) => fields[field] !== undefined);
  return {
    firstMs: Number(fields.firstMs),
    ...Object.fromEntries(times.map((field) => [field, Number(fields[field])])),
    receiver: fields.receiver === 'webhook' ? 'webhook' : 'poller',
    ...(fields.otherKind !== undefined && { otherKind: fields.otherKind }),
  };
}

/**
 * The right to poll, or to look after the webhook, which one process of a bot has at a time; it runs out by itself. Takes
 * the lease if it is free, or renews it for so long from now; 0 releases it. Returns the name of the process that has it.
 * Contract: only its holder renews or releases it; rejects when Redis cannot be used.
 */
export function openReceiverLease(redis: RedisClient, botId: number) {
  const hold = bindScript<string>(redis, join(import.meta.dirname, 'hold-lease.lua'));
  return (process: string, lastsMs: number) => hold([keysOf(0).poller(botId)], [process, lastsMs]);
}

/** The name of the process that receives for a bot. Rejects when Redis cannot be reached. */
export async function readReceivingProcess(redis: RedisClient, botId: number): Promise<string | undefined> {
  return (await redis.get(keysOf(0).poller(botId))) ?? undefined;
}
