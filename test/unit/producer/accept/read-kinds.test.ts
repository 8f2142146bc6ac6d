import { expect, test } from '@jest/globals';
import { contentOf } from '../../../../producer/accept/read-content.ts';
import {
  audio,
  document,
  mediaBlock,
  photo,
  richMessage,
  video,
  voice,
} from '../../../stand-in/telegram/inbound-kinds.ts';

const PLACE = { latitude: 52.5, longitude: 13.4 };
const BAR = { title: 'Bar', address: 'Street 1' };
const ANN = { first_name: 'Ann', phone_number: '+49123' };
const lunch = (options?: unknown[]) => ({ poll: { question: 'Lunch?', ...(options && { options }) } });
const read = (message: object) => contentOf(message, 4_000);

test.each<[string, object, string]>([
  ['a sticker', { sticker: { emoji: '👍', set_name: 'Cats' } }, '(a sticker: 👍, of the set Cats)'],
  ['a location', { location: PLACE }, '(a location: 52.5, 13.4)'],
  ['a place', { venue: { ...BAR, location: PLACE }, location: PLACE }, '(a place: Bar, Street 1, at 52.5, 13.4)'],
  ['a contact', { contact: { ...ANN, last_name: 'Lee' } }, '(a contact: Ann Lee +49123)'],
  ['a poll', lunch([{ text: 'Soup' }, { text: 'Rice' }]), '(a poll: Lunch? [ ] Soup [ ] Rice)'],
  ['a throw', { dice: { emoji: '🎲', value: 4 } }, '(a throw of 🎲: 4)'],
  [
    'a checklist',
    { checklist: { title: 'Trip', tasks: [{ text: 'Book' }, { text: 'Pack', completion_date: 1 }] } },
    '(a checklist: Trip)\n- [ ] Book\n- [x] Pack',
  ],
  ['a place without a location', { venue: BAR }, '(a place: Bar, Street 1, at ?)'],
  ['a location without numbers', { location: {} }, '(a location: ?, ?)'],
  ['a contact without a last name', { contact: ANN }, '(a contact: Ann +49123)'],
  ['a poll with a broken option', lunch([7, { text: 'Soup' }]), '(a poll: Lunch? [ ] Soup)'],
  ['a poll without options', lunch(), '(a poll: Lunch? )'],
  ['a video without a picture', video(), '(a video of 3 s)\n(it cannot be shown)'],
  ['the same with words', video({ caption: 'Look' }), '(a video of 3 s)\n(it cannot be shown)\nLook'],
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

const paragraph = (text: unknown) => ({ type: 'paragraph', text });
const items = [
  { has_checkbox: true, is_checked: true, label: '1.', blocks: [paragraph('a'), paragraph('b')] },
  { has_checkbox: true, blocks: [paragraph('c')] },
  { label: '', blocks: [] },
  { label: 7, blocks: [paragraph('d'), { type: 'list', items: [{ blocks: [paragraph('e')] }] }] },
  { blocks: 7 },
  null,
];

test.each<[string, object[], string]>([
  ['a divider', [{ type: 'divider' }], '---'],
  ['a formula', [{ type: 'mathematical_expression', expression: 'x^2' }], '$$x^2$$'],
  ['a list', [{ type: 'list', items }], '1. [x] a\n  b\n- [ ] c\n- \n- d\n  - e'],
  ['a list that is none', [paragraph('a'), { type: 'list', items: 7 }, paragraph('b')], 'a\nb'],
  ['a table that is none', [paragraph('a'), { type: 'table', cells: 7 }, paragraph('b')], 'a\nb'],
  ['a table with broken rows', [{ type: 'table', cells: [7, [null, { text: 'a' }]] }], '|  |\n|  | a |'],
  ['a caption of nothing', [{ ...mediaBlock(photo('p')), caption: { text: '' } }, paragraph('a')], '(a photo)\na'],
  ['a caption that is none', [{ ...mediaBlock(photo('p')), caption: 'x' }, paragraph('a')], '(a photo)\na'],
  ['a map that is none', [{ type: 'map', location: 7, text: 'a' }], 'a'],
  ['a place beside a text', [{ ...paragraph('a'), location: { latitude: 1, longitude: 2 } }], 'a'],
  ['a type that is a list', [{ type: ['photo'], ...photo('p'), text: 'a' }], 'a'],
  ['marks without words', [paragraph([{ alternative_text: '🙂' }, { expression: 'y' }, 7, null])], '🙂y'],
  ['the deepest nest', nested(40), 'deep'],
  ['the deepest marks', [paragraph(marked(41))], 'deep'],
])('a rich message with %s is read', (_, blocks, text) => {
  expect(read(richMessage([...blocks, paragraph(' ')]))).toMatchObject({ kind: 'text', text });
});

test.each<[string, object[]]>([
  ['blocks', nested(41)],
  ['marks', [paragraph(marked(42))]],
  ['lists', [{ type: 'list', items: [{ blocks: nested(40) }] }]],
])('a nest of %s that is deeper than Telegram allows is not read', (_, blocks) => {
  expect(JSON.stringify(read(richMessage(blocks)))).not.toContain('deep');
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
    { type: 'map', location: PLACE, zoom: 13 },
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

test.each<[string, object, string]>([
  ['no photo', { type: 'photo', photo: 'x' }, 'Hi'],
  ['sizes without ids', { type: 'photo', photo: [{ width: 1 }] }, 'Hi\n(a photo; left out)'],
  ['a video that is none', { type: 'video', video: null }, 'Hi'],
  ['a voice without an id', { type: 'voice_note', voice_note: {} }, 'Hi\n(a voice message; left out)'],
])('a rich block with %s throws nothing and keeps nothing', (_, block, text) => {
  expect(read(richMessage([paragraph('Hi'), block]))).toEqual({ kind: 'text', text });
});

test.each<[string, object, string]>([
  ['a rich message of blocks that are none', { rich_message: { blocks: 'x' } }, 'unknown'],
  ['an endless nest', { rich_message: { blocks: nested(5_000) } }, 'unknown'],
  ['a story', { story: { id: 1 } }, 'story'],
])('%s is answered with a sentence and throws nothing', (_, message, what) => {
  expect(read(message)).toEqual({ kind: 'unsupported', what });
});

test('a live photo is read as its still picture', () => {
  expect(read({ ...photo('still'), live_photo: { file_id: 'moving', duration: 3 } })).toMatchObject({
    kind: 'file',
    file: { what: 'photo', fileId: 'still' },
  });
});

test.each(['added', 'removed'] as const)("that a group was %s by a community is nobody's message", (what) => {
  expect(read({ [`community_chat_${what}`]: { community: { id: 77, title: 'Neighbours' } } })).toBeUndefined();
});

function nested(depth: number): object[] {
  let blocks: object[] = [{ type: 'paragraph', text: 'deep' }];
  for (let at = 0; at < depth; at++) blocks = [{ type: 'blockquote', blocks }];
  return blocks;
}

function marked(depth: number): unknown {
  let text: unknown = 'deep';
  for (let at = 0; at < depth; at++) text = at % 2 ? [text] : { type: 'bold', text };
  return text;
}
