import { expect, test } from '@jest/globals';
import { contentOf } from '../../../../producer/accept/read-content.ts';
import {
  checklist,
  contact,
  dice,
  livePhoto,
  location,
  poll,
  richMessage,
  sticker,
  venue,
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
