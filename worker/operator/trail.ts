import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { msOf } from '../../shared/redis/stream-id.ts';

/** What an operator does: who, and why. */
export interface Order {
  by: string;
  /** In the operator's own words; may be empty. */
  why: string;
}

/** The verbs that change something. */
export type Deed = 'cancel' | 'retry' | 'pause' | 'resume' | 'replay' | 'purge' | 'import' | 'reset' | 'forget';

/** An action as it is kept. */
export interface KeptAction extends Order {
  id: string;
  atMs: number;
  deed: Deed;
  /** A chat, an entry, the name of a dead letter, or `*`. */
  target: string;
}

const KEPT_MAX = 10_000;
const WORDS_MAX = 500;

/**
 * Writes down what an operator is about to do: before it is done, so nothing is ever done that is not written down. What
 * is killed in between stands there and was not done; it can be done again. A full Redis takes it too, because what is to
 * be done may free its memory. Rejects when Redis cannot be reached.
 */
export async function writeDown(redis: RedisClient, deed: Deed, target: string, { by, why }: Order): Promise<void> {
  const fields = ['deed', deed, 'target', target, 'by', by.slice(0, WORDS_MAX), 'why', why.slice(0, WORDS_MAX)];
  const { actions, absent } = keysOf(0);
  await bindScript(redis, join(import.meta.dirname, 'write-down.lua'))([actions, absent], [KEPT_MAX, ...fields]);
}

/** The newest actions first. Rejects when Redis cannot be reached. */
export async function readActions(redis: RedisClient, count: number): Promise<KeptAction[]> {
  const entries = await redis.xrevrange(keysOf(0).actions, '+', '-', 'COUNT', count);
  return entries.map(([id, list]) => {
    const field = (name: string) => fieldsOf(list).get(name) ?? '';
    const [deed, target] = [field('deed') as Deed, field('target')];
    return { id, atMs: msOf(id), deed, target, by: field('by'), why: field('why') };
  });
}
