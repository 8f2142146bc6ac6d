import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

/** What expires does so at a time of Redis' clock: after a step back by an hour, an hour later. */
const HOUR_MS = 3_600_000;

test('after a step back of the clock the reconciler goes on, and who waited for it is answered', async () => {
  await start({}, { reconcileEveryMs: 300 });
  await world.peek.hset(world.keys.paused, String(CHAT), '{}');
  world.telegram.say(CHAT, 'hello');
  const lane = world.keys.lane(chatKey(CHAT));
  await until('a message that waits', async () => (await world.peek.llen(lane)) > 0 || undefined);
  await until('a step', async () => (await world.peek.pexpire(world.keys.pass, HOUR_MS)) === 1 || undefined);
  await world.peek.hdel(world.keys.paused, String(CHAT));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('a Telegram that was away when the clock stepped back is asked whether it is there, whoever was to ask', async () => {
  const aheadMs = Date.now() + HOUR_MS;
  const away = { awaySinceMs: aheadMs, untilMs: aheadMs, why: 'timeout' };
  await world.peek.hset(world.keys.telegram, { ...away, prober: 'another', proberUntilMs: aheadMs });
  await start();
  world.telegram.say(CHAT, 'hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('alerts go out although who was to send them was killed before the clock stepped back', async () => {
  await world.peek.set(world.keys.alertingLock, 'another', 'PX', HOUR_MS);
  await start({}, { alertEveryMs: 50, alertTakeOverMs: 500 });
  const alert = { cause: 'failed', text: 'A message failed.' };
  await world.peek.xadd(world.keys.alerts, '*', 'alert', JSON.stringify(alert));
  await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
});
