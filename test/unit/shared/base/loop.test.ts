import { setImmediate as soon } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { type Rounds, runLoop } from '../../../../shared/base/loop.ts';

const HOUR_MS = 3_600_000;

/** A loop whose rounds are scripted, one after the other; it waits for an hour after the last one. */
function scripted(rounds: readonly Rounds['round'][], ports: Partial<Rounds> = {}) {
  const errors: string[] = [];
  const over = Promise.withResolvers<void>();
  let begun = 0;
  const loop = runLoop({
    name: 'loop',
    async round(signal) {
      const round = rounds[begun];
      begun += 1;
      if (round) return round(signal);
      over.resolve();
      return HOUR_MS;
    },
    retryMs: 1,
    onError: (error) => errors.push(String(error)),
    ...ports,
  });
  return { loop, errors, over: over.promise, begun: () => begun };
}

const well = async () => 0;
const fails = (message: string) => async () => {
  throw new Error(message);
};

test('rounds run one after another, and stop() ends the wait for the next round at once', async () => {
  const { loop, over, begun, errors } = scripted([well, async () => 1, well]);
  await over;
  await loop.stop();
  expect([loop.name, begun(), errors]).toEqual(['loop', 4, []]);
});

test('stop() waits for the current round and hides the error that it causes there; it may be called again', async () => {
  const events: string[] = [];
  const [round, inHand] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { loop, errors, begun } = scripted([
    async (signal) => {
      inHand.resolve();
      await round.promise;
      events.push(`round over, aborted: ${signal.aborted}`);
      throw new Error('Connection is closed.');
    },
  ]);
  await inHand.promise;
  const stops = [loop.stop(), loop.stop()].map((stop) => stop.then(() => events.push('stopped')));
  await soon();
  round.resolve();
  await Promise.all(stops);
  await loop.stop();
  expect(events).toEqual(['round over, aborted: true', 'stopped', 'stopped']);
  expect([errors, begun()]).toEqual([[], 1]);
});

test('retries a failed round, and reports each kind of error once until a round succeeds', async () => {
  const messages = ['connect 127.0.0.1:6379', 'connect 127.0.0.1:6380', 'OOM', 'connect 127.0.0.1:1'];
  const { loop, over, errors } = scripted([...messages.map(fails), well, fails('OOM'), fails('OOM')]);
  await over;
  await loop.stop();
  expect(errors).toEqual(['Error: connect 127.0.0.1:6379', 'Error: OOM', 'Error: OOM']);
});

test('waits retryMs before it retries a failed round, and stop() ends that wait', async () => {
  const told = Promise.withResolvers<void>();
  const { loop, begun } = scripted([fails('x'), well], { retryMs: HOUR_MS, onError: () => told.resolve() });
  await told.promise;
  await soon();
  await loop.stop();
  expect(begun()).toBe(1);
});

test('a loop that is stopped before its first round runs no round', async () => {
  const { loop, begun } = scripted([well], { firstAfterMs: HOUR_MS });
  await soon();
  await loop.stop();
  expect(begun()).toBe(0);
});
