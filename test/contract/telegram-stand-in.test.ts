import { expect, test } from '@jest/globals';
import { type Bot, CHAT, startBot } from '../fixture/bot-api.ts';

/** What makes the stand-in strict and rude besides its refusals: tests of the gateway would pass for nothing without it. */
const GROUP = -100_500;
const BASIC = -2001;
const STOP = { text: 'Stop', callback_data: 'stop:1' };

const ids = ({ result }: { result?: unknown }) => (result as { update_id: number }[]).map(({ update_id }) => update_id);
const poll = ({ call }: Bot, offset: number, more: object = {}) => call('getUpdates', { offset, ...more });

test('getMe returns the bot; a wrong token, an unknown method and invalid JSON are refused', async () => {
  const { telegram, call } = await startBot();
  expect((await call('getMe')).result).toMatchObject({ id: telegram.botId, is_bot: true, username: telegram.username });
  const refused = await fetch(`${telegram.url}/bot1:other/getMe`);
  expect([refused.status, await refused.json()]).toMatchObject([401, { description: 'Unauthorized' }]);
  expect(await call('sendRocket')).toMatchObject({ error_code: 404, description: 'Not Found: method not found' });
  const headers = { 'content-type': 'application/json' };
  const broken = await fetch(`${telegram.url}/bot${telegram.token}/sendMessage`, {
    method: 'POST',
    headers,
    body: '{',
  });
  expect(await broken.json()).toMatchObject({ ok: false, error_code: 400 });
});

test('a text is trimmed with its entities, of which the first 100 are kept, without links that are none', async () => {
  const { telegram, send } = await startBot();
  const mark = (type: string, offset: number, length: number, more: object = {}) => ({ type, offset, length, ...more });
  const entities = [mark('bold', 7, 5), mark('text_link', 3, 3, { url: 'docs/readme' })];
  await send('sendMessage', { chat_id: CHAT, text: '\n  one two  \n', entities });
  expect(telegram.shown(CHAT)).toMatchObject([{ text: 'one two', entities: [mark('bold', 4, 3)], edits: 0 }]);
  const many = Array.from({ length: 130 }, (_, at) => mark('code', at * 2, 1));
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'ab'.repeat(130), entities: many });
  expect(telegram.shown(CHAT)[1]?.entities).toEqual(many.slice(0, 100));
  await send('editMessageText', { chat_id: CHAT, message_id, text: 'plain' });
  expect(telegram.shown(CHAT)[1]).not.toHaveProperty('entities');
});

test('updates come again until a greater offset confirms them; a negative one forgets all but the last', async () => {
  const bot = await startBot();
  const [first = 0, second = 0, third = 0] = ['a', 'b', 'c'].map((text) => bot.telegram.say(CHAT, text));
  expect(ids(await poll(bot, 0))).toEqual([first, second, third]);
  expect(ids(await poll(bot, 0, { limit: 2 }))).toEqual([first, second]);
  expect(ids(await poll(bot, second))).toEqual([second, third]);
  expect([bot.telegram.confirmedUpTo(), bot.telegram.pending()]).toEqual([first, 2]);
  expect(ids(await poll(bot, -1))).toEqual([third]);
  bot.telegram.redeliver(first);
  expect(ids(await poll(bot, third + 1))).toEqual([first]);
  expect(ids(await poll(bot, third + 1))).toEqual([]);
  bot.telegram.push({ update_id: 17, message: { text: 'after a quiet week' } });
  expect(ids(await poll(bot, third + 1))).toEqual([17]);
});

test('a second poll ends the first with a conflict, and one whose caller left consumes nothing', async () => {
  const bot = await startBot();
  const { telegram } = bot;
  const leave = new AbortController();
  const url = `${telegram.url}/bot${telegram.token}/getUpdates?timeout=50`;
  const left = fetch(url, { signal: leave.signal }).catch(() => 'left');
  await telegram.waitForCall(({ method }) => method === 'getUpdates');
  leave.abort();
  expect(await left).toBe('left');
  await telegram.waitForCall(({ endedAt }) => endedAt !== undefined);
  const older = poll(bot, 0, { timeout: 50 });
  await telegram.waitForCall(({ endedAt, params }) => endedAt === undefined && params.offset === 0);
  const newer = poll(bot, 0, { timeout: 50 });
  expect(await older).toMatchObject({
    error_code: 409,
    description: expect.stringMatching(/^Conflict: terminated by/),
  });
  expect(ids({ result: [{ update_id: telegram.say(CHAT, 'now') }] })).toEqual(ids(await newer));
});

test('kinds that are not asked for are dropped, and "stop" must be asked for by name', async () => {
  const { telegram, call, updates } = await startBot();
  const stop = async () => {
    await call('sendMessageDraft', { chat_id: CHAT, draft_id: 7, text: 'a', can_stop: true });
    telegram.pressStop(CHAT);
    return (await updates()).map((update) => Object.keys(update)[1]);
  };
  expect(await stop()).toEqual([]);
  await updates(['stopped_message_generation']);
  telegram.say(CHAT, 'unwanted');
  expect(await stop()).toEqual(['stopped_message_generation']);
});

