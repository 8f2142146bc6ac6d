import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';
import * as kinds from '../stand-in/telegram/inbound-kinds.ts';

/** The message that reaches the bot. */
async function said(text: string, extra: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { telegram, updates } = await startBot();
  telegram.say(CHAT, text, { extra });
  return (await updates())[0]?.message ?? {};
}

const file = { file_id: 'f1', file_unique_id: 'u-f1' };
const picture = { file_id: 't1', file_unique_id: 'u-t1', width: 320, height: 320 };
const media = { fileId: 'f1', thumbnailId: 't1', durationS: 9, bytes: 5, caption: 'see' };

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  [
    'sticker',
    kinds.sticker('👍', 'Set'),
    { sticker: { emoji: '👍', set_name: 'Set', type: 'regular', is_video: false } },
  ],
  ['location', kinds.location(1.5, 2), { location: { latitude: 1.5, longitude: 2 } }],
  [
    'venue, which is a location too',
    kinds.venue('Café', 'Road 1', 1, 2),
    { venue: { title: 'Café', address: 'Road 1', location: { latitude: 1 } }, location: { latitude: 1, longitude: 2 } },
  ],
  ['contact', kinds.contact('Ann', '+49 1'), { contact: { first_name: 'Ann', phone_number: '+49 1' } }],
  [
    'poll',
    kinds.poll('Tea?', ['yes', 'no']),
    { poll: { question: 'Tea?', options: [{ text: 'yes', voter_count: 0 }, { text: 'no' }], is_closed: false } },
  ],
  ['dice', kinds.dice('🎲', 6), { dice: { emoji: '🎲', value: 6 } }],
  [
    'checklist',
    kinds.checklist('Trip', ['pack', { text: 'book', isDone: true }]),
    {
      checklist: {
        title: 'Trip',
        tasks: [
          { id: 1, text: 'pack' },
          { id: 2, text: 'book', completion_date: 1 },
        ],
      },
    },
  ],
  [
    'voice',
    kinds.voice(media),
    { voice: { ...file, duration: 9, mime_type: 'audio/ogg', file_size: 5 }, caption: 'see' },
  ],
  [
    'audio',
    kinds.audio({ ...media, title: 'Song' }),
    { audio: { ...file, title: 'Song', thumbnail: picture }, caption: 'see' },
  ],
  ['video', kinds.video(media), { video: { ...file, thumbnail: picture, width: 320 }, caption: 'see' }],
  ['round video', kinds.videoNote(media), { video_note: { ...file, length: 240, thumbnail: picture } }],
  [
    'animation, which is a document too',
    kinds.animation(media),
    { animation: { ...file, duration: 9 }, document: file },
  ],
  [
    'live photo, which is a photo too',
    kinds.livePhoto('t1', media),
    { live_photo: { ...file, photo: [picture] }, photo: [picture] },
  ],
])('a %s arrives as the API describes it, without a text', async (_, extra, expected) => {
  const message = await said('', extra);
  expect(message).toMatchObject(expected);
  expect(message).not.toHaveProperty('text');
});

test('a rich message of a person has blocks and no text', async () => {
  const blocks = [{ type: 'paragraph', text: 'Hello' }];
  const message = await said('', kinds.richMessage(blocks, true));
  expect(message.rich_message).toEqual({ blocks, is_rtl: true });
  expect(message).not.toHaveProperty('text');
});

test.each<[kinds.Origin, object]>([
  [{ type: 'user', id: 5, firstName: 'Ann' }, { sender_user: { id: 5, first_name: 'Ann' } }],
  [{ type: 'hidden_user', name: 'Somebody' }, { sender_user_name: 'Somebody' }],
  [
    { type: 'chat', id: -5, title: 'Team', signature: 'chief' },
    { sender_chat: { id: -5, title: 'Team' }, author_signature: 'chief' },
  ],
  [
    { type: 'channel', id: -6, title: 'News' },
    { chat: { id: -6, type: 'channel', title: 'News' }, message_id: 1 },
  ],
])('a forwarded message names its origin: %j', async (origin, expected) => {
  const message = await said('look', kinds.forwarded(origin, 77));
  expect(message).toMatchObject({ text: 'look', forward_origin: { type: origin.type, date: 77, ...expected } });
});

