import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';
import { bold, item, kept, paragraph, refused, rich, row, times } from '../fixture/rich.ts';

test('a rich message has blocks and no text, and what is shown has its words too', async () => {
  const blocks = [
    { type: 'heading', text: 'Prices', size: 2 },
    paragraph(['as of ', bold(['to', { type: 'italic', text: 'day' }])]),
    { type: 'list', items: [item('first', { type: '1', value: 3 }), item('second', { type: '1', value: 4 })] },
    {
      type: 'list',
      items: [item('done', { has_checkbox: true, is_checked: true }), item('open', { has_checkbox: true })],
    },
    { type: 'table', cells: [[{ text: 'a', is_header: true }, { text: 'b' }]], is_compact: true },
    { type: 'pre', text: 'let x;', language: 'ts' },
    { type: 'divider' },
    { type: 'details', summary: 'more', blocks: [paragraph('inside')] },
    { type: 'mathematical_expression', expression: 'x^2' },
  ];
  const { text } = await kept(...blocks);
  expect(text.split('\n')).toEqual([
    'Prices',
    'as of today',
    '3. first',
    '4. second',
    '[x] done',
    '[ ] open',
    'a | b',
    'let x;',
    '———',
    'more',
    'inside',
    'x^2',
  ]);
});

test('the answer joins adjacent strings, drops unknown fields, and says how items and cells are shown', async () => {
  const { blocks } = await kept(
    { type: 'paragraph', text: ['a', 'b', [bold('c')], ''], align: 'center' },
    { type: 'list', items: [item('x', { checked: true, value: 7 })], ordered: true },
    {
      type: 'table',
      cells: [
        [
          { text: 'h', is_header: true },
          { text: 't', align: 'right', colspan: 2 },
        ],
      ],
    },
  );
  expect(blocks).toEqual([
    { type: 'paragraph', text: ['ab', bold('c')] },
    { type: 'list', items: [{ label: '•', blocks: [paragraph('x')] }] },
    {
      type: 'table',
      cells: [
        [
          { text: 'h', is_header: true, align: 'center', valign: 'top' },
          { text: 't', colspan: 2, align: 'right', valign: 'top' },
        ],
      ],
    },
  ]);
});

