import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';

/**
 * Passes that one process at a time makes for all. Contract: each method returns 0 when the pass is taken for that long, or
 * for how long another process still has it; it rejects when Redis cannot be reached.
 */
export interface Passes {
  takeReconciler(forMs: number): Promise<number>;
  takeBlobKeeper(forMs: number): Promise<number>;
  /** The pause between two probes of an endpoint in trouble, of which the longest is `mostMs`. */
  takeEndpointProbe(forMs: number, mostMs: number): Promise<number>;
}

/** The passes of a shard, or of the installation. */
export function createPasses(redis: RedisClient, keys: Keys): Passes {
  /** After a step back of Redis' clock a key would last for as long as the step: it lasts for `mostMs` at most. */
  const take = async (key: string, forMs: number, mostMs = forMs): Promise<number> => {
    if ((await redis.set(key, '', 'PX', forMs, 'NX')) === 'OK') return 0;
    const leftMs = await redis.pttl(key);
    if (leftMs > mostMs) await redis.pexpire(key, mostMs);
    return Math.max(1, Math.min(leftMs, mostMs));
  };
  return {
    takeReconciler: (forMs) => take(keys.pass, forMs),
    takeBlobKeeper: (forMs) => take(keys.blobPass, forMs),
    takeEndpointProbe: (forMs, mostMs) => take(keys.endpointProbe, forMs, mostMs),
  };
}
