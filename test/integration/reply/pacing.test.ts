import { expect, test } from '@jest/globals';
import { eachInWorld, mainCalls, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHATS = Array.from({ length: 60 }, (_, at) => 1001 + at);

eachInWorld({ telegram: { floods: true }, env: { WORKER_CONCURRENCY: String(CHATS.length) } });

/**
 * Everybody's next message is answered, and all answers come at once, however fast the machine. Returns how many calls
 * were refused so far.
 */
async function everybodyAsks(nth: number): Promise<number> {
  const asked = Promise.withResolvers<void>();
  const isAll = (): boolean => mainCalls().length >= nth * CHATS.length;
  world.claude.react(() => {
    if (isAll()) asked.resolve();
    return { do: 'answer', after: asked.promise };
  });
  for (const chat of CHATS) world.telegram.say(chat, 'hello');
  for (const chat of CHATS) await nextOutcome(world, chat, nth);
  return world.telegram.calls.filter(({ status }) => status === 429).length;
}

test('sixty people ask at once: all are answered, with and without pacing; with it, Telegram hardly ever refuses', async () => {
  await start({ TELEGRAM_PACING: 'true' });
  const paced = await everybodyAsks(1);
  await stopGateways();
  await start({ TELEGRAM_PACING: 'false' });
  const unpaced = await everybodyAsks(2);
  // A busy machine brings a few calls closer together than they were sent, or needs no pacing at all.
  expect(paced).toBeLessThanOrEqual(Math.max(CHATS.length / 5, (unpaced - paced) / 2));
});
