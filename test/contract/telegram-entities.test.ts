import { expect, test } from '@jest/globals';
import { CHAT, startBot } from '../fixture/bot-api.ts';

interface Mark {
  type: string;
  offset: number;
  length: number;
  [more: string]: unknown;
}

const mark = (type: string, offset: number, length: number, more: object = {}): Mark => ({
  type,
  offset,
  length,
  ...more,
});

/** What is shown of a text with entities. */
async function shown(text: string, entities: unknown[]): Promise<[string, unknown[]]> {
  const { telegram, call } = await startBot();
  const answer = await call('sendMessage', { chat_id: CHAT, text, entities });
  expect(answer).toMatchObject({ ok: true });
  const [message] = telegram.shown(CHAT);
  expect((answer.result as { entities?: unknown[] }).entities ?? []).toEqual(message?.entities ?? []);
  return [message?.text ?? '', message?.entities ?? []];
}

async function refused(text: string, entities: unknown[]): Promise<string> {
  const { telegram, refusal } = await startBot();
  const why = await refusal('sendMessage', { chat_id: CHAT, text, entities });
  expect(telegram.shown(CHAT)).toEqual([]);
  return why;
}

test('entities move with the text when white space around it is trimmed', async () => {
  expect(await shown('\n  one two  \n', [mark('bold', 7, 3)])).toEqual(['one two', [mark('bold', 4, 3)]]);
});

test('an entity that ends in trimmed white space ends with the text, and one that stands there is gone', async () => {
  expect(await shown('one  ', [mark('bold', 0, 5), mark('italic', 4, 1)])).toEqual(['one', [mark('bold', 0, 3)]]);
});

test('a carriage return is removed, a tab becomes a blank, and entities keep their words', async () => {
  expect(await shown('a\r\n\tb c', [mark('bold', 6, 1)])).toEqual(['a\n b c', [mark('bold', 5, 1)]]);
});

test('a sent text of blanks, tabs and line breaks alone is refused, one of NBSP is not', async () => {
  expect(await refused(' \t\n', [])).toBe('text must be non-empty');
  expect((await shown('\u00a0', []))[0]).toBe('\u00a0');
});

test.each([
  [[mark('bold', 2, 3)], 'entity beginning at UTF-16 offset 2 ends after the end of the text at UTF-16 offset 5'],
  [[mark('bold', 9, 1)], 'entity begins after the end of the text at UTF-16 offset 9'],
  [[mark('bold', 3, 1)], 'entity begins in a middle of a UTF-16 symbol at byte offset 6'],
  [[mark('bold', 0, 3)], 'entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 6'],
  [[mark('bold', -1, 3)], 'receive an entity with incorrect offset -1'],
  [[mark('shouting', 0, 1)], "can't parse MessageEntity: Unsupported type specified"],
  [[{ type: 'bold', offset: 0 }], 'can\'t parse MessageEntity: Can\'t find field "length"'],
  [[{ type: 'bold', offset: 'x', length: 1 }], 'can\'t parse MessageEntity: Field "offset" must be a valid Number'],
  [[mark('text_link', 0, 1)], 'can\'t parse MessageEntity: Can\'t find field "url"'],
  [['bold'], "can't parse MessageEntity: expected an Object"],
  [[mark('date_time', 0, 1, { unix_time: 1, date_time_format: 'x' })], 'Invalid date-time format specified'],
])('refuses %j in "ab👍" (case %#)', async (entities, why) => {
  const said = await refused('ab👍', entities);
  expect(said).toContain(why);
});

test('of more than 100 entities the first 100 are kept, and the rest is dropped in silence', async () => {
  const text = 'ab'.repeat(130);
  const many = Array.from({ length: 130 }, (_, at) => mark('code', at * 2, 1));
  expect((await shown(text, many))[1]).toEqual(many.slice(0, 100));
});

test('refuses entities of more than 9,500 bytes', async () => {
  const link = (length: number) => [mark('text_link', 0, 1, { url: `https://example.org/${'x'.repeat(length)}` })];
  expect(await refused('a', link(9_500))).toBe('ENTITIES_TOO_LONG');
  expect((await shown('a', link(9_000)))[1]).toHaveLength(1);
});

