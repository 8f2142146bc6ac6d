import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';

const GROUP = -100_500;
const BASIC = -2001;
const NAME = 'spillway_stand_in_bot';

/** The texts that reach a bot of what is said in a group. */
async function reaching(bot: Awaited<ReturnType<typeof startBot>>, texts: readonly string[]): Promise<unknown[]> {
  for (const text of texts) bot.telegram.say(GROUP, text, { fromId: 5 });
  return (await bot.updates()).map(({ message }) => message?.text);
}

const SAID = [
  'hello',
  `@${NAME} hello`,
  '/start',
  `/start@${NAME} now`,
  `/start@${NAME.toUpperCase()}`,
  '/start@other_bot',
  'see /start',
];
const COMMANDS = ['/start', `/start@${NAME} now`, `/start@${NAME.toUpperCase()}`];

test("in privacy mode a group's bot gets commands that are not for another bot, and no mention of it", async () => {
  const bot = await startBot();
  expect(await reaching(bot, SAID)).toEqual(COMMANDS);
  expect((await bot.call('getMe')).result).toMatchObject({ username: NAME, can_read_all_group_messages: false });
});

test('a bot without privacy mode gets all of a group', async () => {
  const bot = await startBot({ privacy: 'off' });
  expect(await reaching(bot, SAID)).toEqual(SAID);
  expect((await bot.call('getMe')).result).toMatchObject({ can_read_all_group_messages: true });
});

test('an administrator gets all of a group, in privacy mode too', async () => {
  const bot = await startBot();
  bot.telegram.setMembership(GROUP, 'administrator');
  await bot.updates();
  expect(await reaching(bot, SAID)).toEqual(SAID);
});

test('say answers 0 for a message that does not reach the bot, and the chat knows the message all the same', async () => {
  const { telegram, send } = await startBot();
  expect(telegram.say(GROUP, 'hello', { messageId: 8 })).toBe(0);
  await send('sendMessage', { chat_id: GROUP, text: 'a', reply_parameters: { message_id: 8 } });
  expect(telegram.shown(GROUP)).toMatchObject([{ replyTo: 8 }]);
});

test('in privacy mode an answer to the bot, or to what was meant for it, reaches it', async () => {
  const { telegram, send, updates } = await startBot();
  telegram.say(GROUP, '/ask why', { messageId: 1 });
  const replyTo = await send('sendMessage', { chat_id: GROUP, text: 'Because.' });
  telegram.say(GROUP, 'really?', { replyTo });
  telegram.say(GROUP, 'and this', { replyTo: 1, messageId: 20 });
  telegram.say(GROUP, 'and that', { replyTo: 20 });
  telegram.say(GROUP, 'beside', { messageId: 30 });
  telegram.say(GROUP, 'to somebody', { replyTo: 30 });
  const texts = (await updates()).map(({ message }) => message?.text);
  expect(texts).toEqual(['/ask why', 'really?', 'and this', 'and that']);
});

test('in privacy mode a command in a caption and a service message reach the bot, an edit of a plain message does not', async () => {
  const { telegram, updates } = await startBot();
  telegram.say(GROUP, '', { extra: { photo: [], caption: '/see this' } });
  telegram.say(GROUP, '', { extra: { photo: [], caption: `@${NAME} see` } });
  telegram.say(GROUP, '', { extra: { new_chat_title: 'New' } });
  telegram.say(GROUP, 'plain', { messageId: 50 });
  telegram.edit(GROUP, 50, 'changed');
  telegram.edit(GROUP, 50, '/changed');
  const [caption, title, edit, ...others] = await updates();
  expect([caption?.message?.caption, title?.message?.new_chat_title]).toEqual(['/see this', 'New']);
  expect([edit?.edited_message?.text, others]).toEqual(['/changed', []]);
});

test('privacy mode is about groups: a private chat and a channel reach the bot whole', async () => {
  const { telegram, updates } = await startBot();
  telegram.say(CHAT, 'private');
  telegram.say(-300, 'post', { chatType: 'channel' });
  const [said, post] = await updates();
  expect(said?.message).toMatchObject({ text: 'private' });
  expect(post?.channel_post).toMatchObject({ text: 'post', sender_chat: { id: -300, type: 'channel' } });
  expect(post?.channel_post).not.toHaveProperty('from');
});

