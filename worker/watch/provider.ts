import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { FailureReason } from '../../shared/flow/failure.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import {
  bindProviderNote,
  keepModelLife,
  type Lifecycle,
  type ProviderTrouble,
} from '../../shared/state/provider/provider.ts';
import type { ModelsInUse } from '../model/catalog.ts';
import { providerTroubleOf } from '../model/errors/failure.ts';
import type { Model, ModelResult } from '../model/port.ts';

/** Failures that prove nothing about the endpoint: calls that were not made, or that the gateway aborted. */
const NOT_BY_ENDPOINT: ReadonlySet<FailureReason> = new Set(['aborted', 'paused']);
const ANSWERS_EVERY_MS = 2_000;
const FAILURES_EVERY_MS = 500;

/**
 * Wraps a model so that its calls record, for the whole installation, whether the endpoint works. A request that the
 * endpoint refuses because of its content also proves that the endpoint works. Contract: recording is best effort; it delays
 * no call and never makes one fail.
 */
export function withProviderNotes(model: Model, redis: RedisClient, keys: Keys, log: Logger): Model {
  const record = bindProviderNote(redis, keys);
  const recordedMs = new Map<string, number>();
  const recordAtPace = (why: ProviderTrouble | '', status: string): void => {
    const nowMs = performance.now();
    const everyMs = why === '' ? ANSWERS_EVERY_MS : FAILURES_EVERY_MS;
    if (nowMs - (recordedMs.get(why) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    // Forget the other states, so that the next change is recorded at once.
    recordedMs.clear();
    recordedMs.set(why, nowMs);
    record(why, status).catch((error: Error) => {
      recordedMs.delete(why);
      log.debug({ err: error }, 'how the endpoint fares could not be noted');
    });
  };
  return {
    limits: (name) => model.limits(name),
    countTokens: (request, signal) => model.countTokens(request, signal),
    async send(request, signal, onText) {
      const result = await model.send(request, signal, onText);
      const why = troubleOf(result);
      if (why !== undefined) recordAtPace(why, result.ok ? '' : String(result.failure.status ?? ''));
      return result;
    },
  };
}

/** The trouble that a result proves; `''` if the endpoint works, `undefined` if the result proves neither. */
function troubleOf(result: ModelResult): ProviderTrouble | '' | undefined {
  if (result.ok) return '';
  const { reason } = result.failure;
  return NOT_BY_ENDPOINT.has(reason) ? undefined : (providerTroubleOf(reason) ?? '');
}

const RETRY_MS = 60_000;

/**
 * Starts the service that asks the endpoint, at the start and then every `everyMs`, for the lifecycle of each model in use.
 * It stores the answers for the watchdogs of all workers. Without an answer, the stored lifecycle of a model stays.
 */
export function watchModelLives(ports: {
  redis: RedisClient;
  keys: Keys;
  /** The lifecycle of a model; `undefined` if the endpoint states none. Contract: rejects if the request fails. */
  ask(model: string, signal: AbortSignal): Promise<Lifecycle | undefined>;
  models: ModelsInUse;
  everyMs: number;
  log: Logger;
}): Service {
  const { redis, keys, ask, models, everyMs, log } = ports;
  return runLoop({
    name: 'model lives',
    async round(signal) {
      for (const model of models.keys()) {
        const life = await ask(model, signal);
        if (life !== undefined) await keepModelLife(redis, keys, model, life);
      }
      return everyMs;
    },
    retryMs: Math.min(RETRY_MS, everyMs),
    onError: (error) => log.debug({ err: error }, 'the endpoint could not be asked how long its models live'),
  });
}
