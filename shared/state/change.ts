import type { RedisClient } from '../redis/connection.ts';
import type { RunScript } from '../redis/script.ts';

/**
 * A change of the state: one Redis command. Only the verbs of `shared/state/` make changes; they are applied together, in
 * order, by a fenced write (`Turn.write`) or by a transaction of a store.
 */
export type Change = readonly [name: string, ...args: (string | number)[]];

/** Makes changes together, outside any turn. Rejects when Redis cannot be reached. */
export async function applyTogether(redis: RedisClient, changes: readonly Change[]): Promise<void> {
  const transaction = redis.multi();
  for (const [name, ...words] of changes) transaction.call(name, ...words);
  await transaction.exec();
}

/** The result of a fenced write; see `write.lua`. */
export type Written = 'written' | 'repeated' | 'fenced' | 'unmet';

/** Where an attempt is in the row of its writes, as `fence.lua` reads it: `<last known to have taken effect> <last sent>`. */
type WritePlace = `${number} ${number}`;

/** A field of a hash that must have this value when something is written, or none where that is empty. */
export type Expected = readonly [key: string, field: string, value: string];

/** Thrown when another attempt took the turn over, or must: this attempt has to stop without further effects. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
  constructor() {
    super('another worker took this message over, or Redis has lost what this one wrote');
  }
}

/** The writes of one attempt: each goes under its fencing token and its number. */
export interface FencedWrites {
  /**
   * Applies commands atomically, once per step, also when it is sent again. An empty step may be done by another attempt, too.
   * Contract: throws `FencedError` when the turn was taken over; `unmet` only when an expected value differs.
   */
  write(step: string, commands: readonly Change[], expected?: readonly Expected[]): Promise<Exclude<Written, 'fenced'>>;
  /** Checks ownership just before an effect outside Redis. Contract: throws `FencedError`. */
  assertOwned(): Promise<void>;
  /** Makes a write with its own script, after all earlier writes. `send` must pass on the place that it gets. */
  asWrite<T>(send: (place: WritePlace) => Promise<T>): Promise<T>;
  /** Runs a query with its own script, after all earlier writes. `send` must pass on the place that it gets. */
  afterWrites<T>(send: (place: WritePlace) => Promise<T>): Promise<T>;
}

/**
 * The writes of an attempt. A write counts as done once its reply arrives. A rejected write, in effect or not, blocks no
 * later one. `run` is `write.lua`, `at` its keys.
 */
export function fencedWrites(run: RunScript<string>, at: string[], fencingToken: string): FencedWrites {
  let known = 0;
  let lastSent = 0;
  let before: Promise<unknown> = Promise.resolve();
  // One after the other: on a cluster, another write could overtake a re-sent one, which would then seem to be lost.
  const afterWrites: FencedWrites['afterWrites'] = (send) => {
    const sent = before.then(() => send(`${known} ${lastSent}`));
    before = sent.catch(() => {});
    return sent;
  };
  const asWrite: FencedWrites['asWrite'] = (send) =>
    afterWrites(async () => {
      const number = lastSent + 1;
      lastSent = number;
      const reply = await send(`${known} ${number}`);
      known = number;
      return reply;
    });
  const write: FencedWrites['write'] = (step, commands, expected = []) => {
    const words = commands.flatMap((command) => [command.length, ...command]);
    const onlyChecks = step === '' && commands.length === 0;
    return (onlyChecks ? afterWrites : asWrite)(async (place) => {
      const args = [fencingToken, place, step, expected.length, ...expected.flat(), ...words];
      const written = (await run(at, args)) as Written;
      if (written === 'fenced') throw new FencedError();
      return written;
    });
  };
  return {
    write,
    asWrite,
    afterWrites,
    assertOwned: async () => {
      await write('', []);
    },
  };
}
