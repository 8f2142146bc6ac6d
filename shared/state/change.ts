import type { RedisClient } from '../redis/connection.ts';
import type { RunScript } from '../redis/script.ts';

/**
 * A change of the state: one Redis command. Only functions in `shared/state/` create changes. A fenced write (`Turn.write`)
 * or a transaction applies several changes together, in the order of the list.
 */
export type Change = readonly [name: string, ...args: (string | number)[]];

/** Applies changes in one transaction, without a fencing token. Rejects when Redis cannot be reached. */
export async function applyTogether(redis: RedisClient, changes: readonly Change[]): Promise<void> {
  const transaction = redis.multi();
  for (const [name, ...words] of changes) transaction.call(name, ...words);
  await transaction.exec();
}

/**
 * The result of a fenced write. `repeated`: the step was written before. `fenced`: another attempt took over, or Redis has
 * lost a write of this attempt. `unmet`: a condition does not hold. Only `written` means that this write applied its commands.
 */
export type Written = 'written' | 'repeated' | 'fenced' | 'unmet';

/** `<number of the last write that Redis confirmed> <number of the last write sent>`, for `fence.lua`. */
type WriteNumbers = `${number} ${number}`;

/** A condition of a write: the field of the hash has this value; an empty `value` stands for a missing field. */
export type Expected = readonly [key: string, field: string, value: string];

/** Thrown when an attempt may not write any more. The attempt must then stop without further effects. */
export class FencedError extends Error {
  override readonly name = 'FencedError';
  constructor() {
    super('another worker took this message over, or Redis has lost what this one wrote');
  }
}

/** The writes of one attempt. Each carries the attempt's fencing token and a number. */
export interface FencedWrites {
  /**
   * Applies commands atomically. A named step is written once per message, even if a later attempt calls this again; with an
   * empty step, each call writes. Contract: throws `FencedError` when another attempt owns the turn, or when Redis has lost a
   * write of this attempt. Returns `unmet`, and applies nothing, if a value is not as expected.
   */
  write(step: string, commands: readonly Change[], expected?: readonly Expected[]): Promise<Exclude<Written, 'fenced'>>;
  /** Call this just before an effect outside Redis. Contract: throws `FencedError` if the attempt does not own the turn. */
  assertOwned(): Promise<void>;
  /** Writes with a script other than `write.lua`, after all earlier writes. `send` must pass `numbers` on to the script. */
  asWrite<T>(send: (numbers: WriteNumbers) => Promise<T>): Promise<T>;
  /** Like `asWrite`, for a script that does not count as a write: the numbers stay those of the earlier writes. */
  afterWrites<T>(send: (numbers: WriteNumbers) => Promise<T>): Promise<T>;
}

/**
 * Creates the writes of an attempt. A write counts as confirmed once its reply arrives. A write that rejects may still
 * have taken effect, and does not stop later writes. `run` runs `write.lua`, and `at` lists that script's keys.
 */
export function fencedWrites(run: RunScript<string>, at: string[], fencingToken: string): FencedWrites {
  let lastConfirmed = 0;
  let lastSent = 0;
  let previous: Promise<unknown> = Promise.resolve();
  // Send one write at a time: on a cluster, a later write could overtake an earlier one that ioredis sends again.
  const afterWrites: FencedWrites['afterWrites'] = (send) => {
    const reply = previous.then(() => send(`${lastConfirmed} ${lastSent}`));
    previous = reply.catch(() => {});
    return reply;
  };
  const asWrite: FencedWrites['asWrite'] = (send) =>
    afterWrites(async () => {
      const number = lastSent + 1;
      lastSent = number;
      const reply = await send(`${lastConfirmed} ${number}`);
      lastConfirmed = number;
      return reply;
    });
  const write: FencedWrites['write'] = (step, commands, expected = []) => {
    const words = commands.flatMap((command) => [command.length, ...command]);
    const onlyChecks = step === '' && commands.length === 0;
    return (onlyChecks ? afterWrites : asWrite)(async (numbers) => {
      const args = [fencingToken, numbers, step, expected.length, ...expected.flat(), ...words];
      const result = (await run(at, args)) as Written;
      if (result === 'fenced') throw new FencedError();
      return result;
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
