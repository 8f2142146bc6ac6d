import type { RunScript } from '../../shared/redis/script.ts';
import { type Attempt, FencedError, type Written } from './attempt.ts';

/**
 * The writes of one attempt: each goes under its fencing token and its number. `run` is `write.lua`, `at` its keys.
 * Contract: as at `Attempt`.
 */
export function fencedWrites(
  run: RunScript<string>,
  at: string[],
  fencingToken: string,
): Pick<Attempt, 'write' | 'asWrite' | 'afterWrites' | 'assertOwned'> {
  let writes = 0;
  let before: Promise<unknown> = Promise.resolve();
  // One after the other: on a cluster, another write could overtake a re-sent one, which would then seem to be lost.
  const afterWrites: Attempt['afterWrites'] = (send) => {
    const sent = before.then(() => send(writes));
    before = sent.catch(() => {});
    return sent;
  };
  const asWrite: Attempt['asWrite'] = (send) =>
    afterWrites((last) => {
      writes = last + 1;
      return send(writes);
    });
  const write: Attempt['write'] = (step, commands, expected = []) => {
    const words = commands.flatMap((command) => [command.length, ...command]);
    const onlyChecks = step === '' && commands.length === 0;
    return (onlyChecks ? afterWrites : asWrite)(async (number) => {
      const args = [fencingToken, number, step, expected.length, ...expected.flat(), ...words];
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