test.each([
  [
    'code in bold',
    [mark('bold', 0, 6), mark('code', 2, 2)],
    [mark('bold', 0, 2), mark('code', 2, 2), mark('bold', 4, 2)],
  ],
  ['bold in pre', [mark('pre', 0, 6), mark('bold', 2, 2)], [mark('pre', 0, 6)]],
  ['a link in code', [mark('code', 0, 6), mark('text_link', 2, 2, { url: 'https://a.de' })], [mark('code', 0, 6)]],
  ['code that overlaps code', [mark('code', 0, 4), mark('code', 2, 4)], [mark('code', 0, 4)]],
  ['a quote in a quote', [mark('blockquote', 0, 6), mark('expandable_blockquote', 2, 2)], [mark('blockquote', 0, 6)]],
  ['code that leaves a quote', [mark('blockquote', 0, 4), mark('code', 2, 4)], [mark('blockquote', 0, 4)]],
  ['code in a quote', [mark('blockquote', 0, 6), mark('code', 2, 2)], [mark('blockquote', 0, 6), mark('code', 2, 2)]],
  ['two bolds that touch', [mark('bold', 0, 3), mark('bold', 3, 3)], [mark('bold', 0, 6)]],
  [
    'italic in bold',
    [mark('bold', 0, 6), mark('italic', 2, 2)],
    [mark('bold', 0, 2), mark('bold', 2, 4), mark('italic', 2, 2)],
  ],
  ['a bad link', [mark('text_link', 0, 2, { url: 'docs/readme' }), mark('bold', 2, 2)], [mark('bold', 2, 2)]],
  ['a javascript link', [mark('text_link', 0, 2, { url: 'javascript:alert(1)' })], []],
  ['a mention that the server finds itself', [mark('mention', 0, 2)], []],
  ['an empty entity', [mark('bold', 2, 0)], []],
])('%s is put right', async (_, entities, right) => {
  expect((await shown('abcdef', entities))[1]).toEqual(right);
});

test.each(['https://example.org', 'example.org/a?b', 'tg://user?id=5', 'http://пример.рф', 'https://[2001:db8::1]/'])(
  'keeps a link to %s',
  async (url) => {
    expect((await shown('a', [mark('text_link', 0, 1, { url })]))[1]).toEqual([mark('text_link', 0, 1, { url })]);
  },
);

test.each([
  'localhost',
  'https://localhost/',
  'ftp://example.org',
  './a',
  '#anchor',
  'https://a b.de',
  'http://a.de:99999',
])('drops a link to %s', async (url) => {
  expect((await shown('a', [mark('text_link', 0, 1, { url })]))[1]).toEqual([]);
});

test('the language of pre, the user of a mention and the id of an emoji are kept', async () => {
  const entities = [
    mark('pre', 0, 1, { language: 'ts' }),
    mark('text_mention', 1, 1, { user: { id: 7, first_name: 'Ann' } }),
    mark('custom_emoji', 2, 1, { custom_emoji_id: '5368324170671202286' }),
    mark('date_time', 3, 1, { unix_time: 5, date_time_format: 'wDT' }),
  ];
  expect((await shown('abcd', entities))[1]).toEqual(entities);
});

test('a server before 9.5 has no date_time entity', async () => {
  const { refusal } = await startBot({ apiVersion: '9.4' });
  const entities = [mark('date_time', 0, 1, { unix_time: 5, date_time_format: 'r' })];
  expect(await refusal('sendMessage', { chat_id: CHAT, text: 'a', entities })).toContain('Unsupported type');
});

test('an edit puts entities right, and the same entities in another order are no change', async () => {
  const { telegram, send, refusal } = await startBot();
  const entities = [mark('bold', 0, 1), mark('code', 2, 1)];
  const message_id = await send('sendMessage', { chat_id: CHAT, text: 'a b', entities });
  const edit = { chat_id: CHAT, message_id, text: 'a b ', entities: entities.toReversed() };
  expect(await refusal('editMessageText', edit)).toMatch(/^message is not modified/);
  await send('editMessageText', { ...edit, entities: [mark('pre', 0, 3), mark('bold', 1, 1)] });
  expect(telegram.shown(CHAT)[0]?.entities).toEqual([mark('pre', 0, 3)]);
  await send('editMessageText', { ...edit, entities: [] });
  expect(telegram.shown(CHAT)[0]).not.toHaveProperty('entities');
});

test('a caption has entities of its own', async () => {
  const { telegram, call } = await startBot();
  const caption_entities = [mark('bold', 2, 3)];
  const sent = { chat_id: CHAT, document: 'file-id', caption: '  one', caption_entities };
  const { result } = await call('sendDocument', sent);
  expect(result).toMatchObject({ caption: 'one', caption_entities: [mark('bold', 0, 3)] });
  expect(telegram.shown(CHAT)).toMatchObject([{ text: 'one', entities: [mark('bold', 0, 3)] }]);
});

test('refuses a text of more than 32,768 bytes before it looks at its length', async () => {
  expect(await refused('界'.repeat(11_000), [])).toBe('text is too long');
  expect(await refused('界'.repeat(10_000), [])).toBe('message is too long');
});
