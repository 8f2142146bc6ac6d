import { expect, test } from '@jest/globals';
import type { EntryId } from '../../../shared/redis/keys.ts';
import { CHAT, eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

const DEADLINE_MS = 20_000;
/** As in production: on a busy machine a turn may need more than the second that tests give it. */
const PATIENT = { TEST_LOCK_MS: '30000', TEST_DRAIN_MS: '25000' };

eachInWorld();

/** Resolves when so many attempts at an entry were seen to have begun. */
async function untilTried(entry: string, times: number): Promise<void> {
  const fences = new Set<string | null>([null]);
  await until(
    `${times} attempts`,
    async () => {
      fences.add(await world.peek.hget(world.keys.turn(entry as EntryId), 'fence'));
      return fences.size > times ? true : undefined;
    },
    DEADLINE_MS,
  );
}

test('a message of a newer version waits for a newer worker: it neither fails nor uses up attempts', async () => {
  await spawn();
  const message = JSON.stringify({ v: 4, whatever: 'a later version says' });
  const entry = String(await world.peek.xadd(world.keys.inbound, '*', 'chat', String(CHAT), 'message', message));
  await untilTried(entry, 3);
  expect(await settledOutcomes(world)).toEqual([]);
  expect(world.telegram.shown(CHAT)).toEqual([]);
  expect(Number(await world.peek.hget(world.keys.turn(entry as EntryId), 'attempts'))).toBeLessThanOrEqual(1);
});

test('deploys under load: gateways get SIGTERM while the next one starts; each message is answered once, in order', async () => {
  const chats = Array.from({ length: 8 }, (_, at) => CHAT + at);
  const rounds = 4;
  world.claude.react((call) =>
    call.kind === 'main' ? { do: 'answer', text: call.pendingText, afterMs: 150 } : undefined,
  );
  let running = await spawn(PATIENT);
  for (let round = 0; round < rounds; round++) {
    for (const chat of chats) for (const part of ['a', 'b']) world.telegram.say(chat, `${round}${part}`);
    await world.claude.waitForCall((call) => call.pendingText === `${round}a`);
    const next = spawn(PATIENT);
    running.kill('SIGTERM');
    expect(await running.ended).toBe('0');
    running = await next;
  }
  const outcomes = await untilSettled(world, chats.length * rounds * 2);
  expect(outcomes.every(({ outcome }) => outcome === 'answered')).toBe(true);
  expect(outcomes.every(({ attempts }) => attempts === 1)).toBe(true);
  const expected = Array.from({ length: rounds }, (_, round) => [`${round}a`, `${round}b`]).flat();
  for (const chat of chats) expect(world.telegram.shown(chat).map(({ text }) => text)).toEqual(expected);
  expect(world.claude.violations()).toEqual([]);
});
