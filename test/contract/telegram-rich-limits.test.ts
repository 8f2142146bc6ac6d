import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';
import { bold, item, kept, paragraph, refused, row, times } from '../fixture/rich.ts';

const nested = (levels: number): object =>
  levels === 0 ? paragraph('x') : { type: 'blockquote', blocks: [nested(levels - 1)] };

test.each([
  ['a heading of size 7', { type: 'heading', text: 'a', size: 7 }, 'invalid section heading size specified'],
  ['a list of nothing', { type: 'list', items: [] }, 'list must be non-empty'],
  [
    'a list that is half ordered',
    { type: 'list', items: [item('a', { type: '1' }), item('b')] },
    'list must be either ordered or unordered',
  ],
  ['a heading without words', { type: 'heading', text: ' ', size: 1 }, 'RICH_MESSAGE_CONTENT_REQUIRED'],
  ['an empty quote', { type: 'blockquote', blocks: [] }, 'RICH_MESSAGE_CONTENT_REQUIRED'],
  ['a table without a cell', { type: 'table', cells: [[]] }, 'RICH_MESSAGE_CONTENT_REQUIRED'],
  ['a relative link', paragraph({ type: 'url', text: 'a', url: 'docs/readme' }), 'RICH_MESSAGE_URL_INVALID'],
  [
    'a bad address',
    paragraph({ type: 'email_address', text: 'a', email_address: 'a@b' }),
    'RICH_MESSAGE_EMAIL_INVALID',
  ],
  [
    'a word as an emoji',
    paragraph({ type: 'custom_emoji', custom_emoji_id: '1', alternative_text: 'yes' }),
    'RICH_MESSAGE_EMOJI_INVALID',
  ],
  [
    'button data of 65 bytes',
    { type: 'buttons', buttons: [{ text: 'a', callback_data: 'x'.repeat(65) }] },
    'BUTTON_DATA_INVALID',
  ],
  ['a table with 21 columns', { type: 'table', cells: [row(21)] }, 'RICH_MESSAGE_TABLE_COLS_TOO_MANY'],
  [
    'a table whose spans make 21 columns',
    { type: 'table', cells: [[...row(19), { text: 'x', colspan: 2 }]] },
    'RICH_MESSAGE_TABLE_COLS_TOO_MANY',
  ],
  ['17 levels', nested(16), 'RICH_MESSAGE_DEPTH_INVALID'],
  ['5,850 formatted runs', paragraph(times(5_850, [bold('a'), 'b']).flat()), 'RICH_MESSAGE_TOO_LARGE'],
  [
    '51 pictures',
    { type: 'collage', blocks: times(51, { type: 'photo', photo: { type: 'photo', media: 'id' } }) },
    'RICH_MESSAGE_MEDIA_TOO_MANY',
  ],
])('refuses %s', async (_, block, why) => {
  expect(await refused(paragraph('before'), block)).toBe(why);
});

test('takes 20 columns, 16 levels, 5,849 formatted runs, 50 pictures and a link to an anchor', async () => {
  await kept({ type: 'table', cells: [row(20)] });
  await kept(nested(15));
  await kept(paragraph(times(5_849, [bold('a'), 'b']).flat()));
  await kept({ type: 'collage', blocks: times(50, { type: 'photo', photo: { type: 'photo', media: 'id' } }) });
  await kept(
    paragraph([
      { type: 'url', text: 'a', url: '#b' },
      { type: 'anchor', name: 'b' },
    ]),
  );
});

test('takes 32,768 characters, of any kind and in any block, and not one more', async () => {
  expect((await kept(paragraph('x'.repeat(32_768)))).text).toHaveLength(32_768);
  await kept(...times(8, paragraph('👍'.repeat(4_096))));
  expect(await refused(paragraph('x'.repeat(32_768)), { type: 'footer', text: 'y' })).toBe(
    'RICH_MESSAGE_TEXT_TOO_LONG',
  );
  const label = { type: 'buttons', buttons: [{ text: 'y', callback_data: 'z' }] };
  expect(await refused(paragraph('x'.repeat(32_768)), label)).toBe('RICH_MESSAGE_TEXT_TOO_LONG');
});

test('cuts a string of more than 35,000 bytes in silence', async () => {
  const { blocks } = await kept(paragraph('界'.repeat(20_000)), paragraph('end'));
  expect(blocks).toEqual([paragraph('界'.repeat(11_666)), paragraph('end')]);
  const emoji = await kept(paragraph('👍'.repeat(30_000)));
  expect([...emoji.text]).toHaveLength(8_749);
});

test('counts blocks, nested ones, items and rows: 500 are taken, 501 are not', async () => {
  await kept(...times(500, paragraph('x')));
  expect(await refused(...times(501, paragraph('x')))).toBe('RICH_MESSAGE_BLOCKS_TOO_MANY');
  expect(await refused({ type: 'list', items: times(250, item('x')) })).toBe('RICH_MESSAGE_BLOCKS_TOO_MANY');
  expect(await refused({ type: 'table', cells: times(500, row(1)) })).toBe('RICH_MESSAGE_BLOCKS_TOO_MANY');
  await kept({ type: 'list', items: times(249, item('x')) });
});

test('refuses a message without words, and one without a source', async () => {
  expect(await refused({ type: 'divider' }, { type: 'anchor', name: 'a' })).toBe('RICH_MESSAGE_EMPTY');
  expect(await refused()).toBe('RICH_MESSAGE_EMPTY');
  const { refusal } = await startBot();
  for (const rich_message of [undefined, {}, 'x', []]) {
    expect(await refusal('sendRichMessage', { chat_id: CHAT, rich_message })).toBe('rich message must be non-empty');
  }
});
