/**
 * The time of the Redis server of a shard, by which entries are named and jobs are due: clocks of different machines differ.
 * It is learnt from replies that come anyway, and counted on by a clock that nobody sets.
 */
export interface RedisClock {
  /** Ms since the epoch; this process' own time until something was learnt. */
  nowMs(): number;
  /** Asks Redis for something whose reply says the time. */
  learn<T>(ask: () => Promise<T>, timeOf: (reply: T) => number | undefined): Promise<T>;
}

/** A reply that took longer was waited for, or sent again: it says too little of the present. */
const ROUND_TRIP_MS_MAX = 1_000;

/** A clock that has learnt nothing yet. */
export function createClock(): RedisClock {
  /** The time of Redis at which our monotonic clock began. */
  let startMs: number | undefined;
  return {
    nowMs: () => Math.round(startMs === undefined ? Date.now() : startMs + performance.now()),
    async learn(ask, timeOf) {
      const askedMs = performance.now();
      const reply = await ask();
      const answeredMs = performance.now();
      const timeMs = timeOf(reply);
      const isQuick = answeredMs - askedMs <= ROUND_TRIP_MS_MAX;
      if (timeMs !== undefined && (isQuick || startMs === undefined)) startMs = timeMs - (askedMs + answeredMs) / 2;
      return reply;
    },
  };
}
