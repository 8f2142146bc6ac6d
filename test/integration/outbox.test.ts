import { expect, test } from '@jest/globals';
import { chatKey } from '../../shared/redis/keys.ts';
import { CHAT, eachWithGateway, shown, world } from '../fixture/each-test.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { nextOutcome } from '../fixture/ledger.ts';

const GROUP = -2001;
const PATIENCE_MS = 30_000;

eachWithGateway({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},1,${GROUP}` } });

function calls(method: string): number {
  return world.telegram.calls.filter((call) => call.method.toLowerCase() === method.toLowerCase()).length;
}

const longAnswer = () => `${'a'.repeat(4_000)}\n\n${'b'.repeat(3_000)}`;

test('an answer is edited into its placeholder: the user sees one message', async () => {
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['You said: Hello']);
  expect([calls('sendMessage'), calls('editMessageText')]).toEqual([1, 1]);
});

test('a placeholder whose response is lost: one more is sent, and the answer is shown once', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT, 1, PATIENCE_MS)).toMatchObject({ outcome: 'answered' });
  expect(shown().filter((text) => text === 'You said: Hello')).toHaveLength(1);
  expect(shown()).toHaveLength(2);
});

test('a placeholder whose response is lost twice: the answer is still shown once', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 2);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT, 1, PATIENCE_MS)).toMatchObject({ outcome: 'answered' });
  expect(shown().filter((text) => text === 'You said: Hello')).toHaveLength(1);
});

test('an edit whose response is lost is repeated and changes nothing', async () => {
  world.telegram.fail('editMessageText', { do: 'loseReply' });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT, 1, PATIENCE_MS)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['You said: Hello']);
  expect(calls('editMessageText')).toBe(2);
});

test('a placeholder that was deleted: the answer is sent as a new message', async () => {
  world.telegram.fail('editMessageText', { status: 400, description: 'Bad Request: message to edit not found' });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toContain('You said: Hello');
});

test('a further part whose response is lost is resent once, in order', async () => {
  world.claude.react(() => ({ do: 'answer', text: longAnswer() }));
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1, ({ text }) => String(text).startsWith('b'));
  world.telegram.say(CHAT, 'Long');
  expect(await nextOutcome(world, CHAT, 1, PATIENCE_MS)).toMatchObject({ outcome: 'answered' });
  expect(shown().map((text) => text[0])).toEqual(['a', 'b', 'b']);
});

test('a further part whose two sends are cut: the operator gets one alert that it may be missing', async () => {
  world.claude.react(() => ({ do: 'answer', text: longAnswer() }));
  world.telegram.fail('sendMessage', { do: 'cut' }, 2, ({ text }) => String(text).startsWith('b'));
  world.telegram.say(CHAT, 'Long');
  const { entry } = await nextOutcome(world, CHAT, 1, PATIENCE_MS);
  expect(shown().map((text) => text[0])).toEqual(['a']);
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^A part of a reply may be missing/);
  expect(text).toContain(`Chat ${CHAT}, entry ${entry}`);
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
});

test('a 429 on the edit: the answer is shown once', async () => {
  const busy = { status: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } };
  world.telegram.fail('editMessageText', busy, 1);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT, 1, PATIENCE_MS)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['You said: Hello']);
});

test('a bot blocked by the user: undeliverable, the operator is notified, the lane goes on', async () => {
  world.telegram.fail('sendMessage', { status: 403, description: 'Forbidden: bot was blocked by the user' }, 1);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'undeliverable' });
  await world.telegram.waitForText(ALERT_CHAT, /could not be delivered/);
  world.telegram.say(CHAT, 'Again');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
});

test('a group that became a supergroup: the answer and the session go to the new chat', async () => {
  const to = -1_002_001;
  world.telegram.openChat(to);
  const upgraded = {
    status: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: to },
  };
  world.telegram.fail('sendMessage', upgraded, 1, (params) => String(params.chat_id) === String(GROUP));
  world.telegram.say(GROUP, 'Hello', { chatType: 'group' });
  const { outcome, session } = await nextOutcome(world, GROUP);
  expect(outcome).toBe('answered');
  expect(shown(to)).toEqual([expect.stringContaining('Hello')]);
  expect(await world.peek.hget(world.keys.chat(chatKey(to)), 'session')).toBe(session);
});

test('a topic that was deleted: the answer goes to the chat itself', async () => {
  world.telegram.fail('sendMessage', { status: 400, description: 'Bad Request: message thread not found' }, 1);
  world.telegram.say(GROUP, 'Hello', { chatType: 'supergroup', topicId: 7 });
  await world.telegram.waitForText(GROUP, /Hello/);
  const sent = world.telegram.calls.filter(({ method }) => method.toLowerCase() === 'sendmessage');
  expect(sent.map(({ params }) => params.message_thread_id === undefined)).toEqual([false, true]);
});