test('mentions and commands are marked, in captions too, and not inside of words', async () => {
  const { telegram, updates } = await startBot({ privacy: 'off' });
  telegram.say(GROUP, `hi @${NAME}, mail me@example.org or /help`);
  telegram.say(GROUP, '', { extra: { photo: [], caption: `@${NAME}` } });
  telegram.say(GROUP, 'ask Ann Lee', { textMention: { words: 'Ann Lee', user: { id: 9 } } });
  const [text, caption, named] = (await updates()).map(({ message }) => message);
  expect(text?.entities).toEqual([
    { type: 'mention', offset: 3, length: NAME.length + 1 },
    { type: 'bot_command', offset: NAME.length + 29, length: 5 },
  ]);
  expect(caption?.caption_entities).toEqual([{ type: 'mention', offset: 0, length: NAME.length + 1 }]);
  expect(named?.entities).toEqual([
    { type: 'text_mention', offset: 4, length: 7, user: { id: 9, is_bot: false, first_name: 'Ann Lee' } },
  ]);
});

test('nothing is marked inside of code', async () => {
  const { telegram, updates } = await startBot({ privacy: 'off' });
  const code = { type: 'code', offset: 5, length: 5 };
  telegram.say(GROUP, '/ask /stop, /help', { extra: { entities: [code] } });
  const command = (offset: number, length: number) => ({ type: 'bot_command', offset, length });
  expect((await updates())[0]?.message?.entities).toEqual([command(0, 4), code, command(12, 5)]);
});

test('an anonymous administrator and a channel speak through accounts that stand for all of them', async () => {
  const { telegram, updates } = await startBot({ privacy: 'off' });
  telegram.say(GROUP, 'a', { senderChat: 'group' });
  telegram.say(GROUP, 'b', { senderChat: { id: -77, title: 'News' } });
  const [anonymous, channel] = (await updates()).map(({ message }) => message);
  expect(anonymous).toMatchObject({
    from: { username: 'GroupAnonymousBot', is_bot: true },
    sender_chat: { id: GROUP },
  });
  expect(channel).toMatchObject({
    from: { username: 'Channel_Bot' },
    sender_chat: { id: -77, type: 'channel', title: 'News' },
  });
});

test('the general topic has no number in messages, and cannot be named to send there, only to show that one types', async () => {
  const { telegram, updates, send, call, refusal } = await startBot({ privacy: 'off' });
  telegram.say(GROUP, 'general', { topicId: 1 });
  telegram.say(GROUP, 'topic', { topicId: 3 });
  const [general, topic] = (await updates()).map(({ message }) => message);
  expect(general).toMatchObject({ chat: { is_forum: true } });
  expect(general).not.toHaveProperty('message_thread_id');
  expect(topic).toMatchObject({ message_thread_id: 3, is_topic_message: true });
  const to = (message_thread_id: number) => ({ chat_id: GROUP, text: 'a', message_thread_id });
  for (const id of [1, 4]) expect(await refusal('sendMessage', to(id))).toBe('message thread not found');
  await send('sendMessage', to(3));
  await send('sendMessage', { chat_id: GROUP, text: 'b' });
  expect(telegram.shown(GROUP).map(({ topicId }) => topicId)).toEqual([3, undefined]);
  expect(await call('sendChatAction', { ...to(1), action: 'typing' })).toMatchObject({ ok: true });
  expect(await refusal('sendChatAction', { ...to(4), action: 'typing' })).toBe('message thread not found');
});

test('what is said in a topic answers the message that opened it, unless it answers another one', async () => {
  const { telegram, updates } = await startBot({ privacy: 'off' });
  telegram.say(GROUP, 'a', { topicId: 3, messageId: 10 });
  telegram.say(GROUP, 'b', { topicId: 3, replyTo: 10 });
  const [first, second] = (await updates()).map(({ message }) => message);
  expect(first?.reply_to_message).toMatchObject({ message_id: 3, forum_topic_created: { name: 'Topic 3' } });
  expect(second?.reply_to_message).toMatchObject({ message_id: 10, text: 'a' });
  expect(second?.reply_to_message).not.toHaveProperty('reply_to_message');
});

