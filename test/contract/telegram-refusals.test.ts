import { expect, test } from '@jest/globals';
import { type Answer, type Bot, CHAT, startBot } from '../fixture/bot-api.ts';
import { blankPng } from '../fixture/files.ts';

/** What the stand-in refuses, in the words of the Bot API server: whatever a gateway might send by mistake. */
const GROUP = -100_500;
const MB = 1024 * 1024;
const PNG = blankPng(80, 60);

/** A bot with a chat, a group with the topic 3, a message of a user (50), and one of its own (the id that is given back). */
async function startKnown(): Promise<Bot & { own: number }> {
  const bot = await startBot();
  bot.telegram.say(CHAT, 'mine', { messageId: 50 });
  bot.telegram.say(GROUP, 'hello', { topicId: 3, messageId: 8 });
  return { ...bot, own: await bot.send('sendMessage', { chat_id: CHAT, text: 'own' }) };
}

/** Refuses what `params` send, and shows nothing of it. */
async function expectRefusal(method: string, params: object, why: string): Promise<void> {
  const { telegram, refusal, own } = await startKnown();
  const before = structuredClone(telegram.shown(CHAT));
  expect(await refusal(method, { chat_id: CHAT, message_id: own, ...params })).toContain(why);
  expect(telegram.shown(CHAT)).toEqual(before);
  expect(telegram.calls.at(-1)).toMatchObject({ ok: false, status: 400 });
}

const entity = (type: string, offset: number, length: number, more: object = {}) => {
  return { text: 'ab👍', entities: [{ type, offset, length, ...more }] };
};
const under = (button: unknown) => ({ text: 'a', reply_markup: { inline_keyboard: [[button]] } });
const menu = (command: string, description = 'a', more: object = {}) => {
  return { commands: [{ command, description }], ...more };
};

