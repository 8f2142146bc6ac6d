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
  take(timeoutMs: number): Promise<(() => void) | undefined>;
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
  const notifyListeners = (): void => {
    for (const listener of listeners) listener();
  };
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  };
  const taken = (timeoutMs: number): Promise<boolean> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve(true);
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(mine), 1);
      resolve(false);
    }, timeoutMs);
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
        async take(timeoutMs) {
          asking += 1;
          const asked = taken(timeoutMs);
          notifyListeners();
          const isMine = await asked;
          asking -= 1;
          if (!isMine) return undefined;
          running += 1;
          notifyListeners();
          return () => {
            running -= 1;
            release();
            notifyListeners();
          };
        },
        inHand: () => running + asking,
        allowed: () => Math.max(1, running + free),
        onChange: (listener) => void listeners.push(listener),
      };
    },
  };
}
