import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { CHAT, eachWithGateway, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';

eachWithGateway();

test('a message is answered, settled once, acknowledged and removed', async () => {
  world.telegram.say(CHAT, 'Hello there');
  const outcome = await nextOutcome(world, CHAT);
  expect(outcome).toMatchObject({
    outcome: 'answered',
    attempts: 1,
    recoveries: 0,
    traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
  expect(shown(CHAT)).toEqual([expect.stringContaining('Hello there')]);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
  expect(await world.peek.exists(world.keys.lane(chatKey(CHAT)))).toBe(0);
  expect(world.telegram.calls.some(({ method }) => method === 'sendChatAction')).toBe(true);
});

test('two identical messages in a row get two answers', async () => {
  world.telegram.say(CHAT, 'yes');
  world.telegram.say(CHAT, 'yes');
  await nextOutcome(world, CHAT, 2);
  expect(shown(CHAT)).toHaveLength(2);
  expect(world.claude.calls).toHaveLength(2);
});

test('an update that is delivered again is answered once', async () => {
  const update = world.telegram.say(CHAT, 'only once');
  await nextOutcome(world, CHAT);
  // A new poller knows no offset, so Telegram shows it everything that it still has.
  await stopGateways();
  world.telegram.redeliver(update);
  await start();
  world.telegram.say(CHAT, 'the next one');
  // A second answer to the old update would come before the one to the new message: a chat keeps its order.
  await world.telegram.waitForText(CHAT, /the next one/);
  await nextOutcome(world, CHAT, 2);
  expect(shown(CHAT).filter((text) => text.includes('only once'))).toHaveLength(1);
  expect(await settledOutcomes(world)).toHaveLength(2);
});

test('the conversation so far is sent with the next message', async () => {
  world.telegram.say(CHAT, 'My name is Ada');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'What is my name?');
  await nextOutcome(world, CHAT, 2);
  const second = world.claude.calls[1]?.body.messages ?? [];
  expect(second.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(JSON.stringify(second)).toContain('My name is Ada');
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

test('an answer longer than a Telegram message comes in parts, in order and complete', async () => {
  const long = Array.from({ length: 400 }, (_, n) => `line ${n} of the answer`).join('\n');
  world.claude.react(() => ({ do: 'answer', text: long }));
  world.telegram.say(CHAT, 'Tell me all');
  await nextOutcome(world, CHAT);
  const parts = shown(CHAT);
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.every((part) => part.length <= 4096)).toBe(true);
  expect(parts.join('\n')).toBe(long);
});

test('a message from an id that is not allowed gets no model call and no answer', async () => {
  world.telegram.say(666, 'let me in', { fromId: 666 });
  world.telegram.say(CHAT, 'I may');
  await nextOutcome(world, CHAT);
  expect(world.claude.calls).toHaveLength(1);
  expect(shown(666)).toEqual([]);
});

test('a voice message is refused with a notice that names its kind', async () => {
  world.telegram.push({
    message: {
      message_id: 77,
      date: 1,
      chat: { id: CHAT, type: 'private' },
      from: { id: CHAT, is_bot: false },
      voice: { file_id: 'x' },
    },
  });
  world.telegram.say(CHAT, 'hello', { messageId: 78 });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'unsupported_kind' });
  expect(shown(CHAT)[0]).toMatch(/can't read this kind of message yet \(voice message\)/);
});

test('/new starts a conversation without the old one and is not sent to the model', async () => {
  world.telegram.say(CHAT, 'remember this');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, '/new');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'command', reason: 'new' });
  world.telegram.say(CHAT, 'and now');
  await nextOutcome(world, CHAT, 3);
  expect(world.claude.calls).toHaveLength(2);
  expect(JSON.stringify(world.claude.calls[1]?.body)).not.toContain('remember this');
});

test.each([
  ['names no chat', { message: '{}' }],
  ['is empty', { nonsense: 'x' }],
])('an entry that %s becomes a dead letter with an alert, and the next message is answered', async (_what, fields) => {
  await world.peek.xadd(world.keys.inbound, '*', ...Object.entries(fields).flat());
  await world.telegram.waitForText(ALERT_CHAT, /could not be read, and is kept/);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  expect(await settledOutcomes(world)).toEqual([expect.objectContaining({ outcome: 'failed', reason: 'undecodable' })]);
  world.telegram.say(CHAT, 'still alive?');
  await nextOutcome(world, CHAT);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(0);
});

test('an entry whose message cannot be decoded fails, and both the user and the operator are notified', async () => {
  world.telegram.say(CHAT, 'first');
  await nextOutcome(world, CHAT);
  await world.peek.xadd(world.keys.inbound, '*', 'chat', String(CHAT), 'message', '{"v":1}', 'traceparent', '');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'failed', reason: 'undecodable' });
  expect(shown(CHAT).at(-1)).toMatch(/couldn't read this message/);
  await world.telegram.waitForText(ALERT_CHAT, /undecodable/);
});
