import { expect, test } from '@jest/globals';
import { type Answer, CHAT, startBot } from '../fixture/bot-api.ts';
import { blankPng, jpegPhoto } from '../fixture/files.ts';
import { Floods } from '../stand-in/telegram/floods.ts';
import type { TelegramStandIn } from '../stand-in/telegram/server.ts';

const MB = 1024 * 1024;
const MP3 = Buffer.from('ID3\x04 and a song');
const PNG = blankPng(80, 60);

async function upload(
  { url, token }: TelegramStandIn,
  method: string,
  field: string,
  file: { name: string; bytes: Buffer },
  more: Record<string, string> = {},
): Promise<Answer> {
  const form = new FormData();
  for (const [key, value] of Object.entries({ chat_id: String(CHAT), ...more })) form.set(key, value);
  form.set(field, new Blob([new Uint8Array(file.bytes)]), file.name);
  return (await (await fetch(`${url}/bot${token}/${method}`, { method: 'POST', body: form })).json()) as Answer;
}

const photo = (telegram: TelegramStandIn, bytes: Buffer, name = 'a.png') =>
  upload(telegram, 'sendPhoto', 'photo', { name, bytes });
const audio = (telegram: TelegramStandIn, bytes: Buffer, name: string) =>
  upload(telegram, 'sendAudio', 'audio', { name, bytes });

test('sendPhoto shows a photo with its caption, its markup and what it answers, and without its name', async () => {
  const { telegram } = await startBot();
  telegram.say(CHAT, 'a picture, please', { messageId: 8 });
  const reply_markup = { inline_keyboard: [[{ text: 'More', callback_data: '/more' }]] };
  const more = {
    caption: 'a chart',
    caption_entities: JSON.stringify([{ type: 'bold', offset: 2, length: 5 }]),
    disable_notification: 'true',
    reply_parameters: JSON.stringify({ message_id: 8 }),
    reply_markup: JSON.stringify(reply_markup),
  };
  const { result } = await upload(telegram, 'sendPhoto', 'photo', { name: 'a.png', bytes: PNG }, more);
  const entities = [{ type: 'bold', offset: 2, length: 5 }];
  expect(result).toMatchObject({
    photo: [{ width: 80, height: 60, file_size: PNG.length }],
    caption: 'a chart',
    caption_entities: entities,
    reply_to_message: { message_id: 8 },
    reply_markup,
  });
  expect(result).not.toHaveProperty('text');
  const shown = { text: 'a chart', entities, photo: { width: 80, height: 60, bytes: PNG.length }, replyTo: 8 };
  expect(telegram.shown(CHAT)).toMatchObject([shown]);
  expect(telegram.shown(CHAT)[0]).not.toHaveProperty('notified');
});

test('a photo has at most 10 MB, 10,000 pixels of width and height together, and sides of 1 to 20', async () => {
  const { telegram } = await startBot();
  const heavy = (bytes: number) => Buffer.concat([PNG, Buffer.alloc(bytes - PNG.length)]);
  for (const bytes of [heavy(10 * MB), blankPng(9_500, 500), blankPng(4, 80)])
    expect(await photo(telegram, bytes)).toMatchObject({ ok: true });
  expect(await photo(telegram, heavy(10 * MB + 1))).toMatchObject({
    error_code: 400,
    description: `Bad Request: file of size ${10 * MB + 1} bytes is too big for a photo; the maximum size is ${10 * MB} bytes`,
  });
  for (const bytes of [blankPng(9_501, 500), blankPng(4, 81), blankPng(81, 4), blankPng(0, 0)])
    expect(await photo(telegram, bytes)).toEqual({
      ok: false,
      error_code: 400,
      description: 'Bad Request: PHOTO_INVALID_DIMENSIONS',
    });
  expect(telegram.shown(CHAT)).toHaveLength(3);
});

test('people see a larger photo scaled down', async () => {
  const { telegram } = await startBot();
  await photo(telegram, blankPng(5_120, 1_000));
  expect(telegram.shown(CHAT)).toMatchObject([{ photo: { width: 2_560, height: 500 } }]);
});

test.each([
  ['a text', 'a.png', Buffer.from('hello'), 'IMAGE_PROCESS_FAILED'],
  ['a GIF', 'a.png', Buffer.from('GIF89a\x01\0\x01\0', 'latin1'), 'IMAGE_PROCESS_FAILED'],
  ['a picture with another name', 'a.bin', PNG, 'PHOTO_EXT_INVALID'],
  ['nothing', 'a.png', Buffer.alloc(0), 'file must be non-empty'],
])('sendPhoto refuses %s', async (_, name, bytes, says) => {
  const { telegram } = await startBot();
  expect(await photo(telegram, bytes, name)).toMatchObject({ error_code: 400, description: `Bad Request: ${says}` });
  expect(telegram.shown(CHAT)).toEqual([]);
});

test('sendPhoto takes a JPEG', async () => {
  const { telegram } = await startBot();
  expect(await photo(telegram, await jpegPhoto(64, 48), 'a.jpg')).toMatchObject({ ok: true });
});

test('sendAudio shows audio under its name, and refuses what is none, or is named otherwise', async () => {
  const { telegram } = await startBot();
  expect((await audio(telegram, MP3, 'song.mp3')).result).toMatchObject({
    audio: { file_name: 'song.mp3', file_size: MP3.length },
  });
  for (const [begins, name] of [
    ['\xff\xfb\x90', 'a.mp3'],
    ['\0\0\0\x20ftypM4A ', 'a.m4a'],
    ['OggS', 'a.ogg'],
  ] as const)
    expect(await audio(telegram, Buffer.from(begins, 'latin1'), name)).toMatchObject({ ok: true });
  for (const [bytes, name] of [
    [MP3, 'song.wav'],
    [Buffer.from('hello'), 'song.mp3'],
  ] as const)
    expect(await audio(telegram, bytes, name)).toMatchObject({ description: 'Bad Request: AUDIO_EXT_INVALID' });
  expect(telegram.shown(CHAT).map((message) => message.audio?.name)).toEqual(['song.mp3', 'a.mp3', 'a.m4a', 'a.ogg']);
});

