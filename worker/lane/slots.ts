/**
 * How many turns a process runs at once, whatever shards they are of. Slots are handed over in the order in which they were
 * asked for, so no shard can keep another one from its turn.
 */
export interface Slots {
  /** The part of one shard. */
  share(): Share;
}

/** What a shard has of the slots of its process. */
export interface Share {
  /** Waits for a slot. Answers how to give it back, or nothing when none came free in time. Never rejects. */
  take(patienceMs: number): Promise<(() => void) | undefined>;
  /** How many jobs the shard has in hand: those that run, and those that wait for a slot. */
  inHand(): number;
  /** How many jobs the shard may have in hand; at least one, since a shard that listens to nothing would never be told. */
  allowed(): number;
  /** Calls back each time `allowed` may have changed. */
  onChange(listener: () => void): void;
}

/** Slots for so many turns. */
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
