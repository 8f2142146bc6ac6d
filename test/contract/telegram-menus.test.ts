import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';

const help = [{ command: 'help', description: 'Show what I can do' }];
const hilfe = [{ command: 'help', description: 'Sagen, was ich kann' }];

test('menus are kept for each scope and language, and an empty one is none', async () => {
  const { telegram, call } = await startBot();
  const scope = { type: 'all_private_chats' };
  await call('setMyCommands', { commands: help });
  await call('setMyCommands', { commands: hilfe, scope, language_code: 'de' });
  await call('setMyCommands', {
    commands: JSON.stringify(help),
    scope: JSON.stringify({ type: 'chat', chat_id: CHAT }),
  });
  expect(telegram.menus()).toEqual({ 'default/': help, 'all_private_chats/de': hilfe, [`chat:${CHAT}/`]: help });
  await call('setMyCommands', { commands: [] });
  expect(telegram.menus()).toEqual({ 'all_private_chats/de': hilfe, [`chat:${CHAT}/`]: help });
});

test('a slash and white space around a command are dropped', async () => {
  const { telegram, call } = await startBot();
  await call('setMyCommands', { commands: [{ command: '/help ', description: ' Help ' }] });
  expect(telegram.menus()).toEqual({ 'default/': [{ command: 'help', description: 'Help' }] });
});

test.each<[object, string]>([
  [{ commands: help, scope: { type: 'everybody' } }, "can't parse BotCommandScope: Unsupported type specified"],
  [{ commands: help, scope: {} }, 'can\'t parse BotCommandScope: Can\'t find field "type"'],
  [{ commands: help, scope: { type: 'chat' } }, 'can\'t parse BotCommandScope: Can\'t find field "chat_id"'],
  [{ commands: help, scope: { type: 'chat', chat_id: 5 } }, 'chat not found'],
  [{ commands: help, language_code: 'zh-hant' }, 'invalid language code specified'],
  [{ commands: help, language_code: 'DE' }, 'invalid language code specified'],
  [{ commands: {} }, 'expected an Array of BotCommand'],
  [{ commands: [{ command: 'a' }] }, 'can\'t parse BotCommand: Can\'t find field "description"'],
  [{ commands: [{ command: '', description: 'a' }] }, 'command must be non-empty'],
  [{ commands: [{ command: 'a'.repeat(33), description: 'a' }] }, 'command length must not exceed 32'],
  [{ commands: [{ command: 'a', description: 'a'.repeat(257) }] }, 'command description length must not exceed 256'],
  [
    { commands: Array.from({ length: 101 }, (_, at) => ({ command: `a${at}`, description: 'a' })) },
    'BOT_COMMANDS_TOO_MUCH',
  ],
])('refuses the menu %j', async (params, why) => {
  const { telegram, refusal } = await startBot();
  expect(await refusal('setMyCommands', params)).toBe(why);
  expect(telegram.menus()).toEqual({});
});
