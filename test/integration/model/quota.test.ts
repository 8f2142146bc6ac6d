import { expect, test } from '@jest/globals';
import { eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHATS = Array.from({ length: 12 }, (_, at) => 1001 + at);

eachInWorld({ claude: { rate: { requests: 6, everyMs: 3_000 } } });

test('calls wait for room that the provider states, in order, instead of being refused', async () => {
  await start();
  world.telegram.say(1050, 'first');
  await nextOutcome(world, 1050);
  for (const chat of CHATS) world.telegram.say(chat, 'hello');
  for (const chat of CHATS) await nextOutcome(world, chat);
  expect(CHATS.map((chat) => shown(chat))).toEqual(CHATS.map(() => ['You said: hello']));
  expect(mainCalls().filter(({ status }) => status === 429)).toEqual([]);
  expect(mainCalls()).toHaveLength(CHATS.length + 1);
});