test('a press and a summons are answered once, and not when they are too old', async () => {
  const { telegram, call, send, updates } = await startBot();
  const text = { chat_id: CHAT, text: 'Choose' };
  const message_id = await send('sendMessage', { ...text, reply_markup: { inline_keyboard: [[STOP]] } });
  const answer = { callback_query_id: telegram.press(CHAT, message_id, 'stop:1', 5), text: '👍'.repeat(200) };
  expect((await updates())[0]?.callback_query).toMatchObject({ from: { id: 5 }, message: { message_id } });
  const oks = [await call('answerCallbackQuery', answer), await call('answerCallbackQuery', answer)];
  await send('editMessageText', { ...text, message_id, text: 'Chosen' });
  expect(() => telegram.press(CHAT, message_id, 'stop:1')).toThrow('has no button with the data "stop:1"');
  telegram.summon(5, GROUP, 'Hi');
  const [{ guest_message: message } = {}] = await updates();
  const result = { type: 'article', id: '1', title: 'Answer', input_message_content: { message_text: 'Here' } };
  const guest = { guest_query_id: message?.guest_query_id, result };
  oks.push(await call('answerGuestQuery', { ...guest, result: { ...result, title: '' } }));
  oks.push(await call('answerGuestQuery', guest), await call('answerGuestQuery', guest));
  expect(oks.map(({ ok }) => ok)).toEqual([true, false, false, true, false]);
  expect([telegram.shownAbroad(GROUP), telegram.shown(GROUP)]).toMatchObject([[{ text: 'Here' }], []]);
});

test('with floods a chat takes 5 messages in 5 seconds, a group 20 a minute, a bot 30 a second; drafts count alone', async () => {
  let now = 1_000_000;
  const { call } = await startBot({ floods: () => now });
  /** How many of so many calls go through, and how long the next one must wait. */
  const most = async (chats: number[], method = 'sendMessage', more: object = {}) => {
    for (const [at, chat_id] of chats.entries()) {
      const { error_code, parameters } = await call(method, { chat_id, text: 'a', ...more });
      if (error_code === 429) return [at, parameters?.retry_after];
    }
    return [chats.length];
  };
  expect(await most(Array(9).fill(CHAT))).toEqual([5, 5]);
  expect(await most(Array(9).fill(CHAT), 'sendMessageDraft', { draft_id: 7 })).toEqual([5, 5]);
  expect(await most(Array.from({ length: 60 }, (_, at) => at + 1))).toEqual([25, 1]);
  now += 5_000;
  for (let minute = 0; minute < 20; minute += 1) {
    expect(await most([GROUP], minute % 2 ? 'editMessageText' : 'sendMessage')).toEqual([1]);
    now += 1_000;
  }
  expect(await most([GROUP])).toEqual([0, 40]);
  const album = { media: JSON.stringify(Array(5).fill({})) };
  expect(await most([CHAT, CHAT], 'sendMediaGroup', album)).toEqual([1, 5]);
});

test('in privacy mode a group’s bot gets commands that are not for another bot, and answers to it', async () => {
  const heard = async ({ telegram, send, updates }: Bot) => {
    const name = telegram.username;
    const replyTo = await send('sendMessage', { chat_id: GROUP, text: 'Yes?' });
    const said = [
      'hello',
      `@${name} hello`,
      '/start',
      `/start@${name.toUpperCase()}`,
      '/start@other_bot',
      'see /start',
    ];
    for (const text of said) telegram.say(GROUP, text, { fromId: 5 });
    telegram.say(GROUP, 'really?', { fromId: 5, replyTo });
    return (await updates()).flatMap(({ message }) => message?.text ?? []);
  };
  const shy = await startBot();
  shy.telegram.openChat(GROUP);
  expect(await heard(shy)).toEqual(['/start', `/start@${shy.telegram.username.toUpperCase()}`, 'really?']);
  shy.telegram.setMembership(GROUP, 'administrator');
  expect(await heard(shy)).toHaveLength(7);
  const open = await startBot({ privacy: 'off' });
  open.telegram.openChat(GROUP);
  expect(await heard(open)).toHaveLength(7);
});

test.each([
  [CHAT, 'private', 'kicked', 'bot was blocked by the user'],
  [GROUP, 'supergroup', 'kicked', 'bot was kicked from the supergroup chat'],
  [GROUP, 'supergroup', 'left', 'bot is not a member of the supergroup chat'],
  [BASIC, 'group', 'kicked', 'bot was kicked from the group chat'],
] as const)(
  'where the bot is not any more (%i, %s, %s) it gets nothing and may not write',
  async (id, type, was, why) => {
    const { telegram, call, send } = await startBot({ privacy: 'off' });
    telegram.openChat(id, type);
    telegram.setMembership(id, was);
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
  const { telegram, call, send } = await startBot();
  telegram.openChat(BASIC, 'group');
  const message_id = await send('sendMessage', { chat_id: BASIC, text: 'a' });
  const to = telegram.migrate(BASIC);
  for (const method of ['sendMessage', 'editMessageText', 'sendChatAction']) {
    expect(await call(method, { chat_id: BASIC, text: 'b', message_id, action: 'typing' })).toEqual({
      ok: false,
      error_code: 400,
      description: 'Bad Request: group chat was upgraded to a supergroup chat',
      parameters: { migrate_to_chat_id: to },
    });
  }
  expect([to, await send('sendMessage', { chat_id: to, text: 'b' })]).toEqual([-1_000_000_002_001, 2]);
});
