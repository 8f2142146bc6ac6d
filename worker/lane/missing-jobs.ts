import { join } from 'node:path';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { jobIdOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { inSlices } from '../../shared/redis/slices.ts';
import type { Head } from './head.ts';

/** The lists in which BullMQ keeps jobs, and its sorted sets, in the order in which `missing.lua` takes them. */
const LISTS = ['wait', 'paused', 'active'];
const SETS = ['delayed', 'prioritized', 'waiting-children'];
const ENDED = ['completed', 'failed'];
/** As many ids as Redis sends in a fraction of a millisecond. */
const PAGE = 1_000;
/** Each of these is looked for in whole lists, in one step. */
const DOUBTFUL_AT_ONCE = 4;

/** The given heads that are not jobs, and how many jobs were broken; see `TurnQueue.missing`. */
export type FindMissing = (heads: readonly Head[]) => Promise<{ heads: Head[]; broken: number }>;

/**
 * Finds the heads that are no jobs. Nothing holds Redis up for as long as there are jobs: the lists are read page by page,
 * while jobs move on, and what seems wrong then is looked at once more, a few at a time, in a step of its own.
 */
export function bindFindMissing(redis: RedisClient, keyOf: (name: string) => string, absent: string): FindMissing {
  const places = [...LISTS, ...SETS, ...ENDED].map(keyOf);
  const look = bindScript<[number[], number]>(redis, join(import.meta.dirname, 'missing.lua'));
  return async (heads) => {
    const { missing, doubtful } = await firstLook(redis, keyOf, heads);
    let broken = 0;
    for (const few of inSlices(doubtful, DOUBTFUL_AT_ONCE)) {
      const ids = few.map(({ entry }) => jobIdOf(entry));
      const [found, brokenNow] = await look([...places, absent], [keyOf(''), ...ids]);
      missing.push(...found.flatMap((position) => few[position - 1] ?? []));
      broken += brokenNow;
    }
    return { heads: missing, broken };
  };
}

/** What is missing for sure, and what is either in no list or not whole. */
async function firstLook(redis: RedisClient, keyOf: (name: string) => string, heads: readonly Head[]) {
  const found = { missing: [] as Head[], doubtful: [] as Head[] };
  if (heads.length <= DOUBTFUL_AT_ONCE) return { ...found, doubtful: [...heads] };
  const listed = await listedJobs(redis, keyOf);
  for (const slice of inSlices(heads, PAGE)) {
    const batch = redis.pipeline();
    for (const { entry } of slice) batch.exists(keyOf(jobIdOf(entry))).hexists(keyOf(jobIdOf(entry)), 'data');
    const replies = ((await batch.exec()) ?? []).map(([error, reply]) => {
      if (error) throw error;
      return reply === 1;
    });
    for (const [at, head] of slice.entries()) {
      const [exists, isWhole, isListed] = [replies[2 * at], replies[2 * at + 1], listed.has(jobIdOf(head.entry))];
      if (!exists && !isListed) found.missing.push(head);
      else if (!isWhole || !isListed) found.doubtful.push(head);
    }
  }
  return found;
}

/** The ids of all jobs that BullMQ would run, or waits for. One that moves meanwhile may be overlooked. */
async function listedJobs(redis: RedisClient, keyOf: (name: string) => string): Promise<Set<string>> {
  const listed = new Set<string>();
  const read = async (pageOf: (from: number, to: number) => Promise<string[]>): Promise<void> => {
    for (let from = 0; ; from += PAGE) {
      const page = await pageOf(from, from + PAGE - 1);
      for (const id of page) listed.add(id);
      if (page.length < PAGE) return;
    }
  };
  for (const name of LISTS) await read((from, to) => redis.lrange(keyOf(name), from, to));
  for (const name of SETS) await read((from, to) => redis.zrange(keyOf(name), String(from), String(to)));
  return listed;
}
