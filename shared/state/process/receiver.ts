import type { Logger } from '../../base/log.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type Keys, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { TelegramFailure } from '../../telegram/failure.ts';

/** The way in which updates arrive. */
export type Receiver = 'poller' | 'webhook';

/**
 * The reason why no updates arrived. `undelivered`: Telegram's deliveries did not reach the webhook. `unstored`: Redis did not
 * store the updates. Any other reason: a call of the Bot API failed with a failure of this kind.
 */
type ReceiveFailure = TelegramFailure['kind'] | 'undelivered' | 'unstored';

/**
 * The times of the receiver's last events, in ms since the epoch by Redis' clock. A time is absent if its event has not
 * happened.
 */
export interface PollRecord {
  /** The receiver that reported last. */
  receiver: Receiver;
  /** The time of the first event ever. */
  firstMs: number;
  lastAnswerMs?: number;
  /** Telegram reported that another process polls, or that the bot's webhook is not as this receiver needs it. */
  conflictMs?: number;
  /** Telegram refused the bot token. */
  unauthorizedMs?: number;
  /** Redis has failed to store updates since this time. Absent once updates are stored again. */
  unstoredSinceMs?: number;
  /** The newest failure of Redis to store updates. */
  unstoredMs?: number;
  /** The last failure of another kind; the kind is `otherKind`. */
  otherMs?: number;
  otherKind?: string;
}

/** How soon a receiver may store the same event again. Much shorter than the two minutes of silence that raise an alert. */
export const HEARTBEAT_EVERY_MS = 5_000;
/** A receiver without a successful poll for this long has stopped, because a poll without updates lasts only 50 seconds. */
export const POLL_AGE_MS = 120_000;

const TIMES = ['lastAnswerMs', 'conflictMs', 'unauthorizedMs', 'unstoredMs', 'otherMs'] as const;
type TimeField = (typeof TIMES)[number];

export type Heartbeat = ReturnType<typeof createHeartbeat>;

/**
 * Stores the receiver's events for other processes.
 *
 * Contract: best effort. The methods return at once, never throw and never write a secret. An event that repeats is written at
 * most once in `everyMs`.
 */
export function createHeartbeat(
  redis: RedisClient,
  keys: Keys,
  log: Logger,
  everyMs: number,
  receiver: Receiver = 'poller',
) {
  const beat = bindScript<number>(redis, `${import.meta.dirname}/beat.lua`);
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

/** Reads the receiver's events; `undefined` before the first one. Rejects when Redis cannot be reached. */
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
 * Opens the lease of the one process that polls for a bot, or that looks after its webhook. The returned function takes or
 * renews the lease for `forMs`; 0 releases it. Returns the name of the process that has the lease; after a release, `process`.
 * Contract: only the owner can renew or release the lease. Rejects when Redis cannot be used.
 */
export function openReceiverLease(redis: RedisClient, botId: number) {
  const hold = bindScript<string>(redis, `${import.meta.dirname}/hold-lease.lua`);
  return (process: string, forMs: number) => hold([keysOf(0).poller(botId)], [process, forMs]);
}

/** The name of the process that receives a bot's updates, if there is one. Rejects when Redis cannot be reached. */
export async function readReceivingProcess(redis: RedisClient, botId: number): Promise<string | undefined> {
  return (await redis.get(keysOf(0).poller(botId))) ?? undefined;
}
