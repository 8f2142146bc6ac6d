import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';

const under = (...buttons: unknown[]) => ({
  chat_id: CHAT,
  text: 'Choose',
  reply_markup: { inline_keyboard: [buttons] },
});
const stop = { text: 'Stop', callback_data: 'stop:1' };

test('keeps buttons of every kind that a gateway uses, with their style', async () => {
  const { telegram, call } = await startBot();
  const buttons = [
    stop,
    { text: 'Site', url: 'https://example.org', style: 'primary' },
    { text: 'Go', callback_data: 'go', style: 'success' },
    { text: 'Done', disabled: {}, style: 'danger' },
    { text: 'Ann', url: 'tg://user?id=5' },
  ];
  const { result } = await call('sendMessage', under(...buttons));
  expect(result).toMatchObject({ reply_markup: { inline_keyboard: [buttons] } });
  expect(telegram.shown(CHAT)[0]?.replyMarkup).toEqual({ inline_keyboard: [buttons] });
});

test('of a button with two kinds the first is kept, and buttons and rows without a word are dropped', async () => {
  const { telegram, send } = await startBot();
  await send(
    'sendMessage',
    under({ text: 'a', callback_data: 'b', url: 'https://a.de', colour: 'red' }, { text: '', callback_data: 'c' }),
  );
  await send('sendMessage', under({ text: '', callback_data: 'c' }));
  expect(telegram.shown(CHAT).map(({ replyMarkup }) => replyMarkup)).toEqual([
    { inline_keyboard: [[{ text: 'a', url: 'https://a.de' }]] },
    undefined,
  ]);
});

test.each<[string, unknown, string]>([
  ['data of 65 bytes', { text: 'a', callback_data: '界'.repeat(22) }, 'BUTTON_DATA_INVALID'],
  [
    'empty data',
    { text: 'a', callback_data: '' },
    "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
  ],
  [
    'no kind at all',
    { text: 'a' },
    "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
  ],
  ['no label', { callback_data: 'a' }, 'can\'t parse inline keyboard button: Can\'t find field "text"'],
  ['a string for a button', 'a', "can't parse inline keyboard button: InlineKeyboardButton must be an Object"],
  [
    'an unknown style',
    { ...stop, style: 'pink' },
    "can't parse inline keyboard button: invalid button style specified",
  ],
  [
    'the style of a rich button',
    { ...stop, style: 'link' },
    "can't parse inline keyboard button: invalid button style specified",
  ],
  [
    'a link without a dot',
    { text: 'a', url: 'localhost' },
    "inline keyboard button URL 'localhost' is invalid: Wrong HTTP URL",
  ],
  [
    'a link of another kind',
    { text: 'a', url: 'ftp://a.de' },
    "inline keyboard button URL 'ftp://a.de' is invalid: Unsupported URL protocol",
  ],
  [
    'disabled as a flag',
    { text: 'a', disabled: true },
    'can\'t parse inline keyboard button: Field "disabled" must be of type Object',
  ],
])('refuses a button with %s', async (_, button, why) => {
  const { telegram, refusal } = await startBot();
  expect(await refusal('sendMessage', under(button))).toBe(why);
  expect(telegram.shown(CHAT)).toEqual([]);
});

test('refuses a keyboard that is no list of lists, and another one than inline for an edit', async () => {
  const { send, refusal } = await startBot();
  const text = { chat_id: CHAT, text: 'a' };
  const markup = (reply_markup: unknown) => refusal('sendMessage', { ...text, reply_markup });
  expect(await markup({ inline_keyboard: [stop] })).toContain('must be an Array of Arrays');
  expect(await markup('{')).toBe("can't parse reply keyboard markup JSON object");
  expect(await markup([])).toBe('object expected as reply markup');
  const message_id = await send('sendMessage', { ...text, reply_markup: { force_reply: true } });
  const edit = { ...text, message_id, text: 'b', reply_markup: { remove_keyboard: true } };
  expect(await refusal('editMessageText', edit)).toBe('inline keyboard expected');
});

test('takes a keyboard as JSON text, under a document too', async () => {
  const { telegram, send } = await startBot();
  const reply_markup = JSON.stringify({ inline_keyboard: [[stop]] });
  await send('sendDocument', { chat_id: CHAT, document: 'id', reply_markup });
  expect(telegram.shown(CHAT)[0]?.replyMarkup).toEqual({ inline_keyboard: [[stop]] });
});

test('before 10.3 a disabled button is refused, and before 9.4 a style is ignored', async () => {
  const v102 = await startBot({ apiVersion: '10.2' });
  expect(await v102.refusal('sendMessage', under({ text: 'a', disabled: {} }))).toContain('Text buttons are unallowed');
  const v93 = await startBot({ apiVersion: '9.3' });
  await v93.send('sendMessage', under({ ...stop, style: 'pink' }));
  expect(v93.telegram.shown(CHAT)[0]?.replyMarkup).toEqual({ inline_keyboard: [[stop]] });
});

