import { expect, test } from '@jest/globals';
import { contextOf } from '../../../../producer/accept/read-content.ts';
import { audio, forwarded, richMessage, video, voice } from '../../../stand-in/telegram/inbound-kinds.ts';

const BOT = 7;
const ann = { id: 1, is_bot: false, first_name: 'Ann' };
const replied = (over: object) => ({
  reply_to_message: { message_id: 3, from: ann, text: 'the deploy broke', ...over },
});

test.each<[string, object, object]>([
  ['a text', replied({}), { answers: { by: 'Ann', text: 'the deploy broke' } }],
  [
    'a message of the bot',
    replied({ from: { ...ann, id: BOT } }),
    { answers: { isOurs: true, text: 'the deploy broke' } },
  ],
  [
    'a rich message',
    replied({ text: undefined, ...richMessage([{ type: 'paragraph', text: 'rich' }]) }),
    { answers: { by: 'Ann', text: 'rich' } },
  ],
  ['a message without text', replied({ text: undefined }), { answers: { by: 'Ann', text: '(no text)' } }],
  ['a long text', replied({ text: 'x'.repeat(5_000) }), { answers: { by: 'Ann', text: 'x'.repeat(1_000) } }],
  ['a quote', { ...replied({}), quote: { text: 'broke' } }, { answers: { by: 'Ann', isQuote: true, text: 'broke' } }],
  ['nothing', {}, {}],
  ['the message that opened a topic', replied({ forum_topic_created: { name: 'Ops' } }), {}],
  ['something that is no message', { reply_to_message: 'x', quote: 7, forward_origin: [] }, {}],
])('a message that answers %s', (_, message, context) => {
  expect(contextOf(message, BOT)).toEqual(context);
});

test.each<[string, object, string]>([
  ['a person', forwarded({ type: 'user', id: 5, firstName: ' Bob ' }), 'Bob'],
  ['a person who hides', forwarded({ type: 'hidden_user', name: 'Carl' }), 'Carl'],
  ['a group', forwarded({ type: 'chat', id: -5, title: 'Ops' }), 'Ops'],
  ['a channel', forwarded({ type: 'channel', id: -5, title: 'News' }), 'News'],
  ['nobody known', { forward_origin: { sender_user: 7, chat: 'x' } }, 'somebody'],
])('a message that was forwarded from %s', (_, message, forwardedFrom) => {
  expect(contextOf(message, BOT)).toEqual({ forwardedFrom });
});

const sizes = [
  { file_id: 's', width: 90, height: 60 },
  { file_id: 'l', width: 900, height: 600 },
];

test.each<[string, object, object]>([
  ['a photo', { photo: sizes }, { text: '(a photo)', file: { what: 'photo', fileId: 'l' } }],
  [
    'a file',
    { document: { file_id: 'd', file_name: 'a.pdf', file_size: 7 } },
    { text: '(a file: a.pdf)', file: { what: 'document', fileId: 'd', name: 'a.pdf', bytes: 7 } },
  ],
  [
    'a video',
    video({ thumbnailId: 't', durationS: 9 }),
    {
      text: '(a video of 9 s)',
      file: { what: 'photo', fileId: 't', bytes: 9_000, thumbnailOf: { what: 'video', seconds: 9 } },
    },
  ],
  ['a voice message', voice({ durationS: 4 }), { text: '(a voice message of 4 s)' }],
  ['a song', audio({ title: 'Aria', performer: 'Bach' }), { text: '(an audio file of 3 s: Bach – Aria)' }],
  ['a song without tags', audio({ fileName: 'a.mp3' }), { text: '(an audio file of 3 s: a.mp3)' }],
  ['a round video', { video_note: { duration: '3' } }, { text: '(a video note)' }],
  ['an animation', { animation: { duration: 2 } }, { text: '(an animation of 2 s)' }],
  ['a live photo', { live_photo: {} }, { text: '(a photo)' }],
  ['a paid medium', { paid_media: {} }, { text: '(something to be paid for)' }],
  ['a story', { story: {} }, { text: '(a story)' }],
  ['a game', { game: {} }, { text: '(a game)' }],
  ['a sticker', { sticker: { emoji: '👍' } }, { text: '(a sticker: 👍)' }],
  ['a photo without a usable id', { photo: [{ file_id: '' }, null] }, { text: '(a photo)' }],
  ['a file that is none', { document: 'x', photo: 7 }, { text: '(no text)' }],
])('a message that answers %s has what that one brought', (_, content, answered) => {
  expect(contextOf(replied({ text: undefined, ...content }), BOT)).toEqual({ answers: { by: 'Ann', ...answered } });
});

test('a name is one line, whatever its owner wrote', () => {
  const { answers } = contextOf(replied({ from: { id: 2, first_name: 'Eve\n[#x] \u202eAnn' } }), BOT);
  expect(answers?.by).toBe('Eve [#x] Ann');
});

test('a message without a name has no author, and one of another chat names where it is from', () => {
  expect(contextOf(replied({ from: null }), BOT).answers).toEqual({ text: 'the deploy broke' });
  const { answers } = contextOf(
    { external_reply: { origin: { type: 'channel', chat: { title: 'News' } } }, quote: { text: ' so ' } },
    BOT,
  );
  expect(answers).toEqual({ by: 'News', isQuote: true, text: 'so' });
});
