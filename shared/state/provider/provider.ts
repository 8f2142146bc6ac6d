import { jsonFields } from '../../base/fields.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

/** The newest results of model calls in the whole installation. Times are ms since the epoch by Redis' clock. */
export interface ProviderRecord {
  /** The time of the last successful call; absent before the first one. */
  lastAnswerMs?: number;
  /** Set from the first failed call until a call succeeds. */
  failing?: { sinceMs: number; lastMs: number; failures: number; why: ProviderTrouble; status: string };
}

/** Returns a function that stores a call's result (`why` is empty for a success), and rejects when Redis cannot be reached. */
export function bindProviderNote(redis: RedisClient, { provider }: Keys) {
  const note = bindScript<number>(redis, `${import.meta.dirname}/note-provider.lua`);
  return (why: ProviderTrouble | '', status: string): Promise<number> => note([provider], [why, status]);
}

/** Reads the results of model calls. Rejects when Redis cannot be reached. */
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

/** A model's open circuit breaker. Times are ms since the epoch, by the clock of the process that opened the breaker. */
interface ModelBreaker {
  model: string;
  sinceMs: number;
  /** The time from which one call may test whether the model answers again. */
  untilMs: number;
}

const BREAKER = 'breaker:';
/** Each failed probe renews `untilMs`. If `untilMs` is longer ago than this, the breaker's process has probably died. */
const BREAKER_STALE_MS = 300_000;

/** Stores a model's open breaker, or removes it if `open` is `undefined`. Rejects when Redis cannot be reached. */
export async function noteBreaker(
  redis: RedisClient,
  { provider }: Keys,
  model: string,
  open: Omit<ModelBreaker, 'model'> | undefined,
): Promise<void> {
  const field = `${BREAKER}${model}`;
  await (open === undefined ? redis.hdel(provider, field) : redis.hset(provider, field, JSON.stringify(open)));
}

/** Reads the open breakers, without unreadable and stale ones. Rejects when Redis cannot be reached. */
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

/** The lifecycle of each model, as the endpoint stated it last. */
export type ModelLives = ReadonlyMap<string, Lifecycle>;

/** Stores the lifecycle of a model. Rejects when Redis cannot be reached. */
export async function keepModelLife(redis: RedisClient, { models }: Keys, model: string, life: Lifecycle) {
  await redis.hset(models, model, JSON.stringify(life));
}

/** Reads the lifecycles of all models, without unreadable ones. Rejects when Redis cannot be reached. */
export async function readModelLives(redis: RedisClient, { models }: Keys): Promise<ModelLives> {
  const fields = Object.entries(await redis.hgetall(models));
  return new Map(
    fields.flatMap(([model, json]) => {
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

/** The lifecycle of a model, as its endpoint states it. */
export interface Lifecycle {
  /** A deprecated model still answers; a retired one does not. */
  stage: (typeof STAGES)[number];
  /** The stated date of the retirement, in ms since the epoch. May be in the past. */
  retiresAtMs?: number;
}

export const STAGES = ['active', 'deprecated', 'retired'] as const;

/** The reason why model calls fail, for operators. */
export type ProviderTrouble = 'overloaded' | 'network' | 'auth' | 'billing' | 'model';