test.each<[method: string, params: object, why: string]>([
  ['sendMessage', { text: '' }, 'message text is empty'],
  ['sendMessage', { text: ' \n ' }, 'text must be non-empty'],
  ['sendMessage', { text: 'x'.repeat(4_097) }, 'message is too long'],
  ['sendMessage', { text: `${'👍'.repeat(2_048)}!` }, 'message is too long'],
  ['sendMessage', { text: '\ud83d' }, 'strings must be encoded in UTF-8'],
  ['sendMessage', { text: 'a', chat_id: 5 }, 'chat not found'],
  ['sendMessage', { text: 'a', chat_id: GROUP, message_thread_id: 4 }, 'message thread not found'],
  ['sendMessage', { text: 'a', reply_parameters: { message_id: 5 } }, 'message to be replied not found'],
  ['sendMessage', entity('bold', 2, 3), 'entity beginning at UTF-16 offset 2 ends after the end of the text'],
  ['sendMessage', entity('bold', 9, 1), 'entity begins after the end of the text at UTF-16 offset 9'],
  ['sendMessage', entity('bold', 3, 1), 'in a middle of a UTF-16 symbol'],
  ['sendMessage', entity('bold', 0, 3), 'in a middle of a UTF-16 symbol'],
  ['sendMessage', entity('bold', -1, 3), 'receive an entity with incorrect offset -1'],
  ['sendMessage', entity('shouting', 0, 1), "can't parse MessageEntity: Unsupported type specified"],
  ['sendMessage', entity('text_link', 0, 1), 'can\'t parse MessageEntity: Can\'t find field "url"'],
  ['sendMessage', entity('bold', 0.5, 1), 'can\'t parse MessageEntity: Field "offset" must be of type Number'],
  ['sendMessage', { text: 'a', entities: ['bold'] }, "can't parse MessageEntity: Unsupported type specified"],
  ['sendMessage', entity('date_time', 0, 1, { unix_time: 1, date_time_format: 'x' }), 'Invalid date-time format'],
  ['sendMessage', entity('text_link', 0, 1, { url: `https://a.de/${'x'.repeat(9_500)}` }), 'ENTITIES_TOO_LONG'],
  ['sendMessage', under({ text: 'a', callback_data: '界'.repeat(22) }), 'BUTTON_DATA_INVALID'],
  ['sendMessage', under({ text: 'a', callback_data: '' }), 'Text buttons are unallowed in the inline keyboard'],
  ['sendMessage', under({ callback_data: 'a' }), 'can\'t parse inline keyboard button: Can\'t find field "text"'],
  ['sendMessage', under({ text: 'a', callback_data: 'a', style: 'pink' }), 'invalid button style specified'],
  ['sendMessage', under({ text: 'a', url: 'localhost' }), "button URL 'localhost' is invalid: Wrong HTTP URL"],
  ['sendMessage', under({ text: 'a', url: 'ftp://a.de' }), 'is invalid: Unsupported URL protocol'],
  ['editMessageText', { text: 'own ' }, 'message is not modified: specified new message content'],
  ['editMessageText', { text: 'a', message_id: 99 }, 'message to edit not found'],
  ['editMessageText', { text: 'a', message_id: 50 }, "message can't be edited"],
  ['editMessageText', { text: 'a', inline_message_id: 'AQmade-up' }, 'MESSAGE_ID_INVALID'],
  ['editMessageReplyMarkup', {}, 'message is not modified'],
  ['deleteMessage', { message_id: 99 }, 'message to delete not found'],
  ['sendChatAction', { action: 'dancing' }, 'wrong parameter action in request'],
  ['sendMessageDraft', { draft_id: 7, text: 'a', chat_id: GROUP }, 'TEXTDRAFT_PEER_INVALID'],
  ['sendMessageDraft', { draft_id: 0, text: 'a' }, 'RANDOM_ID_INVALID'],
  ['sendMessageDraft', { draft_id: '7', text: 'a' }, 'RANDOM_ID_INVALID'],
  ['sendMessageDraft', { draft_id: 7, text: 'x'.repeat(4_097) }, 'message is too long'],
  ['getFile', { file_id: 'none' }, 'wrong file_id or the file is temporarily unavailable'],
  ['answerCallbackQuery', { callback_query_id: '5' }, 'query is too old and response timeout expired'],
  ['answerCallbackQuery', { callback_query_id: '5', text: 'x'.repeat(201) }, 'MESSAGE_TOO_LONG'],
  ['setMyCommands', menu('Start'), 'BOT_COMMAND_INVALID'],
  ['setMyCommands', menu(''), 'command must be non-empty'],
  ['setMyCommands', menu('a'.repeat(33)), 'command length must not exceed 32'],
  ['setMyCommands', menu('a', ''), 'command description must be non-empty'],
  ['setMyCommands', menu('a', 'a'.repeat(257)), 'command description length must not exceed 256'],
  ['setMyCommands', { commands: Array(101).fill({ command: 'a', description: 'a' }) }, 'BOT_COMMANDS_TOO_MUCH'],
  ['setMyCommands', menu('a', 'a', { scope: { type: 'everybody' } }), "can't parse BotCommandScope"],
  ['setMyCommands', menu('a', 'a', { scope: { type: 'chat', chat_id: 5 } }), 'chat not found'],
  ['setMyCommands', menu('a', 'a', { language_code: 'zh-hant' }), 'invalid language code specified'],
  ['setWebhook', { url: 'http://example.org/hook' }, 'An HTTPS URL must be provided'],
  ['setWebhook', { url: 'https://example.org', secret_token: 'a b' }, 'secret token contains unallowed characters'],
])('%s refuses %j (case %#)', expectRefusal);

const paragraph = (text: unknown) => ({ type: 'paragraph', text });
const item = (more: object = {}) => ({ blocks: [paragraph('a')], ...more });
const nested = (levels: number): object =>
  levels === 0 ? paragraph('x') : { type: 'blockquote', blocks: [nested(levels - 1)] };
const times = (count: number, one: unknown) => Array.from({ length: count }, () => one);
const table = (columns: number, rows = 1) => ({ type: 'table', cells: times(rows, times(columns, { text: 'x' })) });
const bold = { type: 'bold', text: 'a' };

