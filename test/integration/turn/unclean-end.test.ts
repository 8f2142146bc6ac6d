import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { nameProcess } from '../../../shared/state/process/process.ts';
import { openWorkerList, type Self } from '../../../shared/state/process/workers.ts';
import { uncleanEndAlert } from '../../../worker/alerts/causes/watch.ts';
import { CHAT, eachInWorld, spawn, trouble, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

const FROZEN_MS = 5_000;
const TOLD = /A process crashed or was killed/;

eachInWorld();

function told(): string[] {
  return world.telegram.shown(ALERT_CHAT).flatMap(({ text }) => (TOLD.test(text) ? [text] : []));
}

test('the next process tells of one whose loop stood still, and of one that was killed, with what they answered; not of a clean end', async () => {
  const answer = trouble({ do: 'hang' });
  const clean = await spawn();
  const frozen = await spawn({ TEST_FROZEN_MS: String(FROZEN_MS) });
  await clean.stop();
  world.telegram.say(CHAT, 'Are you there?');
  await until('call of the model', () => world.claude.calls[0]);
  await untilRunning();
  frozen.kill('SIGUSR2');
  expect(await frozen.ended).toBe('SIGKILL');
  expect(frozen.log.find((line) => line.includes('stands still'))).toMatch(
    /"where":"standStill \(file:.*gateway-process\.ts:\d+/,
  );
  const killed = await spawn();
  await world.telegram.waitForText(ALERT_CHAT, /its event loop was blocked: standStill \(/);
  await untilRunning();
  killed.kill('SIGKILL');
  await killed.ended;
  answer();
  await spawn();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  await world.telegram.waitForText(ALERT_CHAT, new RegExp(`Process ${killed.pid} on `));
  expect(told().join()).toContain(`Process ${frozen.pid} on `);
  expect(told().join()).toContain('killed, out of memory');
  expect(told().join()).toContain(`chat ${CHAT}, entry `);
  expect(told().join()).not.toContain(`Process ${clean.pid} on `);
});

/** Waits until a process shows what it answers. */
function untilRunning(): Promise<string> {
  return until('sign of what runs', async () =>
    (await world.peek.hvals(world.keys.running)).find((runs) => runs !== '[]'),
  );
}

test('a process that is stopped for longer than that and goes on is not ended', async () => {
  const gateway = await spawn({ TEST_FROZEN_MS: String(FROZEN_MS) });
  gateway.kill('SIGSTOP');
  // Nothing but time makes it stand still for longer than the limit.
  await pause(1.5 * FROZEN_MS);
  gateway.kill('SIGCONT');
  world.telegram.say(CHAT, 'Good morning');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  await gateway.stop();
  expect(await gateway.ended).toBe('0');
});

const selfNamed = (name: string): Self => ({
  name,
  running: new Map(),
  cached: { usedBytes: 0, maxBytes: 1 },
  exportTrouble: () => '',
});

test('of other hosts, who was silent once after a suspended machine woke up is not struck off; who stays silent is, once', async () => {
  const own = openWorkerList(world.peek, selfNamed(nameProcess()), uncleanEndAlert);
  const second = openWorkerList(world.peek, selfNamed(nameProcess()), uncleanEndAlert);
  const sleeper = 'elsewhere 7 sleeper';
  const lost = 'elsewhere 8 lost';
  for (const name of [sleeper, lost]) {
    await world.peek.zadd(world.keys.workers, 1_000_000, name);
    await world.peek.hset(world.keys.running, name, '[]');
    await world.peek.hset(world.keys.cached, name, '[1,2]');
  }
  const nowMs = await own.show();
  await own.strikeEnded(nowMs);
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
  await openWorkerList(world.peek, selfNamed(sleeper), uncleanEndAlert).show();
  await second.strikeEnded(nowMs);
  await Promise.all([own.strikeEnded(nowMs), second.strikeEnded(nowMs)]);
  expect(await world.peek.xlen(world.keys.alerts)).toBe(1);
  expect(JSON.stringify(await world.peek.xrange(world.keys.alerts, '-', '+'))).toContain('Process 8 on elsewhere');
  expect(await world.peek.zscore(world.keys.workers, sleeper)).not.toBeNull();
  expect(await world.peek.hkeys(world.keys.running)).not.toContain(lost);
  expect(await world.peek.hkeys(world.keys.cached)).not.toContain(lost);
});
