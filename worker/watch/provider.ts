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

/** Calls that were not made, or that we aborted ourselves, show nothing about the endpoint. */
const SILENT: ReadonlySet<FailureReason> = new Set(['aborted', 'paused']);
const ANSWERS_EVERY_MS = 2_000;
const FAILURES_EVERY_MS = 500;

/**
 * The model; records for the whole installation what its real calls show about the endpoint. Even a refused request
 * shows that the endpoint is up. Contract: recording is best effort; it delays no call and never makes one fail.
 */
export function withProviderNotes(model: Model, redis: RedisClient, keys: Keys, log: Logger): Model {
  const note = bindProviderNote(redis, keys);
  const notedMs = new Map<string, number>();
  const write = (why: ProviderTrouble | '', status: string): void => {
    const nowMs = performance.now();
    const everyMs = why === '' ? ANSWERS_EVERY_MS : FAILURES_EVERY_MS;
    if (nowMs - (notedMs.get(why) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
    // A change is recorded at once, however recent the last record is.
    notedMs.clear();
    notedMs.set(why, nowMs);
    note(why, status).catch((error: Error) => {
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

const RETRY_MS = 60_000;

/**
 * Asks at the start and a few times a day where the models in use are in their lives, and keeps that for the watchdogs
 * of all workers. An endpoint that cannot be asked, or does not say, changes nothing.
 */
export function watchModelLives(ports: {
  redis: RedisClient;
  keys: Keys;
  /** Where a model is in its life; `undefined` where its endpoint does not say. Contract: rejects when it cannot ask. */
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
