/**
 * How many turns a process runs at once, over all its shards. Slots are granted in the order of the requests, so no
 * shard can starve another.
 */
export interface Slots {
  /** The share of one shard. */
  share(): Share;
}

/** A shard's share of its process's slots. */
export interface Share {
  /** Waits for a slot. Returns a function that releases it, or nothing when none came free in time. Never rejects. */
  take(patienceMs: number): Promise<(() => void) | undefined>;
  /** How many jobs the shard has in hand: running, or waiting for a slot. */
  inHand(): number;
  /** How many jobs the shard may have in hand; at least one, because without a listener it is never notified. */
  allowed(): number;
  /** Calls back each time `allowed` may have changed. */
  onChange(listener: () => void): void;
}

/** A pool of `count` slots for turns. */
export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  const listeners: (() => void)[] = [];
  let free = count;
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  const taken = (patienceMs: number): Promise<boolean> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve(true);
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(mine), 1);
      resolve(false);
    }, patienceMs);
    const mine = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    waiting.push(mine);
    return promise;
  };
  return {
    share() {
      let [running, asking] = [0, 0];
      return {
        async take(patienceMs) {
          asking += 1;
          const asked = taken(patienceMs);
          tell();
          const isMine = await asked;
          asking -= 1;
          if (!isMine) return undefined;
          running += 1;
          tell();
          return () => {
            running -= 1;
            release();
            tell();
          };
        },
        inHand: () => running + asking,
        allowed: () => Math.max(1, running + free),
        onChange: (listener) => void listeners.push(listener),
      };
    },
  };
}