test.each<[what: string, blocks: unknown[], why: string]>([
  ['an unknown block', [{ type: 'sectionHeading' }], "can't parse InputRichBlock: unsupported type"],
  ['a string for a block', ['a'], "can't parse InputRichBlock: unsupported type"],
  ['a paragraph without a text', [{ type: 'paragraph' }], 'Can\'t find field "text"'],
  ['an unknown format', [paragraph([{ type: 'plain', text: 'a' }])], 'Unsupported rich text type'],
  ['a number as rich text', [paragraph([7])], 'Unsupported rich text type'],
  ['bold without a text', [paragraph(['a', { type: 'bold' }])], 'Can\'t find field "text"'],
  ['a link without a URL', [paragraph({ type: 'url', text: 'a' })], 'Can\'t find field "url"'],
  ['a link to a file', [paragraph({ type: 'url', text: 'a', url: 'docs/a' })], 'RICH_MESSAGE_URL_INVALID'],
  ['a heading without a size', [{ type: 'heading', text: 'a' }], 'Can\'t find field "size"'],
  ['a heading of size 7', [{ type: 'heading', text: 'a', size: 7 }], 'invalid section heading size specified'],
  ['a table without cells', [{ type: 'table', rows: [] }], 'Can\'t find field "cells"'],
  ['rows that are objects', [{ type: 'table', cells: [{ a: 1 }] }], "can't parse InputRichBlock: expected an Array"],
  ['a table with 21 columns', [table(21)], 'RICH_MESSAGE_TABLE_COLS_TOO_MANY'],
  ['a list of nothing', [{ type: 'list', items: [] }], 'list must be non-empty'],
  ['half a list', [{ type: 'list', items: [item({ type: '1' }), item()] }], 'list must be either ordered or unordered'],
  ['an item without blocks', [{ type: 'list', items: [{}] }], 'Can\'t find field "blocks"'],
  ['details without a summary', [{ type: 'details', blocks: [] }], 'Can\'t find field "summary"'],
  ['an empty quote', [{ type: 'blockquote', blocks: [] }], 'RICH_MESSAGE_CONTENT_REQUIRED'],
  ['a heading without words', [{ type: 'heading', text: ' ', size: 1 }], 'RICH_MESSAGE_CONTENT_REQUIRED'],
  ['no words at all', [{ type: 'divider' }], 'RICH_MESSAGE_EMPTY'],
  ['17 levels', [nested(16)], 'RICH_MESSAGE_DEPTH_INVALID'],
  ['5,850 formatted runs', [paragraph(times(5_850, bold))], 'RICH_MESSAGE_TOO_LARGE'],
  ['32,769 characters', [paragraph('x'.repeat(32_768)), paragraph('y')], 'RICH_MESSAGE_TEXT_TOO_LONG'],
  ['501 blocks', times(501, paragraph('x')), 'RICH_MESSAGE_BLOCKS_TOO_MANY'],
  ['items as blocks', [{ type: 'list', items: times(250, item()) }], 'RICH_MESSAGE_BLOCKS_TOO_MANY'],
  ['rows as blocks', [table(1, 500)], 'RICH_MESSAGE_BLOCKS_TOO_MANY'],
])('sendRichMessage refuses %s', (_what, blocks, why) =>
  expectRefusal('sendRichMessage', { rich_message: { blocks } }, why),
);

test.each<[unknown[]]>([
  [[table(20)]],
  [[nested(15)]],
  [[paragraph(times(5_849, bold))]],
  [times(8, paragraph('👍'.repeat(4_096)))],
  [times(500, paragraph('x'))],
])('a rich message may be as large as that (case %#)', async (blocks) => {
  const { send, telegram } = await startBot();
  await send('sendRichMessage', { chat_id: CHAT, rich_message: { blocks } });
  expect(telegram.shown(CHAT)).toMatchObject([{ rich: blocks }]);
});

type File = { name: string; bytes: Buffer };

async function post({ telegram: { url, token } }: Bot, method: string, fields: object, files: Record<string, File>) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ chat_id: CHAT, ...fields })) form.set(name, String(value));
  for (const [name, { bytes, name: fileName }] of Object.entries(files))
    form.set(name, new Blob([new Uint8Array(bytes)]), fileName);
  return (await (await fetch(`${url}/bot${token}/${method}`, { method: 'POST', body: form })).json()) as Answer;
}

const png = (bytes = PNG, name = 'a.png') => ({ photo: { name, bytes } });
const heavy = (bytes: number) => Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);
const document = (bytes: number) => ({ document: { name: 'a.bin', bytes: Buffer.alloc(bytes) } });
const song = (name: string, bytes = 'ID3 and a song') => ({ audio: { name, bytes: Buffer.from(bytes, 'latin1') } });
const photos = (count: number, from = 0) => times(count, 0).map((_, at) => `attach://f${at + from}`);
const album = (names: string[], type = 'photo') => {
  return { media: JSON.stringify(names.map((media) => ({ type, media }))) };
};
const pngs = (count: number) =>
  Object.fromEntries(times(count, 0).map((_, at): [string, File] => [`f${at}`, { name: 'a.png', bytes: PNG }]));

