import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { until } from '../../fixture/root.ts';

const MAX = 5;
const SHORT = { watchEveryMs: 50, alertEveryMs: 20, alertRetryMs: 20 };

eachInWorld({ env: { DEAD_LETTERS_MAX: String(MAX) } });

/** Dead letters as `settle.lua` writes them, the first of them numbered so. */
async function fail(letters: number, from = 0): Promise<void> {
  for (let each = from; each < from + letters; each++) {
    const record = JSON.stringify({ entry: `${each}-0`, chat: `${CHAT}`, outcome: 'failed', traceId: `trace-${each}` });
    await world.peek.xadd(world.keys.dead, '*', 'entry', `${each}-0`, 'record', record, 'message', `words ${each}`);
  }
}

const left = async () => (await world.peek.xrange(world.keys.dead, '-', '+')).map(([, fields]) => fields[1]);
const dropped = async () => Number(await world.peek.hget(world.keys.counts, 'lettersDropped'));
/** Telegram's own word: a server error would be an outage, in which nobody counts tries. */
const refuse = () =>
  world.telegram.fail(
    'sendMessage',
    { status: 400, description: 'Bad Request: not enough rights to send text messages to the chat' },
    1_000,
    ({ chat_id }) => chat_id === ALERT_CHAT,
  );

test('beyond the cap the oldest letters go, counted, and none while no alert of that can be sent', async () => {
  refuse();
  await fail(MAX + 3);
  await start({}, SHORT);
  const tries = async () => Number(await world.peek.hget(world.keys.alerting, 'tries'));
  await until('three tries', async () => ((await tries()) >= 3 ? true : undefined));
  // Further checks see the full pile.
  await fail(1, MAX + 3);
  const before = await tries();
  await until('two more', async () => ((await tries()) >= before + 2 ? true : undefined));
  expect(await world.peek.xlen(world.keys.dead)).toBe(MAX + 4);
  world.telegram.heal();
  await until('the cap', async () => ((await world.peek.xlen(world.keys.dead)) === MAX ? true : undefined));
  expect(world.telegram.shown(ALERT_CHAT).some(({ text }) => text.includes('oldest are removed'))).toBe(true);
  expect(await left()).toEqual(['4-0', '5-0', '6-0', '7-0', '8-0']);
  expect(await dropped()).toBe(4);
});
