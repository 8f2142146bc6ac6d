import { expect, test } from '@jest/globals';
import { readUsage, type StatedUsage } from '../../../worker/model/usage.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { ask } from '../../fixture/whole-chat.ts';

const OTHER = 1002;

eachInWorld();

const book = () => world.keys.spent(new Date().toISOString().slice(0, 10));
function billedTokens(stated: StatedUsage | undefined): number {
  const { inputTokens, outputTokens } = readUsage(stated);
  return inputTokens + outputTokens;
}
const spent = async (field = `chat:${CHAT}:tokens`) => Number(await world.peek.hget(book(), field));

test('a limit in tokens: what a call cost is booked, and who used it up gets a notice and no model call', async () => {
  await start({ CHAT_DAILY_TOKENS: '20000', TOTAL_DAILY_TOKENS: '100000' }, { watchEveryMs: 50 });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  const real = billedTokens(world.claude.calls[0]?.usage);
  expect(real).toBeGreaterThan(0);
  expect([await spent(), await spent('all:tokens')]).toEqual([real, real]);
  await world.peek.hincrby(book(), `chat:${CHAT}:tokens`, 19_000);
  expect(await ask('Hello', 2)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
  expect(shown(CHAT).at(-1)).toMatch(/for today is used up/);
  expect(await ask('Hello', 1, OTHER)).toMatchObject({ outcome: 'answered' });
  await world.peek.hset(book(), 'all:tokens', 100_000);
  for (const [chat, nth] of [[CHAT, 3] as const, [OTHER, 2] as const])
    expect(await ask('Hello', nth, chat)).toMatchObject({
      outcome: 'refused',
      reason: expect.stringMatching(/^over_/),
    });
  await world.telegram.waitForText(ALERT_CHAT, /\(TOTAL_DAILY_TOKENS\) is used up/);
  expect(world.claude.calls).toHaveLength(2);
});

test('a cut answer counts its input and the words that came; a 529 counts nothing', async () => {
  const words = 'and then it went on '.repeat(50);
  world.claude.react(({ index }) => {
    if (index === 0) return { do: 'cut', text: words };
    return index === 1 ? { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } : undefined;
  });
  await start({ CHAT_DAILY_TOKENS: '100000', TOTAL_DAILY_TOKENS: '100000' });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  const [cut, , whole] = world.claude.calls;
  const answered = billedTokens(whole?.usage);
  const besides = (await spent()) - answered;
  expect(besides).toBeGreaterThan((cut?.inputTokens ?? 0) + 100);
  expect(besides).toBeLessThan((cut?.inputTokens ?? 0) + 1_000);
  expect(await spent('all:tokens')).toBe(besides + answered);
});
