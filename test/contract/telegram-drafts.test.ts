import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';
import { until } from '../fixture/root.ts';

const STOPPED = 'stopped_message_generation';
const draft = (text: string, more: object = {}) => ({ chat_id: CHAT, draft_id: 7, text, ...more });
const paragraph = (text: string) => ({ blocks: [{ type: 'paragraph', text }] });

test('every state of a draft is kept, and the newest is shown', async () => {
  const { telegram, call } = await startBot();
  const entities = [{ type: 'bold', offset: 0, length: 1 }];
  await call('sendMessageDraft', draft('so'));
  await call('sendMessageDraft', draft(' so far ', { entities: [{ type: 'bold', offset: 1, length: 1 }] }));
  expect(telegram.drafts(CHAT)).toEqual([
    {
      draftId: 7,
      at: expect.any(Number),
      text: 'so',
      canStop: false,
      keepOnStop: false,
      endedAt: expect.any(Number),
      endedBy: 'change',
    },
    { draftId: 7, at: expect.any(Number), text: 'so far', entities, canStop: false, keepOnStop: false },
  ]);
  expect(telegram.draft(CHAT)).toMatchObject({ text: 'so far' });
  expect(telegram.shown(CHAT)).toEqual([]);
});

test('an empty draft says that the bot thinks', async () => {
  const { telegram, call } = await startBot();
  await call('sendMessageDraft', draft(''));
  await call('sendMessageDraft', { chat_id: CHAT, draft_id: 7 });
  expect(telegram.drafts(CHAT).map(({ text }) => text)).toEqual(['Thinking…', 'Thinking…']);
});

test.each<[string, object, string]>([
  ['of a group', { chat_id: -5 }, 'TEXTDRAFT_PEER_INVALID'],
  ['with the id 0', { draft_id: 0 }, 'RANDOM_ID_INVALID'],
  ['without an id', { draft_id: undefined }, 'RANDOM_ID_INVALID'],
  ['whose id is a text', { draft_id: '7' }, 'RANDOM_ID_INVALID'],
  ['of an unknown chat', { chat_id: 5 }, 'chat not found'],
  ['in an unknown topic', { message_thread_id: 3 }, 'message thread not found'],
])('refuses a draft %s, plain or rich', async (_, params, why) => {
  const { telegram, refusal } = await startBot();
  telegram.openChat(-5);
  expect(await refusal('sendMessageDraft', draft('a', params))).toBe(why);
  const rich = { chat_id: CHAT, draft_id: 7, rich_message: paragraph('a'), ...params };
  expect(await refusal('sendRichMessageDraft', rich)).toBe(why);
  expect(telegram.drafts(CHAT)).toEqual([]);
});

test('refuses a draft of more than 4,096 UTF-16 units, and one with entities outside of its text', async () => {
  const { refusal, call } = await startBot();
  expect(await call('sendMessageDraft', draft('👍'.repeat(2_048)))).toMatchObject({ ok: true });
  expect(await refusal('sendMessageDraft', draft(`${'👍'.repeat(2_048)}x`))).toBe('message is too long');
  const entities = [{ type: 'bold', offset: 0, length: 9 }];
  expect(await refusal('sendMessageDraft', draft('a', { entities }))).toContain('ends after the end of the text');
});

test('a rich draft may think, and has the limits of a rich message', async () => {
  const { telegram, call, refusal } = await startBot();
  const rich = (rich_message: object) => ({ chat_id: CHAT, draft_id: 7, rich_message });
  const thinking = { blocks: [{ type: 'thinking', text: 'Searching…' }] };
  expect(await call('sendRichMessageDraft', rich(thinking))).toMatchObject({ ok: true, result: true });
  expect(telegram.draft(CHAT)).toMatchObject({ text: 'Searching…', rich: thinking.blocks });
  expect(await refusal('sendRichMessageDraft', rich(paragraph('x'.repeat(32_769))))).toBe('RICH_MESSAGE_TEXT_TOO_LONG');
  expect(await refusal('sendRichMessageDraft', rich({ blocks: [] }))).toBe('RICH_MESSAGE_EMPTY');
});

test('a draft disappears when a message of the bot arrives in its chat, and with its time', async () => {
  const { telegram, call, send } = await startBot({ draftLifeMs: 200 });
  await call('sendMessageDraft', draft('a'));
  await send('sendMessage', { chat_id: CHAT, text: 'Searching' });
  expect(telegram.draft(CHAT)).toBeUndefined();
  await call('sendMessageDraft', draft('b'));
  expect(telegram.draft(CHAT)).toMatchObject({ text: 'b' });
  await until('end of the draft', () => (telegram.draft(CHAT) === undefined ? true : undefined));
  const [first, second] = telegram.drafts(CHAT);
  expect([first?.endedBy, second?.endedBy]).toEqual(['message', 'time']);
  expect((second?.endedAt ?? 0) - (second?.at ?? 0)).toBe(200);
});