test('a press reaches the bot with its message and data, and the answer is kept', async () => {
  const { telegram, call, send, updates } = await startBot();
  const message_id = await send('sendMessage', under(stop));
  const queryId = telegram.press(CHAT, message_id, 'stop:1', 5);
  const [update] = await updates();
  expect(update?.callback_query).toMatchObject({
    id: queryId,
    from: { id: 5 },
    message: { message_id, text: 'Choose', chat: { id: CHAT }, reply_markup: { inline_keyboard: [[stop]] } },
    data: 'stop:1',
    chat_instance: expect.any(String),
  });
  const answer = { callback_query_id: queryId, text: 'Stopped', show_alert: true };
  expect(await call('answerCallbackQuery', answer)).toMatchObject({ ok: true, result: true });
  expect(telegram.answers).toEqual([{ queryId, at: expect.any(Number), text: 'Stopped', isAlert: true }]);
});

test('a button in a rich message can be pressed', async () => {
  const { telegram, send, updates } = await startBot();
  const inline = { type: 'button', button: { text: 'b', callback_data: 'inside' } };
  const blocks = [
    { type: 'buttons', buttons: [stop] },
    { type: 'paragraph', text: ['a ', inline] },
  ];
  const message_id = await send('sendRichMessage', { chat_id: CHAT, rich_message: { blocks } });
  for (const data of ['stop:1', 'inside']) telegram.press(CHAT, message_id, data);
  expect((await updates()).map(({ callback_query }) => callback_query?.data)).toEqual(['stop:1', 'inside']);
});

test('nobody can press a button that is not there, not any more, or disabled', async () => {
  const { telegram, send } = await startBot();
  const message_id = await send('sendMessage', under(stop));
  expect(() => telegram.press(CHAT, message_id, 'go')).toThrow('has no button with the data "go"');
  expect(() => telegram.press(CHAT, message_id + 1, 'stop:1')).toThrow('has no button');
  const reply_markup = { inline_keyboard: [[{ text: 'Stop', disabled: {} }]] };
  await send('editMessageReplyMarkup', { chat_id: CHAT, message_id, reply_markup });
  expect(() => telegram.press(CHAT, message_id, 'stop:1')).toThrow('has no button');
});

test('answerCallbackQuery refuses an unknown query, an old one, a second answer, and more than 200 characters', async () => {
  const { telegram, send, call, refusal } = await startBot();
  const message_id = await send('sendMessage', under(stop));
  const tooOld = 'query is too old and response timeout expired or query ID is invalid';
  const answer = (callback_query_id: string, text?: string) => ({ callback_query_id, text });
  expect(await refusal('answerCallbackQuery', answer('5'))).toBe(tooOld);
  expect(await refusal('answerCallbackQuery')).toBe(tooOld);
  const first = telegram.press(CHAT, message_id, 'stop:1');
  expect(await refusal('answerCallbackQuery', answer(first, 'x'.repeat(201)))).toBe('MESSAGE_TOO_LONG');
  expect(await call('answerCallbackQuery', answer(first, '👍'.repeat(200)))).toMatchObject({ ok: true });
  expect(await refusal('answerCallbackQuery', answer(first))).toBe(tooOld);
  const second = telegram.press(CHAT, message_id, 'stop:1');
  telegram.expirePresses();
  expect(await refusal('answerCallbackQuery', answer(second))).toBe(tooOld);
  expect(telegram.answers).toHaveLength(1);
});

test('editMessageReplyMarkup changes and removes a keyboard, and tells whose message it is by its refusal', async () => {
  const { telegram, send, refusal } = await startBot();
  telegram.say(CHAT, 'mine', { messageId: 50 });
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'a' });
  const edit = (more: object = {}) => ({ chat_id: CHAT, message_id, ...more });
  expect(await refusal('editMessageReplyMarkup', edit())).toMatch(/^message is not modified/);
  await send('editMessageReplyMarkup', edit({ reply_markup: { inline_keyboard: [[stop]] } }));
  expect(telegram.shown(CHAT)).toMatchObject([{ text: 'a', replyMarkup: { inline_keyboard: [[stop]] }, edits: 0 }]);
  await send('editMessageReplyMarkup', edit());
  expect(telegram.shown(CHAT)[0]).not.toHaveProperty('replyMarkup');
  expect(await refusal('editMessageReplyMarkup', edit({ message_id: 50 }))).toBe("message can't be edited");
  expect(await refusal('editMessageReplyMarkup', edit({ message_id: 99 }))).toBe('message to edit not found');
  expect(await refusal('editMessageReplyMarkup', { chat_id: CHAT })).toBe('message to edit not found');
});

test('an edit of the text without a keyboard removes it', async () => {
  const { telegram, send } = await startBot();
  const message_id = await send('sendMessage', under(stop));
  await send('editMessageText', { chat_id: CHAT, message_id, text: 'Choose' });
  expect(telegram.shown(CHAT)[0]).not.toHaveProperty('replyMarkup');
});
