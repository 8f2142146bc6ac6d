import { expect, test } from '@jest/globals';
import { contentOf } from '../../../../producer/accept/read-content.ts';
import {
  audio,
  checklist,
  communityEvent,
  contact,
  dice,
  document,
  livePhoto,
  location,
  mediaBlock,
  photo,
  poll,
  richMessage,
  sticker,
  venue,
  video,
  voice,
} from '../../../stand-in/telegram/inbound-kinds.ts';

const read = (message: object) => contentOf(message, 4_000);

test.each<[string, object, string]>([
  ['a sticker', sticker('👍', 'Cats'), '(a sticker: 👍, of the set Cats)'],
  ['a location', location(52.5, 13.4), '(a location: 52.5, 13.4)'],
  ['a place', venue('Bar', 'Street 1', 52.5, 13.4), '(a place: Bar, Street 1, at 52.5, 13.4)'],
  ['a contact', contact('Ann', '+49123', 'Lee'), '(a contact: Ann Lee +49123)'],
  ['a poll', poll('Lunch?', ['Soup', 'Rice']), '(a poll: Lunch? [ ] Soup [ ] Rice)'],
  ['a throw', dice('🎲', 4), '(a throw of 🎲: 4)'],
  [
    'a checklist',
    checklist('Trip', ['Book', { text: 'Pack', isDone: true }]),
    '(a checklist: Trip)\n- [ ] Book\n- [x] Pack',
  ],
])('%s is told in words', (_, message, text) => {
  expect(read(message)).toEqual({ kind: 'text', text });
});

test('a rich message is read: paragraphs, lists, tables, code, and the text of what is unknown', () => {
  const blocks = [
    { type: 'heading', text: ['Ti', { type: 'bold', text: 'tle' }], size: 1 },
    { type: 'list', items: [{ label: '•', blocks: [{ type: 'paragraph', text: 'one' }] }] },
    {
      type: 'table',
      cells: [
        [{ text: 'a' }, { text: 'b' }],
        [{ text: '1' }, {}],
      ],
    },
    { type: 'pre', text: 'x = 1', language: 'py' },
    { type: 'details', summary: 'More', blocks: [{ type: 'paragraph', text: 'inside' }] },
    { type: 'new_kind', blocks: [{ type: 'paragraph', text: 'read all the same' }] },
  ];
  expect(read(richMessage(blocks))).toEqual({
    kind: 'text',
    text: 'Title\n• one\n| a | b |\n| 1 |  |\n```py\nx = 1\n```\nMore\ninside\nread all the same',
  });
});

test('what a rich message holds besides words is named where it stands, and kept', () => {
  const blocks = [
    { type: 'paragraph', text: 'Look:' },
    mediaBlock(photo('p1'), 'The cat'),
    { type: 'collage', blocks: [mediaBlock(video({ durationS: 5, thumbnailId: 't1' })), mediaBlock(photo('p2'))] },
    mediaBlock(video({ fileName: 'b.mp4' })),
    mediaBlock(document({ fileId: 'd1', fileName: 'a.pdf' })),
    mediaBlock(voice({ fileId: 'v1', durationS: 7 })),
    mediaBlock(audio({ fileId: 'a1', title: 'Song' })),
    { type: 'map', location: { latitude: 52.5, longitude: 13.4 }, zoom: 13 },
  ];
  expect(read(richMessage(blocks))).toEqual({
    kind: 'text',
    text: [
      'Look:',
      '(a photo)',
      'The cat',
      '(a video of 5 s)',
      '(a photo)',
      '(a video of 3 s: b.mp4; left out)',
      '(a file: a.pdf)',
      '(a voice message of 7 s)',
      '(an audio file of 3 s: Song; left out)',
      '(a location: 52.5, 13.4)',
    ].join('\n'),
    files: [
      { what: 'photo', fileId: 'p1', bytes: 90_000 },
      { what: 'photo', fileId: 't1', bytes: 9_000, thumbnailOf: { what: 'video', seconds: 5 } },
      { what: 'photo', fileId: 'p2', bytes: 90_000 },
      { what: 'document', fileId: 'd1', name: 'a.pdf' },
    ],
    sound: { kind: 'voice', fileId: 'v1', mediaType: 'audio/ogg', seconds: 7 },
  });
});

test('of more media than an album has, the rest is named', () => {
  const read12 = read(richMessage(Array.from({ length: 12 }, (_, at) => mediaBlock(photo(`p${at}`)))));
  expect(read12).toMatchObject({
    text: expect.stringMatching(/^(?:\(a photo\)\n){10}\(a photo; left out\)\n\(a photo; left out\)$/),
  });
  expect(read12).toHaveProperty('files.length', 10);
});

test.each<[string, object]>([
  ['no photo', { type: 'photo', photo: 'x' }],
  ['sizes without ids', { type: 'photo', photo: [{ width: 1 }] }],
  ['a video that is none', { type: 'video', video: null }],
  ['a voice without an id', { type: 'voice_note', voice_note: { duration: 1 } }],
])('a rich block with %s throws nothing and keeps nothing', (_, block) => {
  const content = read(richMessage([{ type: 'paragraph', text: 'Hi' }, block]));
  expect(content).toMatchObject({ kind: 'text', text: expect.stringMatching(/^Hi/) });
  expect(content).not.toHaveProperty('files');
  expect(content).not.toHaveProperty('sound');
});

test.each<[string, object]>([
  ['blocks that are none', { rich_message: { blocks: 'x' } }],
  ['an endless nest', { rich_message: { blocks: nested(5_000) } }],
])('a rich message of %s is answered with a sentence and throws nothing', (_, message) => {
  expect(read(message)).toEqual({ kind: 'unsupported', what: 'unknown' });
});

test.each<[string, object, string]>([
  ['a story', { story: { id: 1 } }, 'story'],
  ['something that Telegram invents tomorrow', { hologram: {} }, 'unknown'],
])('%s is answered with a sentence', (_, message, what) => {
  expect(read(message)).toEqual({ kind: 'unsupported', what });
});

test('a live photo is read as its still picture', () => {
  expect(read(livePhoto('still'))).toMatchObject({ kind: 'file', file: { what: 'photo', fileId: 'still' } });
});

test.each(['added', 'removed'] as const)("that a group was %s by a community is nobody's message", (what) => {
  expect(read(communityEvent(what))).toBeUndefined();
});

test.each(['new_chat_members', 'pinned_message', 'video_chat_started', 'gift'])(
  'a service message (%s) is none',
  (field) => {
    expect(read({ [field]: {} })).toBeUndefined();
  },
);

function nested(depth: number): object[] {
  let blocks: object[] = [{ type: 'paragraph', text: 'deep' }];
  for (let at = 0; at < depth; at++) blocks = [{ type: 'blockquote', blocks }];
  return blocks;
}