test('a user or another chat does not dismiss a draft, and an edit does not either', async () => {
  const { telegram, call, send } = await startBot();
  telegram.openChat(1002);
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'a' });
  await call('sendMessageDraft', draft('b'));
  telegram.say(CHAT, 'And?');
  await send('sendMessage', { chat_id: 1002, text: 'a' });
  await send('editMessageText', { chat_id: CHAT, message_id, text: 'c' });
  expect(telegram.draft(CHAT)).toMatchObject({ text: 'b' });
});

test('each topic has a draft of its own, and a message in one dismisses that one', async () => {
  const { telegram, call, send } = await startBot();
  telegram.say(CHAT, 'one', { topicId: 3 });
  telegram.say(CHAT, 'two', { topicId: 4 });
  for (const message_thread_id of [3, 4]) await call('sendMessageDraft', draft('a', { message_thread_id }));
  await send('sendMessage', { chat_id: CHAT, text: 'a', message_thread_id: 3 });
  expect(telegram.draft(CHAT, 3)).toBeUndefined();
  expect(telegram.draft(CHAT, 4)).toMatchObject({ text: 'a', topicId: 4 });
});

test('a press of "stop" tells the bot which draft, and takes it away unless it is to stay', async () => {
  const { telegram, call, updates } = await startBot();
  await updates([STOPPED]);
  await call('sendMessageDraft', draft('a', { can_stop: true }));
  telegram.pressStop(CHAT);
  expect(telegram.draft(CHAT)).toBeUndefined();
  telegram.say(CHAT, 'in a topic', { topicId: 3 });
  await call('sendMessageDraft', draft('b', { can_stop: true, keep_on_stop: true, message_thread_id: 3 }));
  telegram.pressStop(CHAT, 3);
  expect(telegram.draft(CHAT, 3)).toMatchObject({ text: 'b', canStop: false });
  const chat = { id: CHAT, type: 'private' };
  expect(await updates()).toMatchObject([
    { [STOPPED]: { chat, draft_id: 7 } },
    { [STOPPED]: { chat, draft_id: 7, message_thread_id: 3 } },
  ]);
});

test('nobody can stop a draft without the button, one that was stopped, or one that is gone', async () => {
  const { telegram, call, send, updates } = await startBot();
  await updates([STOPPED]);
  await call('sendMessageDraft', draft('a'));
  expect(telegram.pressStop(CHAT)).toBe(0);
  await call('sendMessageDraft', draft('a', { can_stop: true, keep_on_stop: true }));
  expect(telegram.pressStop(CHAT)).toBeGreaterThan(0);
  expect(telegram.pressStop(CHAT)).toBe(0);
  await call('sendMessageDraft', draft('a', { can_stop: true }));
  await send('sendMessage', { chat_id: CHAT, text: 'a' });
  expect(telegram.pressStop(CHAT)).toBe(0);
  expect(await updates()).toHaveLength(1);
});

test('a press of "stop" does not reach a bot that has not asked for it by name', async () => {
  const { telegram, call, updates } = await startBot();
  for (const kinds of [undefined, [], ['message', 'callback_query']]) {
    await updates(kinds);
    await call('sendMessageDraft', draft('a', { can_stop: true }));
    telegram.pressStop(CHAT);
    expect(await updates()).toEqual([]);
  }
});

test('before 10.3 a draft has no button, before 10.0 it needs a text, before 9.5 a topic, before 9.3 there is none', async () => {
  const [v102, v95, v94, v92] = await Promise.all(
    ['10.2', '9.5', '9.4', '9.2'].map((apiVersion) => startBot({ apiVersion })),
  );
  await v102?.call('sendMessageDraft', draft('a', { can_stop: true }));
  expect(v102?.telegram.draft(CHAT)).toMatchObject({ canStop: false });
  expect(await v95?.refusal('sendMessageDraft', draft(''))).toBe('text must be non-empty');
  expect(await v95?.call('sendMessageDraft', draft('a'))).toMatchObject({ ok: true });
  expect(await v94?.refusal('sendMessageDraft', draft('a'))).toBe('TEXTDRAFT_PEER_INVALID');
  expect(await v92?.call('sendMessageDraft', draft('a'))).toMatchObject({ error_code: 404 });
});
