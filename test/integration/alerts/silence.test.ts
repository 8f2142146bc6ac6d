import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { eachEnds, listener } from '../../fixture/watchdog.ts';

eachEnds();
eachInWorld();

const OFTEN = { watchEveryMs: 100, alertEveryMs: 50, deadManEveryMs: 50 };
const alerts = () => world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
const alerted = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text);

/** Waits for the next heartbeat of the worker: it shows itself before each look. */
async function nextHeartbeat(): Promise<void> {
  const newest = async () => Number((await world.peek.zrange(world.keys.workers, '0', '0', 'WITHSCORES'))[1]);
  const before = await newest();
  await until('a heartbeat', async () => (await newest()) > before || undefined);
}

test('an answer that is being written is not overdue, nor is what waits behind it; one that fell silent is', async () => {
  await start({ UNANSWERED_ALERT_MS: '2000' }, { ...OFTEN, progressEveryMs: 50 });
  const silent = { do: 'silent', text: 'And then' } as const;
  const text = 'A long answer. '.repeat(200);
  world.claude.react(({ pendingText }) =>
    pendingText === 'long' ? { do: 'answer', text, everyMs: 100 } : pendingText === 'short' ? silent : undefined,
  );
  const beganMs = performance.now();
  world.telegram.say(CHAT, 'long');
  world.telegram.say(CHAT, 'short');
  await nextOutcome(world, CHAT);
  expect(performance.now() - beganMs).toBeGreaterThan(4_000);
  expect(alerts()).toEqual([]);
  await alerted(/unanswered/);
});

test('a poller whose updates cannot be stored is no sign of life: it pages and ends the pings; other chats are answered', async () => {
  const outside = await listener();
  await start({ DEADMAN_URL: outside.url }, { ...OFTEN, pollAgeMs: 12_000 });
  await until('a ping', () => outside.pings() > 0 || undefined);
  world.telegram.say(CHAT, 'fine');
  await nextOutcome(world, CHAT);
  // No command reads a list as a string.
  const ids = Array.from({ length: 20 }, (_, id) => world.keys.written(world.telegram.botId, CHAT + 1, id));
  await Promise.all(ids.map((key) => world.peek.lpush(key, 'no string')));
  world.telegram.say(CHAT + 1, 'cannot be stored');
  world.telegram.say(CHAT, 'behind it');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  await alerted(/^Messages arrive and cannot be stored, for \d+ seconds?/m);
  const before = outside.pings();
  for (let nth = 0; nth < 5; nth += 1) await nextHeartbeat();
  expect(outside.pings() - before).toBeLessThanOrEqual(1);
  await world.peek.del(...ids);
  await alerted(/^Resolved: Telegram is polled again/);
  expect(await nextOutcome(world, CHAT + 1)).toMatchObject({ outcome: 'answered' });
});
