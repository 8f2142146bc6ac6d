import { afterEach, expect, test } from '@jest/globals';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { type GatewayProcess, spawnRunning } from '../../fixture/process.ts';

/** From the kill to the next call of the model, with the settings of production. */
const AGAIN_MS_MAX = 10_000;

eachInWorld();

test('a worker that loses its lock ends its call, and the message is answered by the next attempt', async () => {
  world.claude.react(({ index }) => (index === 0 ? { do: 'hang' } : undefined));
  // Nobody takes the job before its worker has tried to renew the lock.
  await start({}, { lockMs: 1_500, stalledCheckMs: 2_000 });
  world.telegram.say(CHAT, 'Do not lose me');
  const asked = await world.claude.waitForCall(() => true);
  const [lock = ''] = await world.peek.keys(`${world.keys.queuePrefix}:*:lock`);
  await world.peek.del(lock);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(asked.aborted).toBe(true);
});

const started: GatewayProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((gateway) => gateway.stop()));
});

/** A gateway as `npm start` runs it: no limit is a test's. */
async function spawnUsual(): Promise<GatewayProcess> {
  const gateway = await spawnRunning('spillway.ts', { ...world.env, LOG_LEVEL: 'info' });
  started.push(gateway);
  return gateway;
}

test('after kill -9 in a turn, a process on another host runs the turn again within 10 s, and the next message', async () => {
  world.claude.react(() => (mainCalls().length === 1 ? { do: 'hang' } : undefined));
  const victim = await spawnUsual();
  world.telegram.say(CHAT, 'Do not lose me');
  await world.claude.waitForCall(({ kind }) => kind === 'main', 20_000);
  await spawnUsual();
  victim.kill('SIGKILL');
  const killedMs = performance.now();
  await world.claude.waitForCall(() => mainCalls().length === 2, 30_000);
  expect(performance.now() - killedMs).toBeLessThan(AGAIN_MS_MAX);
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'and the next');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['You said: Do not lose me', 'You said: and the next']);
  expect(await settledOutcomes(world)).toHaveLength(2);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
});
