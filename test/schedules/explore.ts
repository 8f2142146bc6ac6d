import type { Redis } from 'ioredis';
import type { Fault } from './plan.ts';
import { type Played, playSchedule } from './schedule.ts';
import { SHARDS } from './shards.ts';

/** What many schedules came to. */
export interface Exploration {
  readonly seed: number;
  played: number;
  messages: number;
  steps: number;
  /** How many of them differ in what happened, or in its order. */
  traces: number;
  /** How often each fault was played. */
  readonly faults: Map<Fault, number>;
  /** The places at which a fault struck, in words without names. */
  readonly places: Map<string, number>;
  /** The first that violated something, and how many did. */
  firstRed: Played | undefined;
  red: number;
}

export interface ExploreOptions {
  readonly seed: number;
  readonly count: number;
  /** Whether to end with the first that is red. */
  readonly untilRed: boolean;
  /** Called now and then. */
  readonly onProgress?: (soFar: Exploration) => void;
}

/** As many as keep the server busy; a wave is over when its longest is. */
const WAVE = 64;

/** Plays the schedules of consecutive seeds, many side by side: each has a shard of the same Redis to itself. */
export async function explore(redis: Redis, options: ExploreOptions): Promise<Exploration> {
  const { seed, count, untilRed, onProgress } = options;
  const traces = new Set<number>();
  const total: Exploration = {
    ...{ seed, played: 0, messages: 0, steps: 0, traces: 0, red: 0, firstRed: undefined },
    ...{ faults: new Map(), places: new Map() },
  };
  while (total.played < count && !(untilRed && total.red > 0)) {
    const size = Math.min(WAVE, SHARDS, count - total.played);
    const from = seed + total.played;
    const wave = await Promise.all(Array.from({ length: size }, (_, at) => playSchedule(redis, at, from + at)));
    for (const played of wave) add(total, played, traces);
    total.traces = traces.size;
    await redis.flushall();
    onProgress?.(total);
  }
  return total;
}

/** Leaves out every fault without which a schedule is red all the same. */
export async function shrink(redis: Redis, red: Played): Promise<Played> {
  const without = new Set<number>();
  let smallest = red;
  for (let fault = red.faults.length - 1; fault >= 0; fault--) {
    await redis.flushall();
    const tried = await playSchedule(redis, 0, red.seed, new Set([...without, fault]));
    if (tried.violations.length === 0) continue;
    without.add(fault);
    smallest = tried;
  }
  return smallest;
}

function add(total: Exploration, played: Played, traces: Set<number>): void {
  total.played += 1;
  total.messages += played.messages;
  total.steps += played.trace.length;
  traces.add(digestOf(played.trace));
  for (const { fault, words } of played.faults) {
    increment(total.faults, fault);
    increment(total.places, words.replaceAll(/ \d+/g, '').replaceAll(/[AB]-\d/g, 'a message'));
  }
  if (played.violations.length === 0) return;
  total.red += 1;
  total.firstRed ??= played;
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const [HIGH, LOW] = [2 ** 21, 2 ** 32];

/** A number that differs where traces differ, but for one pair in a million millions. */
function digestOf(trace: readonly string[]): number {
  let [one, other] = [0x811c9dc5, 0x1b873593];
  for (const line of trace)
    for (let at = 0; at <= line.length; at++) {
      one = Math.imul(one ^ (line.charCodeAt(at) | 0), 0x01000193);
      other = Math.imul(other ^ (line.charCodeAt(at) | 0), 0x5bd1e995) ^ (other >>> 13);
    }
  return ((other >>> 0) % HIGH) * LOW + (one >>> 0);
}