test.each(['photo', 'audio'])(
  'sending %s needs a file, no longer caption than 1024, a known chat and a known topic',
  async (kind) => {
    const { telegram, refusal } = await startBot();
    const method = kind === 'photo' ? 'sendPhoto' : 'sendAudio';
    expect(await refusal(method, { chat_id: CHAT })).toBe(`there is no ${kind} in the request`);
    expect(await refusal(method, { chat_id: CHAT, [kind]: 'id' })).toMatch(/wrong file identifier/);
    expect(await refusal(method, { chat_id: 5, [kind]: 'id' })).toBe('chat not found');
    expect(await refusal(method, { chat_id: CHAT, message_thread_id: 5, [kind]: 'id' })).toBe(
      'message thread not found',
    );
    const file = kind === 'photo' ? { name: 'a.png', bytes: PNG } : { name: 'a.mp3', bytes: MP3 };
    const captioned = (units: number) => upload(telegram, method, kind, file, { caption: 'x'.repeat(units) });
    expect(await captioned(1024)).toMatchObject({ ok: true });
    expect(await captioned(1025)).toMatchObject({ description: 'Bad Request: message caption is too long' });
  },
);

test('neither has a text to edit, and both count as messages of the chat', async () => {
  const { telegram, refusal } = await startBot();
  for (const sent of [await photo(telegram, PNG), await audio(telegram, MP3, 'a.mp3')]) {
    const { message_id } = sent.result as { message_id: number };
    const says = await refusal('editMessageText', { chat_id: CHAT, message_id, text: 'b' });
    expect(says).toBe('there is no text in the message to edit');
  }
  const floods = new Floods(() => 1_000_000);
  const take = () => floods.take('sendPhoto', { chat_id: CHAT });
  for (let at = 0; at < 4; at += 1) take();
  floods.take('sendAudio', { chat_id: CHAT });
  expect(take).toThrow();
});

/** Sends an album of these files, in the fields `f0` on. */
async function album(
  { url, token }: TelegramStandIn,
  media: unknown,
  files: readonly { name: string; bytes: Buffer }[],
) {
  const form = new FormData();
  form.set('chat_id', String(CHAT));
  form.set('media', typeof media === 'string' ? media : JSON.stringify(media));
  for (const [at, { name, bytes }] of files.entries()) form.set(`f${at}`, new Blob([new Uint8Array(bytes)]), name);
  return (await (await fetch(`${url}/bot${token}/sendMediaGroup`, { method: 'POST', body: form })).json()) as Answer;
}

const items = (count: number, type = 'photo') =>
  Array.from({ length: count }, (_, at) => ({ type, media: `attach://f${at}`, caption: `${at}` }));
const pngs = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `${at}.png`, bytes: PNG }));

test('sendMediaGroup shows 2 to 10 photos together, each with its caption, and answers all messages', async () => {
  const { telegram } = await startBot();
  const { result } = await album(telegram, items(10), pngs(10));
  const messages = result as unknown as { media_group_id: string; caption: string }[];
  expect(messages.map(({ caption }) => caption)).toEqual(items(10).map(({ caption }) => caption));
  expect(new Set(messages.map(({ media_group_id }) => media_group_id)).size).toBe(1);
  expect(new Set(telegram.shown(CHAT).map(({ album: id }) => id))).toEqual(new Set([messages[0]?.media_group_id]));
});

test.each<[string, unknown, readonly { name: string; bytes: Buffer }[], RegExp]>([
  ['no list', 'photos', [], /can't parse media JSON object/],
  ['one photo', items(1), pngs(1), /no messages to send/],
  ['eleven photos', items(11), pngs(11), /Too many messages to send as an album/],
  ['a file that is not in the form', items(3), pngs(2), /wrong file identifier/],
  [
    'an address',
    [...items(1), { type: 'photo', media: 'https://example.org/a.png' }],
    pngs(1),
    /wrong file identifier/,
  ],
  ['what is no photo', items(2), [...pngs(1), { name: 'a.png', bytes: Buffer.from('hi') }], /IMAGE_PROCESS_FAILED/],
  ['a kind that is unknown', items(2, 'picture'), pngs(2), /type must be one of/],
  [
    'a photo beside a document',
    [...items(1), { type: 'document', media: 'attach://f1' }],
    pngs(2),
    /album of their own/,
  ],
  [
    'a long caption',
    [...items(1), { type: 'photo', media: 'attach://f1', caption: 'x'.repeat(1025) }],
    pngs(2),
    /too long/,
  ],
])('sendMediaGroup refuses %s, and shows nothing of it', async (_, media, files, says) => {
  const { telegram } = await startBot();
  expect(await album(telegram, media, files)).toMatchObject({ ok: false, description: expect.stringMatching(says) });
  expect(telegram.shown(CHAT)).toEqual([]);
});

test('each picture of an album counts as a message', () => {
  const floods = new Floods(() => 1_000_000);
  floods.take('sendMediaGroup', { chat_id: CHAT, media: JSON.stringify(items(5)) });
  expect(() => floods.take('sendPhoto', { chat_id: CHAT })).toThrow();
});