test('a quote and an answer to a message elsewhere', async () => {
  const elsewhere = kinds.externalReply({ type: 'channel', id: -6, title: 'News' }, kinds.dice('🎲', 1));
  const message = await said('why?', { ...elsewhere, ...kinds.quote('the part', 3) });
  expect(message).toMatchObject({
    text: 'why?',
    external_reply: { origin: { type: 'channel' }, dice: { value: 1 } },
    quote: { text: 'the part', position: 3, is_manual: true },
  });
  expect(message).not.toHaveProperty('reply_to_message');
});

test('an answer to a rich message of the bot has its blocks and no text', async () => {
  const { telegram, send, updates } = await startBot();
  const blocks = [{ type: 'paragraph', text: 'Hello' }];
  const replyTo = await send('sendRichMessage', { chat_id: CHAT, rich_message: { blocks } });
  telegram.say(CHAT, 'why?', { replyTo });
  const quoted = (await updates())[0]?.message?.reply_to_message;
  expect(quoted).toMatchObject({
    message_id: replyTo,
    from: { id: telegram.botId, is_bot: true },
    rich_message: { blocks },
  });
  expect(quoted).not.toHaveProperty('text');
});

test('an answer to a picture of a person has the picture, its sender, and not what that answered', async () => {
  const { telegram, updates } = await startBot();
  telegram.say(CHAT, 'first', { messageId: 3 });
  telegram.say(CHAT, '', { messageId: 4, replyTo: 3, extra: { photo: [picture], caption: 'us' } });
  telegram.say(CHAT, 'who is this?', { replyTo: 4 });
  const quoted = (await updates()).at(-1)?.message?.reply_to_message;
  expect(quoted).toMatchObject({ message_id: 4, from: { id: CHAT }, photo: [picture], caption: 'us' });
  expect(quoted).not.toHaveProperty('reply_to_message');
});

test('an edit is what later answers quote', async () => {
  const { telegram, updates } = await startBot();
  telegram.say(CHAT, 'frist', { messageId: 3 });
  telegram.edit(CHAT, 3, 'first');
  telegram.say(CHAT, 'see', { replyTo: 3 });
  const [, edit, answer] = await updates();
  expect(edit?.edited_message).toMatchObject({ message_id: 3, text: 'first', edit_date: expect.any(Number) });
  expect(answer?.message?.reply_to_message).toMatchObject({ text: 'first' });
});

test('an edit keeps the date, the sender, the place and the album of its message; of one that nobody wrote there is none', async () => {
  const { telegram, updates } = await startBot();
  const extra = { photo: [picture], caption: 'one', media_group_id: 'g' };
  telegram.say(-5, '', { messageId: 3, date: 100, fromId: 9, topicId: 4, extra });
  telegram.edit(-5, 3, '', { extra: { caption: '/two' } });
  const { edit_date: _, caption_entities: marks, ...edited } = (await updates()).at(-1)?.edited_message ?? {};
  expect(edited).toMatchObject({ message_id: 3, date: 100, from: { id: 9 }, message_thread_id: 4, caption: '/two' });
  expect(edited).toMatchObject({ photo: [picture], media_group_id: 'g' });
  expect(marks).toEqual([{ type: 'bot_command', offset: 0, length: 4 }]);
  expect(() => telegram.edit(-5, 4, 'x')).toThrow(/no edit/);
});

test('a sender has a name, a user name and a language', async () => {
  const { telegram, updates } = await startBot();
  telegram.say(CHAT, 'a', { firstName: 'Ada', username: 'ada', languageCode: 'zh-hant' });
  expect((await updates())[0]?.message?.from).toEqual({
    id: CHAT,
    is_bot: false,
    first_name: 'Ada',
    username: 'ada',
    language_code: 'zh-hant',
  });
});

test('a reply of the bot may quote an exact piece of what it answers, and nothing else', async () => {
  const { telegram, send, refusal } = await startBot();
  telegram.say(CHAT, 'one two three', { messageId: 3 });
  const reply = (quote: string) => ({ chat_id: CHAT, text: 'a', reply_parameters: { message_id: 3, quote } });
  await send('sendMessage', reply('two'));
  expect(await refusal('sendMessage', reply('four'))).toBe('QUOTE_TEXT_INVALID');
});
