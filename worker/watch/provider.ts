import { join } from 'node:path';
import type { Logger } from '../../shared/base/log.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { type FailureReason, type ProviderTrouble, providerTroubleOf } from '../model/errors/failure.ts';
import type { Model, ModelResult } from '../model/port.ts';

/**
 * How the installation's model calls fare. Times are ms since the epoch by Redis' clock; absent means that it never
 * happened.
 */
export interface ProviderRecord {
  lastAnswerMs?: number;
  /** Set while no call has gone through since a first one failed. */
  failing?: { sinceMs: number; lastMs: number; failures: number; why: ProviderTrouble; status: string };
}

/** Calls that were not made, or that we aborted ourselves, show nothing about the endpoint. */
const SILENT: ReadonlySet<FailureReason> = new Set(['aborted', 'paused']);
const ANSWERS_EVERY_MS = 2_000;
const FAILURES_EVERY_MS = 500;

/**
 * The model; records for the whole installation what its real calls show about the endpoint. Even a refused request
 * shows that the endpoint is up. Contract: recording is best effort; it delays no call and never makes one fail.
 */
export function withProviderNotes(model: Model, redis: RedisClient, keys: Keys, log: Logger): Model {
  const note = bindScript<number>(redis, join(import.meta.dirname, 'note-provider.lua'));
  const notedMs = new Map<string, number>();
  const write = (why: ProviderTrouble | '', status: string): void => {
    const nowMs = performance.now();
    const everyMs = why === '' ? ANSWERS_EVERY_MS : FAILURES_EVERY_MS;
    if (nowMs - (notedMs.get(why) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    // A change is recorded at once, however recent the last record is.
    notedMs.clear();
    notedMs.set(why, nowMs);
    note([keys.provider], [why, status]).catch((error: Error) => {
      notedMs.delete(why);
      log.debug({ err: error }, 'how the endpoint fares could not be noted');
    });
  };
  return {
    limits: (name) => model.limits(name),
    countTokens: (request, signal) => model.countTokens(request, signal),
    async send(request, signal, onText) {
      const result = await model.send(request, signal, onText);
      const why = troubleOf(result);
      if (why !== undefined) write(why, result.ok ? '' : String(result.failure.status ?? ''));
      return result;
    },
  };
}

/** `''` when the endpoint answered; `undefined` when the result shows nothing about it. */
function troubleOf(result: ModelResult): ProviderTrouble | '' | undefined {
  if (result.ok) return '';
  const { reason } = result.failure;
  return SILENT.has(reason) ? undefined : (providerTroubleOf(reason) ?? '');
}

/** Reads what was recorded. Rejects when Redis cannot be reached. */
export async function readProvider(redis: RedisClient, keys: Keys): Promise<ProviderRecord> {
  const { lastAnswerMs, failingSinceMs, lastFailureMs, failures, why, status } = await redis.hgetall(keys.provider);
  return {
    ...(lastAnswerMs !== undefined && { lastAnswerMs: Number(lastAnswerMs) }),
    ...(failingSinceMs !== undefined && {
      failing: {
        sinceMs: Number(failingSinceMs),
        lastMs: Number(lastFailureMs),
        failures: Number(failures),
        why: (why ?? 'network') as ProviderTrouble,
        status: status ?? '',
      },
    }),
  };
}
