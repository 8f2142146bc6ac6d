import { join } from 'node:path';
import { jsonFields } from '../../base/fields.ts';

import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/**
 * How the installation's model calls fare. Times are ms since the epoch by Redis' clock; absent means that it never
 * happened.
 */
export interface ProviderRecord {
  lastAnswerMs?: number;
  /** Set while no call has gone through since a first one failed. */
  failing?: { sinceMs: number; lastMs: number; failures: number; why: ProviderTrouble; status: string };
}

/** Binds the note of how a call ended; `why` is empty when it went through. It rejects when Redis cannot be reached. */
export function bindProviderNote(redis: RedisClient, { provider }: Keys) {
  const note = bindScript<number>(redis, join(import.meta.dirname, 'note-provider.lua'));
  return (why: ProviderTrouble | '', status: string): Promise<number> => note([provider], [why, status]);
}

/** Reads what was noted. Rejects when Redis cannot be reached. */
export async function readProvider(redis: RedisClient, { provider }: Keys): Promise<ProviderRecord> {
  const { lastAnswerMs, failingSinceMs, lastFailureMs, failures, why, status } = await redis.hgetall(provider);
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

/** The breaker of a model, which keeps calls from it. Times are ms since the epoch, by the clock of the process. */
interface ModelBreaker {
  model: string;
  sinceMs: number;
  /** When the next call tries it. */
  untilMs: number;
}

const BREAKER = 'breaker:';
/** A process that looks for the end of an outage says so each minute: an older word is of one that was killed. */
const BREAKER_STALE_MS = 300_000;

/** Notes that a process keeps calls from a model, or does so no more. Rejects when Redis cannot be reached. */
export async function noteBreaker(
  redis: RedisClient,
  { provider }: Keys,
  model: string,
  open: Omit<ModelBreaker, 'model'> | undefined,
): Promise<void> {
  const field = `${BREAKER}${model}`;
  await (open === undefined ? redis.hdel(provider, field) : redis.hset(provider, field, JSON.stringify(open)));
}

/** The models from which calls are kept, as far as that can be read. Rejects when Redis cannot be reached. */
export async function readBreakers(redis: RedisClient, { provider }: Keys, nowMs: number): Promise<ModelBreaker[]> {
  const fields = Object.entries(await redis.hgetall(provider)).filter(([name]) => name.startsWith(BREAKER));
  return fields.flatMap(([name, json]) => {
    const open = breakerOf(json);
    const isFresh = open !== undefined && nowMs - open.untilMs < BREAKER_STALE_MS;
    return isFresh ? [{ model: name.slice(BREAKER.length), ...open }] : [];
  });
}

function breakerOf(json: string): Omit<ModelBreaker, 'model'> | undefined {
  const { sinceMs, untilMs } = jsonFields(json) ?? {};
  return Number.isFinite(sinceMs) && Number.isFinite(untilMs)
    ? { sinceMs: Number(sinceMs), untilMs: Number(untilMs) }
    : undefined;
}

/** Where each model is in its life, as the endpoint said last. */
export type ModelLives = ReadonlyMap<string, Lifecycle>;

/** Keeps what the endpoint says of a model. Rejects when Redis cannot be reached. */
export async function keepModelLife(redis: RedisClient, { models }: Keys, model: string, life: Lifecycle) {
  await redis.hset(models, model, JSON.stringify(life));
}

/** Reads what was kept; what cannot be read is left out. Rejects when Redis cannot be reached. */
export async function readModelLives(redis: RedisClient, { models }: Keys): Promise<ModelLives> {
  const kept = Object.entries(await redis.hgetall(models));
  return new Map(
    kept.flatMap(([model, json]) => {
      const life = lifeOf(json);
      return life === undefined ? [] : [[model, life]];
    }),
  );
}

function lifeOf(json: string): Lifecycle | undefined {
  const { stage, retiresAtMs } = (jsonFields(json) ?? {}) as Partial<Lifecycle>;
  if (typeof stage !== 'string') return undefined;
  return { stage, ...(typeof retiresAtMs === 'number' && { retiresAtMs }) };
}

/** Where a model is in its life, as its endpoint states it. */
export interface Lifecycle {
  /** A deprecated model answers, and is to be retired; a retired one does not answer any more. */
  stage: (typeof STAGES)[number];
  /** When it is to be retired, in ms since the epoch; absent where no date is stated. May have passed. */
  retiresAtMs?: number;
}

export const STAGES = ['active', 'deprecated', 'retired'] as const;

/** Why an endpoint does not answer, in an operator's categories. */
export type ProviderTrouble = 'overloaded' | 'network' | 'auth' | 'billing' | 'model';
