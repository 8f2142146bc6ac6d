/**
 * The time of a shard's Redis server, which names entries and schedules jobs: clocks of different machines differ. It
 * is learnt from replies to ordinary requests, and carried forward by the monotonic clock.
 */
export interface RedisClock {
  /** Ms since the epoch; this process's own time until a reply has set it. */
  nowMs(): number;
  /** Sends a request to Redis whose reply states the time. */
  learn<T>(ask: () => Promise<T>, timeOf: (reply: T) => number | undefined): Promise<T>;
}

/** A reply that took longer was delayed or re-sent, and says too little about the present. */
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
