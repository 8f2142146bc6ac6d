import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { compareStreamIds } from '../../../shared/redis/stream.ts';
import { readUsage, type StatedUsage } from '../../../worker/model/usage.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation, isProbe } from '../../fixture/history.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';

const OTHER = 1002;

eachInWorld();

const book = () => world.keys.spent(new Date().toISOString().slice(0, 10));
function billedTokens(stated: StatedUsage | undefined): number {
  const { inputTokens, outputTokens } = readUsage(stated);
  return inputTokens + outputTokens;
}
const spent = async (field = `chat:${CHAT}:tokens`) => Number(await world.peek.hget(book(), field));

test('a chat that used up its budget gets a notice and no model call; other chats go on', async () => {
  await start({ CHAT_DAILY_TOKENS: '20000' });
  world.telegram.say(CHAT, 'First');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  await world.peek.hincrby(book(), `chat:${CHAT}:tokens`, 19_000);
  const calls = world.claude.calls.length;
  world.telegram.say(CHAT, 'Second');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
  expect(shown(CHAT).at(-1)).toMatch(/for today is used up/);
  expect(world.claude.calls).toHaveLength(calls);
  world.telegram.say(OTHER, 'Hello');
  expect(await nextOutcome(world, OTHER)).toMatchObject({ outcome: 'answered' });
});

test('over TOTAL_DAILY_TOKENS every chat is refused, and the operator gets one alert', async () => {
  await start({ TOTAL_DAILY_TOKENS: '3000' }, { watchEveryMs: 50 });
  for (const chat of [CHAT, OTHER]) {
    world.telegram.say(chat, 'Hello');
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'refused', reason: 'over_total_budget' });
  }
  await world.telegram.waitForText(ALERT_CHAT, /\(TOTAL_DAILY_TOKENS\) is used up/);
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
  expect(world.claude.calls).toEqual([]);
});

test('a reservation is corrected to the cost of the call, for the chat and for all', async () => {
  await start({ CHAT_DAILY_TOKENS: '100000', TOTAL_DAILY_TOKENS: '100000' });
  world.telegram.say(CHAT, 'Hello');
  await nextOutcome(world, CHAT);
  const real = billedTokens(world.claude.calls[0]?.usage);
  expect(real).toBeGreaterThan(0);
  expect([await spent(), await spent('all:tokens')]).toEqual([real, real]);
});

test('a cut answer counts its input and the words that came; a 529 counts nothing', async () => {
  const words = 'and then it went on '.repeat(50);
  world.claude.react(({ index }) => {
    if (index === 0) return { do: 'cut', text: words };
    return index === 1 ? { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } : undefined;
  });
  await start({ CHAT_DAILY_TOKENS: '100000', TOTAL_DAILY_TOKENS: '100000' });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const [cut, , whole] = world.claude.calls;
  const answered = billedTokens(whole?.usage);
  const besides = (await spent()) - answered;
  expect(besides).toBeGreaterThan((cut?.inputTokens ?? 0) + 100);
  expect(besides).toBeLessThan((cut?.inputTokens ?? 0) + 1_000);
  expect(await spent('all:tokens')).toBe(besides + answered);
});

test('the calls of a recovery count towards the budget of their chat', async () => {
  let mains = 0;
  world.claude.react((call) => (call.kind === 'main' && mains++ < 2 ? { do: 'overflow' } : undefined));
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  await start({ CHAT_DAILY_TOKENS: '1000000' });
  world.telegram.say(CHAT, 'Go on, please');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  // Chats share the probe of the fixed parts, so none of them pays for it.
  const answered = world.claude.calls.filter((call) => call.status === 200 && !isProbe(call));
  const billed = answered.map(({ usage }) => billedTokens(usage));
  expect(billed.length).toBeGreaterThan(1);
  expect(await spent()).toBe(billed.reduce((sum, tokens) => sum + tokens, 0));
});

test('messages over a full lane are refused in order, with one notice', async () => {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  world.claude.react((call) => (call.index === 0 ? { do: 'answer', text: 'slow', afterMs: 1_500 } : undefined));
  await start({ LANE_MAX_MESSAGES: '3' });
  world.telegram.say(CHAT, 'one');
  await world.claude.waitForCall(() => true);
  for (const words of ['two', 'three', 'four', 'five']) world.telegram.say(CHAT, words);
  release();
  await gate;
  const outcomes = await untilSettled(world, 5);
  const inOrder = outcomes.sort((one, other) => compareStreamIds(one.entry, other.entry));
  expect(inOrder.map(({ outcome, reason }) => reason ?? outcome)).toEqual([
    'answered',
    'answered',
    'answered',
    'lane_full',
    'lane_full',
  ]);
  const notices = shown(CHAT).filter((words) => words.includes('Too many of your messages'));
  expect(notices).toEqual([expect.stringContaining("I didn't take 2 of them")]);
  world.telegram.say(CHAT, 'six');
  expect(await nextOutcome(world, CHAT, 6)).toMatchObject({ outcome: 'answered' });
});