test.each<[what: string, method: string, fields: object, files: Record<string, File>, why: string]>([
  ['no document', 'sendDocument', {}, {}, 'Bad Request: there is no document in the request'],
  ['the id of a photo', 'sendPhoto', { photo: 'id' }, {}, 'Bad Request: wrong file identifier/HTTP URL specified'],
  ['an empty file', 'sendDocument', {}, document(0), 'Bad Request: file must be non-empty'],
  ['a byte over 50 MB', 'sendDocument', {}, document(50 * MB + 1), 'Request Entity Too Large'],
  ['a long caption', 'sendPhoto', { caption: 'x'.repeat(1_025) }, png(), 'Bad Request: message caption is too long'],
  ['a photo over 10 MB', 'sendPhoto', {}, png(heavy(10 * MB + 1)), 'is too big for a photo'],
  ['a photo that is a text', 'sendPhoto', {}, png(Buffer.from('hello')), 'IMAGE_PROCESS_FAILED'],
  ['a GIF as a photo', 'sendPhoto', {}, png(Buffer.from('GIF89a\x01\0\x01\0', 'latin1')), 'IMAGE_PROCESS_FAILED'],
  ['a photo by another name', 'sendPhoto', {}, png(PNG, 'a.bin'), 'PHOTO_EXT_INVALID'],
  ['a photo of 10,001 pixels', 'sendPhoto', {}, png(blankPng(9_501, 500)), 'PHOTO_INVALID_DIMENSIONS'],
  ['a photo of 1 to 21', 'sendPhoto', {}, png(blankPng(4, 81)), 'PHOTO_INVALID_DIMENSIONS'],
  ['a song by another name', 'sendAudio', {}, song('song.wav'), 'AUDIO_EXT_INVALID'],
  ['a song that is a text', 'sendAudio', {}, song('song.mp3', 'hello'), 'AUDIO_EXT_INVALID'],
  ['an album of one', 'sendMediaGroup', album(photos(1)), pngs(1), 'There are no messages to send'],
  ['an album of eleven', 'sendMediaGroup', album(photos(11)), pngs(11), 'Too many messages to send as an album'],
  ['an album without a file', 'sendMediaGroup', album(photos(3)), pngs(2), 'wrong file identifier'],
  ['an album of documents', 'sendMediaGroup', album(photos(2), 'document'), pngs(2), "can't parse InputMedia"],
])('%s is refused, and nothing of it is shown', async (_what, method, fields, files, why) => {
  const bot = await startBot();
  expect(await post(bot, method, fields, files)).toMatchObject({
    ok: false,
    description: expect.stringContaining(why),
  });
  expect(bot.telegram.shown(CHAT)).toEqual([]);
});

test.each<[string, object, Record<string, File>, object[]]>([
  ['sendPhoto', { caption: 'x'.repeat(1_024) }, png(heavy(10 * MB)), [{ photo: { width: 80, bytes: 10 * MB } }]],
  ['sendPhoto', {}, png(blankPng(9_500, 500)), [{ photo: { width: 9_500 } }]],
  ['sendDocument', {}, document(50 * MB), [{ document: { name: 'a.bin', bytes: 50 * MB } }]],
  ['sendAudio', {}, song('a.mp3'), [{ audio: { name: 'a.mp3' } }]],
  ['sendAudio', {}, song('a.m4a', '\0\0\0\x20ftypM4A '), [{ audio: { name: 'a.m4a' } }]],
  ['sendAudio', {}, song('a.ogg', 'OggS'), [{ audio: { name: 'a.ogg' } }]],
  ['sendMediaGroup', album(photos(10)), pngs(10), times(10, { photo: { width: 80 } }) as object[]],
])('%s takes what it may be at most (case %#)', async (method, fields, files, shown) => {
  const bot = await startBot();
  expect(await post(bot, method, fields, files)).toMatchObject({ ok: true });
  expect(bot.telegram.shown(CHAT)).toMatchObject(shown);
});
