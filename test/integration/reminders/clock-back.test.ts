import { expect, test } from '@jest/globals';
import { untilWaiting } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

/** What expires does so at a time of Redis' clock: after a step back by an hour, an hour later. */
const HOUR_MS = 3_600_000;

test('after a step back of the clock everything goes on: the reconciler, a Telegram that was away, and alerts', async () => {
  const aheadMs = Date.now() + HOUR_MS;
  const away = { awaySinceMs: aheadMs, untilMs: aheadMs, why: 'timeout' };
  await world.peek.hset(world.keys.telegram, { ...away, prober: 'another', proberUntilMs: aheadMs });
  // Who was to send alerts was killed before the step.
  await world.peek.set(world.keys.alertingLock, 'another', 'PX', HOUR_MS);
  await start({}, { reconcileEveryMs: 300, alertEveryMs: 50, alertTakeOverMs: 500 });
  world.telegram.say(CHAT, 'hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const alert = { cause: 'failed', text: 'A message failed.' };
  await world.peek.xadd(world.keys.alerts, '*', 'alert', JSON.stringify(alert));
  await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
  await world.peek.hset(world.keys.paused, String(CHAT), '{}');
  world.telegram.say(CHAT, 'hello again');
  await untilWaiting(1);
  await until('a step', async () => (await world.peek.pexpire(world.keys.pass, HOUR_MS)) === 1 || undefined);
  await world.peek.hdel(world.keys.paused, String(CHAT));
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
});
