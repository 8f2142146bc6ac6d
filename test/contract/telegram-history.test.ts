import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';

test('the history of a chat has what was said, sent, changed, pressed and deleted, each as it was then', async () => {
  const { telegram, call, send } = await startBot();
  telegram.say(CHAT, 'hello');
  const inline_keyboard = [[{ text: 'More', callback_data: 'm' }]];
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'one', reply_markup: { inline_keyboard } });
  telegram.press(CHAT, message_id, 'm');
  await call('editMessageText', { chat_id: CHAT, message_id, text: 'two' });
  await call('editMessageReplyMarkup', { chat_id: CHAT, message_id, reply_markup: { inline_keyboard } });
  await call('editMessageReplyMarkup', { chat_id: CHAT, message_id });
  await call('deleteMessage', { chat_id: CHAT, message_id });
  expect(telegram.history(CHAT)).toMatchObject([
    { kind: 'said', message: { text: 'hello' }, isHeard: true },
    { kind: 'sent', message: { messageId: message_id, text: 'one' } },
    { kind: 'pressed', label: 'More' },
    { kind: 'edited', message: { text: 'two' } },
    { kind: 'edited', message: { replyMarkup: { inline_keyboard } } },
    { kind: 'edited', message: { text: 'two' } },
    { kind: 'deleted', messageId: message_id },
  ]);
  expect(telegram.history(4711)).toEqual([]);
});

test('what privacy mode hides from the bot is in the history too; what Telegram refused is not', async () => {
  const { telegram, call } = await startBot({ privacy: 'on' });
  telegram.say(-5, 'not for you');
  await call('sendMessage', { chat_id: -5, text: '' });
  expect(telegram.history(-5)).toMatchObject([{ kind: 'said', isHeard: false }]);
});
