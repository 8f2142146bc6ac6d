import { join } from 'node:path';
import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { TelegramFailure } from '../../telegram/failure.ts';

/** The way in which updates arrive. */
export type Receiver = 'poller' | 'webhook';

/**
 * The reason why no updates arrived. `undelivered`: Telegram's deliveries did not reach the webhook. `unstored`: Redis did not
 * store the updates. Any other one: a call of Telegram failed.
 */
type ReceiveFailure = TelegramFailure['kind'] | 'undelivered' | 'unstored';

/**
 * The times of the receiver's last events, in ms since the epoch by Redis' clock. A time is absent if its event never
 * happened.
 */
export interface PollRecord {
  /** The receiver that reported last. */
  receiver: Receiver;
  /** The first event. */
  firstMs: number;
  lastAnswerMs?: number;
  /** Telegram reported that another process polls, or that another webhook or none is set. */
  conflictMs?: number;
  /** Telegram refused the bot token. */
  unauthorizedMs?: number;
  /** Redis first failed to store updates. Absent once all updates of a poll are stored. */
  unstoredSinceMs?: number;
  /** Redis last failed to store updates. */
  unstoredMs?: number;
  /** Any other failure, of the kind `otherKind`. */
  otherMs?: number;
  otherKind?: string;
}

/** Much shorter than the two minutes after which the watchdog reports silence. */
export const HEARTBEAT_EVERY_MS = 5_000;
/** A receiver without a poll for so long is stuck: a poll without updates lasts 50 seconds. */
export const POLL_AGE_MS = 120_000;

const TIMES = ['lastAnswerMs', 'conflictMs', 'unauthorizedMs', 'unstoredMs', 'otherMs'] as const;
type TimeField = (typeof TIMES)[number];

export type Heartbeat = ReturnType<typeof createHeartbeat>;

/**
 * Stores the receiver's events for other processes.
 *
 * Contract: best effort. The methods return at once and never throw; they write the same event at most every `everyMs`, and
 * never a secret.
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

/** Reads the receiver's events; `undefined` if there was none yet. Rejects when Redis cannot be reached. */
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
 * Binds the lease of the one process of a bot that polls, or that looks after the webhook. The returned function takes or
 * renews the lease for `forMs`, or releases it with 0. It returns the name of the process that has the lease.
 * Contract: only its holder renews or releases it; rejects when Redis cannot be used.
 */
export function openReceiverLease(redis: RedisClient, botId: number) {
  const hold = bindScript<string>(redis, join(import.meta.dirname, 'hold-lease.lua'));
  return (process: string, forMs: number) => hold([keysOf(0).poller(botId)], [process, forMs]);
}

/** The name of the process that receives for a bot. Rejects when Redis cannot be reached. */
export async function readReceivingProcess(redis: RedisClient, botId: number): Promise<string | undefined> {
  return (await redis.get(keysOf(0).poller(botId))) ?? undefined;
}
