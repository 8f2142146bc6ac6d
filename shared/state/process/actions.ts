import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { fieldsOf, msOf } from '../../redis/stream.ts';

/** The operator who acts, and the reason in the operator's own words. */
export interface Attribution {
  by: string;
  /** May be empty. */
  why: string;
}

/** The operators' actions that change something. */
export type OperatorAction =
  | 'allow'
  | 'disallow'
  | 'ignore'
  | 'cancel'
  | 'retry'
  | 'pause'
  | 'resume'
  | 'replay'
  | 'purge'
  | 'import'
  | 'reset'
  | 'forget'
  | 'close';

const ACTIONS_MAX = 10_000;
const WORDS_MAX = 500;

/**
 * Records an operator's action. Call it before the action, so that every action is on record. A full Redis accepts the
 * record, too, because the action may be the one that frees memory. Rejects when Redis cannot be reached.
 */
export async function recordAction(
  redis: RedisClient,
  action: OperatorAction,
  target: string,
  { by, why, entry, count }: Attribution & { entry?: EntryId; count?: number | undefined },
): Promise<void> {
  const fields = ['deed', action, 'target', target, 'by', by.slice(0, WORDS_MAX), 'why', why.slice(0, WORDS_MAX)];
  if (entry !== undefined) fields.push('entry', entry);
  if (count !== undefined) fields.push('count', String(count));
  const { actions, absent } = keysOf(0);
  await bindScript(redis, `${import.meta.dirname}/write-down.lua`)([actions, absent], [ACTIONS_MAX, ...fields]);
}

/** The largest expected difference between the clocks of two servers of a cluster. */
const CLOCKS_MS = 60_000;

/**
 * The recorded action that an operator's message caused; `undefined` if there is none. `count` is the number of the action's
 * targets, if recorded. Rejects when Redis cannot be reached.
 */
export async function actionOf(redis: RedisClient, entry: EntryId): Promise<{ count?: number } | undefined> {
  const sinceMs = Math.max(0, msOf(entry) - CLOCKS_MS);
  const actions = (await redis.xrange(keysOf(0).actions, sinceMs, '+')).map(([, list]) => fieldsOf(list));
  const fields = actions.find((each) => each.get('entry') === entry);
  return fields && (fields.has('count') ? { count: Number(fields.get('count')) } : {});
}

/**
 * The newest `count` actions, newest first. A target is a chat, a person, an entry, the name of a dead letter or of an
 * incident, or `*` for all. Rejects when Redis cannot be reached.
 */
export async function readActions(redis: RedisClient, count: number) {
  const entries = await redis.xrevrange(keysOf(0).actions, '+', '-', 'COUNT', count);
  return entries.map(([id, list]) => {
    const fields = fieldsOf(list);
    const field = (name: string) => fields.get(name) ?? '';
    const [deed, target] = [field('deed') as OperatorAction, field('target')];
    return { id, atMs: msOf(id), deed, target, by: field('by'), why: field('why') };
  });
}