test.each([
  ['an unknown type', { type: 'sectionHeading' }, 'type "sectionHeading" is unsupported'],
  ['a format that is no block', { type: 'bold', text: 'a' }, 'type "bold" is unsupported'],
  ['a block without a type', { text: 'a' }, 'Can\'t find field "type"'],
  ['a string', 'a', 'expected an Object'],
  ['a heading without a size', { type: 'heading', text: 'a' }, 'Can\'t find field "size"'],
  ['a paragraph without a text', { type: 'paragraph' }, 'Can\'t find field "text"'],
  ['a rich text without a type', paragraph({ text: 'a' }), 'Can\'t find field "type"'],
  ['a rich text of type plain', paragraph({ type: 'plain', text: 'a' }), 'Unsupported rich text type'],
  ['a number as rich text', paragraph([7]), 'Unsupported rich text type'],
  ['bold without a text', paragraph({ type: 'bold' }), 'Can\'t find field "text"'],
  ['a link without a URL', paragraph({ type: 'url', text: 'a' }), 'Can\'t find field "url"'],
  [
    'an emoji whose id is no number',
    paragraph({ type: 'custom_emoji', custom_emoji_id: 'x', alternative_text: '👍' }),
    'Field "custom_emoji_id" must be a valid Number',
  ],
  ['a table without cells', { type: 'table', rows: [] }, 'Can\'t find field "cells"'],
  [
    'a table whose rows are objects',
    { type: 'table', cells: [{ cells: [] }] },
    'Field "cells" must be an Array of Arrays',
  ],
  ['a list without items', { type: 'list', blocks: [] }, 'Can\'t find field "items"'],
  ['an item without blocks', { type: 'list', items: [{ text: 'a' }] }, 'Can\'t find field "blocks"'],
  [
    'details without a summary',
    { type: 'details', title: 'a', blocks: [paragraph('b')] },
    'Can\'t find field "summary"',
  ],
  ['a block that thinks, outside of a draft', { type: 'thinking', text: 'a' }, 'type "thinking" is unsupported'],
  [
    'a photo by its address alone',
    { type: 'photo', photo: 'https://a.de/b.jpg' },
    'Field "photo" must be of type Object',
  ],
  [
    'a button in an unknown style',
    { type: 'buttons', buttons: [{ text: 'a', style: 'pink', callback_data: 'b' }] },
    'invalid button style specified',
  ],
  [
    'nine buttons in a row',
    { type: 'buttons', buttons: times(9, { text: 'a', callback_data: 'b' }) },
    'must have 1-8 buttons',
  ],
])('refuses %s and names the field', async (_, block, why) => {
  expect(await refused(paragraph('before'), block)).toMatch(/^can't parse InputRichBlock: /);
  expect(await refused(paragraph('before'), block)).toContain(why);
});

test('takes exactly one source, and of the sources it reads blocks only', async () => {
  const { refusal } = await startBot();
  const sent = (rich_message: object) => refusal('sendRichMessage', { chat_id: CHAT, rich_message });
  expect(await sent({ markdown: '*a*' })).toBe('the stand-in does not read rich markdown');
  expect(await sent({ html: '<b>a</b>' })).toBe('the stand-in does not read rich html');
  expect(await sent({ markdown: 'a', blocks: [paragraph('a')] })).toContain('exactly one of the fields');
});

test('reads the blocks before it looks for the chat, and their limits after', async () => {
  const { refusal } = await startBot();
  const nowhere = (block: object) => refusal('sendRichMessage', { ...rich(block), chat_id: 5 });
  expect(await nowhere({ type: 'heading', text: 'a' })).toContain('"size"');
  expect(await nowhere({ type: 'table', cells: [row(21)] })).toBe('chat not found');
});

test('editMessageText makes a plain message rich, a rich one plain, and refuses the same again', async () => {
  const { telegram, send, refusal } = await startBot();
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'plain' });
  await send('editMessageText', { ...rich(paragraph('rich')), message_id });
  expect(telegram.shown(CHAT)).toMatchObject([
    { text: 'rich', rich: [paragraph('rich')], edits: 1, notified: 'plain' },
  ]);
  expect(await refusal('editMessageText', { ...rich(paragraph(['ri', 'ch'])), message_id })).toMatch(/is not modified/);
  await send('editMessageText', { chat_id: CHAT, message_id, text: 'rich' });
  expect(telegram.shown(CHAT)[0]).not.toHaveProperty('rich');
  expect(await refusal('editMessageText', { ...rich({ type: 'heading', text: 'a' }), message_id })).toContain('"size"');
  const file = await send('sendDocument', { chat_id: CHAT, document: 'id' });
  expect(await refusal('editMessageText', { ...rich(paragraph('a')), message_id: file })).toMatch(/^there is no text/);
});

test('a rich message can be a reply, be silent and have a keyboard', async () => {
  const { telegram, send } = await startBot();
  telegram.say(CHAT, 'hello', { messageId: 50 });
  const keyboard = { inline_keyboard: [[{ text: 'a', callback_data: 'b' }]] };
  const reply_parameters = { message_id: 50 };
  await send('sendRichMessage', {
    ...rich(paragraph('a')),
    reply_parameters,
    disable_notification: true,
    reply_markup: keyboard,
  });
  const [message] = telegram.shown(CHAT);
  expect(message).toMatchObject({ replyTo: 50, replyMarkup: keyboard });
  expect(message).not.toHaveProperty('notified');
});

test('a server before 10.1 has no rich messages, and one before 10.3 no blocks of 10.3', async () => {
  const old = await startBot({ apiVersion: '10.0' });
  expect(await old.call('sendRichMessage', rich(paragraph('a')))).toEqual({
    ok: false,
    error_code: 404,
    description: 'Not Found: method not found',
  });
  const message_id = await old.send('sendMessage', { chat_id: CHAT, text: 'a' });
  expect(await old.refusal('editMessageText', { ...rich(paragraph('a')), message_id })).toBe('message text is empty');
  await old.send('editMessageText', { ...rich(paragraph('a')), message_id, text: 'b' });
  expect(old.telegram.shown(CHAT)).toMatchObject([{ text: 'b' }]);
  expect(old.telegram.calls.at(-1)?.params).toHaveProperty('rich_message');
  const first = await startBot({ apiVersion: '10.1' });
  expect(await first.refusal('sendRichMessage', rich(paragraph('a')))).toBe('rich message must be non-empty');
  const second = await startBot({ apiVersion: '10.2' });
  await second.send('sendRichMessage', rich(paragraph('a')));
  const quote = { type: 'expandable_blockquote', text: 'a' };
  expect(await second.refusal('sendRichMessage', rich(quote))).toContain('type "expandable_blockquote" is unsupported');
});
