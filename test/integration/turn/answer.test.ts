import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { CHAT, eachWithGateway, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachWithGateway();

test('a message is answered, settled once and removed; one from an id that is not allowed gets no model call and no answer', async () => {
  world.telegram.say(666, 'let me in', { fromId: 666 });
  expect(await ask('My name is Ada')).toMatchObject({
    outcome: 'answered',
    attempts: 1,
    recoveries: 0,
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(await world.peek.exists(world.keys.lane(chatKey(CHAT)))).toBe(0);
  expect(world.telegram.calls.some(({ method }) => method === 'sendChatAction')).toBe(true);
  // Two identical messages in a row get two answers.
  for (const text of ['yes', 'yes']) world.telegram.say(CHAT, text);
  await nextOutcome(world, CHAT, 3);
  expect(shown(CHAT)).toEqual([expect.stringContaining('My name is Ada'), 'You said: yes', 'You said: yes']);
  // The conversation so far is sent with the next message.
  const [, second, third] = world.claude.calls.map(({ body }) => body.messages);
  expect([second, third].map((messages) => messages?.map(({ role }) => role).join(' '))).toEqual([
    'user assistant user',
    'user assistant user assistant user',
  ]);
  expect(JSON.stringify(second)).toContain('My name is Ada');
  expect(world.claude.calls).toHaveLength(3);
  expect(shown(666)).toEqual([]);
});

test('with 20 chats at once and one of them slow, each keeps its order and the slow one delays no other', async () => {
  const chats = Array.from({ length: 20 }, (_, index) => CHAT + index);
  const { promise: after, resolve: answerTheSlowOne } = Promise.withResolvers<void>();
  world.claude.react((call) => (call.pendingText === `${CHAT}: message 0` ? { do: 'answer', after } : undefined));
  for (let n = 0; n < 4; n++) for (const chat of chats) world.telegram.say(chat, `${chat}: message ${n}`);
  await untilSettled(world, 4 * (chats.length - 1));
  answerTheSlowOne();
  await Promise.all(chats.map((chat) => nextOutcome(world, chat, 4)));
  for (const chat of chats) {
    const calls = world.claude.calls.filter((call) => call.pendingText.startsWith(`${chat}:`));
    // A job that starves loses its lock, and asks again.
    const asked = calls.filter((call, n) => call.pendingText !== calls[n - 1]?.pendingText);
    expect(asked.map((call) => call.pendingText)).toEqual([0, 1, 2, 3].map((n) => `${chat}: message ${n}`));
    const overlapping = asked.some((call, n) => n > 0 && call.at < (asked[n - 1]?.endedAt ?? 0));
    expect(overlapping).toBe(false);
  }
  expect(world.claude.violations()).toEqual([]);
});

test('an entry that names no chat, is empty or has no readable message is a dead letter with an alert, and the next one is answered', async () => {
  for (const fields of [{ message: '{}' }, { nonsense: 'x' }])
    await world.peek.xadd(world.keys.inbound, '*', ...Object.entries(fields).flat());
  await world.telegram.waitForText(ALERT_CHAT, /cannot be read, so its sender/);
  world.telegram.openChat(CHAT);
  await world.peek.xadd(world.keys.inbound, '*', 'chat', String(CHAT), 'message', '{"v":1}', 'traceparent', '');
  const settled = await untilSettled(world, 3);
  expect(settled.map(({ outcome, reason }) => [outcome, reason])).toEqual(Array(3).fill(['failed', 'undecodable']));
  expect(await world.peek.xlen(world.keys.dead)).toBe(3);
  expect(shown(CHAT)).toEqual([expect.stringMatching(/couldn't read this message/)]);
  await world.telegram.waitForText(ALERT_CHAT, /undecodable/);
  await ask('still alive?', 2);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
});
