import { expect, test } from '@jest/globals';
import { eachInWorld, start, world } from '../fixture/each-test.ts';
import { nextOutcome } from '../fixture/ledger.ts';

const CHATS = Array.from({ length: 60 }, (_, at) => 1001 + at);

eachInWorld({ telegram: { floods: true } });

async function everybodyAsks(): Promise<number[]> {
  for (const chat of CHATS) world.telegram.say(chat, 'hello');
  for (const chat of CHATS) await nextOutcome(world, chat, 1, 30_000);
  return world.telegram.calls.flatMap(({ status }) => (status === 429 ? [status] : []));
}

test('sixty people ask at once: all are answered, and Telegram never has to say that it is too fast', async () => {
  await start({ TELEGRAM_PACING: 'true' });
  expect(await everybodyAsks()).toEqual([]);
});

test('without pacing the same people are answered as well, after refusals', async () => {
  await start();
  expect((await everybodyAsks()).length).toBeGreaterThan(0);
});
