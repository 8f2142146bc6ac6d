import { randomInt } from 'node:crypto';
import { jsonFields } from '../../base/fields.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { keysOf } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Change } from '../change.ts';
import { serverTimeMs } from '../process/process.ts';
import type { Turn } from '../turn/turn.ts';

/** A person outside the allow list who waits to be let in. The person chose the names, which may be empty. */
export interface Stranger {
  id: string;
  name: string;
  username: string;
  /** Names the request at the command line. */
  code: string;
  /** When the person asked, in ms since the epoch, by Redis' clock. */
  atMs: number;
}

const { strangers: KEY, allowed: ALLOWED } = keysOf(0);
const WAITING_MAX = 5;
const WAIT_MS = 3600_000;
const IGNORED_MS = 30 * 24 * 3600_000;
/** Consonants, so that no code looks like a word or a number, without those that look like digits. */
const LETTERS = 'BCDFGHJKMNPQRTVWXY';
const CODE_CHARS = 6;
export const CODE = new RegExp(`^[${LETTERS}]{${CODE_CHARS}}$`, 'i');

/**
 * Creates the function that stores a stranger's request. It returns the code to send to the person, or '' if the person waits
 * already, is ignored, or finds five others waiting. Contract: idempotent per update id; rejects when Redis cannot store it.
 */
export function bindKnock(redis: RedisClient) {
  const knock = bindScript<string>(redis, `${import.meta.dirname}/knock.lua`);
  return (id: number, updateId: number, names: Pick<Stranger, 'name' | 'username'>): Promise<string> => {
    const code = Array.from({ length: CODE_CHARS }, () => LETTERS[randomInt(LETTERS.length)]).join('');
    const request = JSON.stringify({ ...names, code, updateId });
    return knock([KEY, ALLOWED], [id, updateId, request, WAITING_MAX, WAIT_MS, IGNORED_MS]);
  };
}

/** The strangers who wait, the oldest request first. Rejects when Redis cannot be reached. */
export async function readStrangers(redis: RedisClient): Promise<Stranger[]> {
  const nowMs = await serverTimeMs(redis);
  return Object.entries(await redis.hgetall(KEY))
    .map(([id, text]) => ({ ...(jsonFields(text) as unknown as Stranger & { isIgnored?: true }), id }))
    .filter(({ atMs, isIgnored }) => !isIgnored && Math.abs(nowMs - atMs) <= WAIT_MS)
    .sort((one, other) => one.atMs - other.atMs);
}

/** Gives a person who asked no reply for 30 days. Idempotent. Returns false if the person has no request. */
export async function ignoreStranger(redis: RedisClient, id: string): Promise<boolean> {
  const request = jsonFields((await redis.hget(KEY, id)) ?? undefined);
  if (request !== undefined) await redis.hset(KEY, id, JSON.stringify({ ...request, isIgnored: true }));
  return request !== undefined;
}

/** Changes that remove a turn's session from its chat, if nothing is stored in the session, so that no data remains. */
export async function changesToLeave(redis: RedisClient, { keys, chat, session }: Turn): Promise<Change[]> {
  return (await redis.exists(keys.session(session))) === 1 ? [] : [['HDEL', keys.chat(chat), 'session']];
}
