import type { Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import type { Lifecycle, ModelsInUse } from '../model/catalog.ts';

/** Asks where a model is in its life; `undefined` where its endpoint does not say. Contract: rejects when it cannot. */
export type AskLifecycle = (model: string, signal: AbortSignal) => Promise<Lifecycle | undefined>;

/** What the endpoint said last, by model; kept for the whole installation. */
export type ModelLives = ReadonlyMap<string, Lifecycle>;

/** A date 30 days ahead can wait for that long. */
export const LIVES_EVERY_MS = 6 * 3600_000;
const RETRY_MS = 60_000;

/**
 * Asks at the start and a few times a day where the models in use are in their lives, and keeps that for the watchdogs
 * of all workers. An endpoint that cannot be asked, or does not say, changes nothing.
 */
export function watchModelLives(ports: {
  redis: RedisClient;
  keys: Keys;
  ask: AskLifecycle;
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
        if (life !== undefined) await redis.hset(keys.models, model, JSON.stringify(life));
      }
      return everyMs;
    },
    retryMs: Math.min(RETRY_MS, everyMs),
    onError: (error) => log.debug({ err: error }, 'the endpoint could not be asked how long its models live'),
  });
}

/** Reads what was kept; what cannot be read is left out. Rejects when Redis cannot be reached. */
export async function readModelLives(redis: RedisClient, keys: Keys): Promise<ModelLives> {
  const kept = Object.entries(await redis.hgetall(keys.models));
  return new Map(
    kept.flatMap(([model, json]) => {
      const life = lifeOf(json);
      return life === undefined ? [] : [[model, life]];
    }),
  );
}

function lifeOf(json: string): Lifecycle | undefined {
  try {
    const { stage, retiresAtMs } = JSON.parse(json) as Partial<Lifecycle>;
    if (typeof stage !== 'string') return undefined;
    return { stage, ...(typeof retiresAtMs === 'number' && { retiresAtMs }) };
  } catch {
    return undefined;
  }
}