test('a deleted topic is refused, and a group without topics ignores their numbers', async () => {
  const { telegram, send, refusal } = await startBot();
  telegram.say(GROUP, 'a', { topicId: 3 });
  telegram.deleteTopic(GROUP, 3);
  expect(await refusal('sendMessage', { chat_id: GROUP, text: 'a', message_thread_id: 3 })).toBe(
    'message thread not found',
  );
  telegram.openChat(-9);
  await send('sendMessage', { chat_id: -9, text: 'a', message_thread_id: 3 });
  expect(telegram.shown(-9)[0]).not.toHaveProperty('topicId');
});

test('the bot is told when it is added, promoted, removed or blocked', async () => {
  const { telegram, updates } = await startBot();
  telegram.setMembership(GROUP, 'administrator', 5);
  telegram.setMembership(CHAT, 'kicked');
  const [promoted, blocked] = (await updates()).map(({ my_chat_member }) => my_chat_member);
  expect(promoted).toMatchObject({
    chat: { id: GROUP },
    from: { id: 5 },
    date: expect.any(Number),
    old_chat_member: { user: { id: telegram.botId }, status: 'member' },
    new_chat_member: { user: { id: telegram.botId }, status: 'administrator' },
  });
  expect(blocked).toMatchObject({ from: { id: CHAT }, new_chat_member: { status: 'kicked', until_date: 0 } });
});

test.each([
  [CHAT, 'private', 'kicked', 'bot was blocked by the user'],
  [GROUP, 'supergroup', 'kicked', 'bot was kicked from the supergroup chat'],
  [GROUP, 'supergroup', 'left', 'bot is not a member of the supergroup chat'],
  [BASIC, 'group', 'kicked', 'bot was kicked from the group chat'],
] as const)(
  'where the bot is not any more (%i, %s, %s) it gets nothing and may not write',
  async (id, type, membership, why) => {
    const { telegram, call, updates, send } = await startBot({ privacy: 'off' });
    telegram.openChat(id, type);
    telegram.setMembership(id, membership);
    await updates();
    expect(telegram.say(id, 'hello')).toBe(0);
    for (const method of ['sendMessage', 'sendChatAction']) {
      const answer = await call(method, { chat_id: id, text: 'a', action: 'typing' });
      expect(answer).toEqual({ ok: false, error_code: 403, description: `Forbidden: ${why}` });
    }
    telegram.setMembership(id, 'member');
    await send('sendMessage', { chat_id: id, text: 'again' });
  },
);

test('a group that becomes a supergroup takes nothing more, and says where it went', async () => {
  const { telegram, call, updates, send } = await startBot();
  telegram.openChat(BASIC, 'group');
  const message_id = await send('sendMessage', { chat_id: BASIC, text: 'a' });
  const to = telegram.migrate(BASIC);
  expect(to).toBe(-1_000_000_002_001);
  const [left, arrived] = (await updates()).map(({ message }) => message);
  expect(left).toMatchObject({ chat: { id: BASIC, type: 'group' }, migrate_to_chat_id: to });
  expect(arrived).toMatchObject({ message_id: 1, chat: { id: to, type: 'supergroup' }, migrate_from_chat_id: BASIC });
  for (const [method, params] of [
    ['sendMessage', { text: 'b' }],
    ['editMessageText', { text: 'b', message_id }],
    ['sendChatAction', { action: 'typing' }],
  ] as const) {
    expect(await call(method, { chat_id: BASIC, ...params })).toEqual({
      ok: false,
      error_code: 400,
      description: 'Bad Request: group chat was upgraded to a supergroup chat',
      parameters: { migrate_to_chat_id: to },
    });
  }
  expect(await send('sendMessage', { chat_id: to, text: 'b' })).toBe(2);
  expect(() => telegram.migrate(to)).toThrow('is no group');
});
