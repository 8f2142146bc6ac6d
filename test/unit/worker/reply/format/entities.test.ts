import type { MessageEntity } from '@grammyjs/types';
import { expect, test } from '@jest/globals';
import { type Block, paragraph, plain } from '../../../../../shared/flow/reply.ts';
import { type Formatted, finishCanvas } from '../../../../../worker/reply/format/canvas.ts';
import { plainText, withEntities } from '../../../../../worker/reply/format/entities.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { expectTakable } from '../../../../fixture/takable.ts';

/** The text, and each entity with what it marks. */
function shown(markdown: string): [string, ...string[]] {
  const formatted = withEntities(parse(markdown));
  expectTakable(formatted);
  return [formatted.text, ...formatted.entities.map((entity) => described(formatted, entity))];
}

function described({ text }: Formatted, entity: Formatted['entities'][number]): string {
  const { type, offset, length } = entity;
  const about = entity.type === 'text_link' ? entity.url : entity.type === 'pre' ? entity.language : undefined;
  return `${type}${about === undefined ? '' : ` ${about}`}: ${text.slice(offset, offset + length)}`;
}

test.each<[string, string, ...string[]]>([
  ['a **b** *c* ~~d~~ ||e|| `f`', 'a b c d e f', 'bold: b', 'italic: c', 'strikethrough: d', 'spoiler: e', 'code: f'],
  ['**a *b* c**', 'a b c', 'bold: a b c', 'italic: b'],
  ['**a `b` c**', 'a b c', 'bold: a', 'code: b', 'bold: c'],
  ['# A `b`\n\nc', 'A b\n\nc', 'bold: A', 'code: b'],
  ['**a **b** c**', 'a b c', 'bold: a b c'],
  ['[a `b`](https://x.org)', 'a b', 'text_link https://x.org: a b'],
  ['https://x.org', 'https://x.org'],
  ['[`https://x.org`](https://x.org)', 'https://x.org', 'text_link https://x.org: https://x.org'],
  ['||a `b`||', 'a b', 'spoiler: a b'],
  ['```ts\na\n```', 'a', 'pre ts: a'],
  ['a $x^2$', 'a x^2', 'code: x^2'],
  ['$$\nx\n$$', 'x', 'pre latex: x'],
  ['a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['> a **b**\n\nc', 'a b\n\nc', 'blockquote: a b', 'bold: b'],
  ['> a\n> > b\n> > c', 'a\n\n> b\n> c', 'blockquote: a\n\n> b\n> c'],
  ['> ```\n>   a\n> ```', '  a', 'blockquote:   a', 'pre:   a'],
  ['<details><summary>a</summary>\n\nb\n\nc\n\n</details>', 'a\nb\n\nc', 'bold: a'],
  ['- # a\n- ***', '• a\n• ———', 'bold: a'],
  [
    '|a|\n|-|\n|[x](https://x.org) **[y](https://y.org)**|',
    'a\n---\nx y\nx · y',
    'pre: a\n---\nx y',
    'text_link https://x.org: x',
    'text_link https://y.org: y',
  ],
  ['👩‍👩‍👧‍👦 **b** שלום *עולם*', '👩‍👩‍👧‍👦 b שלום עולם', 'bold: b', 'italic: עולם'],
])('draws %j', (markdown, ...expected) => {
  expect(shown(markdown)).toEqual(expected);
});

test.each<[string, string]>([
  ['- a\n- b\n\n  c\n- d', '• a\n• b\n  c\n• d'],
  ['9. a\n10. b\n    - c\n      d', '9. a\n10. b\n    • c\n      d'],
  ['- [x] a\n- [ ] b', '☑ a\n☐ b'],
  ['- - a\n  - b', '• • a\n  • b'],
  ['- a\n-\n- b', '• a\n•\n• b'],
])('draws the list %j', (markdown, expected) => {
  expect(shown(markdown)).toEqual([expected]);
});

test('code in a list has no indentation of its own', () => {
  expect(shown('- a\n  ```py\n  if b:\n      c\n  ```\n- ```\n  d\n  ```')).toEqual([
    '• a\nif b:\n    c\n•\nd',
    'pre py: if b:\n    c',
    'pre: d',
  ]);
});

test('a quote of eight lines or more is folded', () => {
  const quote = (lines: number) => Array.from({ length: lines }, (_, at) => `> ${at}`).join('\n');
  expect(shown(quote(7))[1]).toMatch(/^blockquote: /);
  expect(shown(quote(8))[1]).toMatch(/^expandable_blockquote: /);
});

test('a table is monospaced, and the links of its cells follow it', () => {
  expect(shown('| a | price |\n|---|--:|\n| [x](https://x.org) | **7** |\n| 世界 | 10 |')).toEqual([
    'a    | price\n-----+------\nx    |     7\n世界 |    10\nx',
    'pre: a    | price\n-----+------\nx    |     7\n世界 |    10',
    'text_link https://x.org: x',
  ]);
});

test('keeps the indentation of code at the beginning of a message, and no other white space', () => {
  expect(withEntities([{ type: 'code', text: '\n  a\n' }])).toEqual({
    text: '  a',
    entities: [{ type: 'pre', offset: 0, length: 3 }],
  });
});

test('draws a moment that each reader sees by their own clock, and details in an item', () => {
  expect(withEntities([paragraph({ type: 'time', text: 'noon', atMs: 1_500 })])).toEqual({
    text: 'noon',
    entities: [{ type: 'date_time', unix_time: 1, date_time_format: 'wDt', offset: 0, length: 4 }],
  });
  const details: Block = { type: 'details', summary: [plain('a')], blocks: [paragraph(plain('b'))] };
  expect(plainText([{ type: 'list', items: [{ blocks: [details] }] }])).toBe('• a\n  b');
});

test('code that is only white space has no mark', () => {
  const blank: Block = { type: 'code', text: '  ' };
  expect(withEntities([blank, paragraph(plain(' a')), blank, paragraph(plain('b'))])).toEqual({
    text: 'a\n\n  \n\nb',
    entities: [],
  });
});

test.each([
  ['spoiler', 'pre'],
  ['pre', 'expandable_blockquote'],
  ['expandable_blockquote', 'blockquote'],
  ['blockquote', 'code'],
  ['code', 'bold'],
  ['bold', 'strikethrough'],
  ['strikethrough', 'italic'],
] as const)('of too many marks %s stays rather than %s', (more, less) => {
  const entities = [...Array(105).keys()].map((offset) => ({ type: offset < 5 ? less : more, offset, length: 1 }));
  expect(finishCanvas({ text: 'x'.repeat(105), entities, lead: undefined }).entities).toEqual(entities.slice(5));
});

test('of marks that are as important the first stay: a hundred, or 9,000 bytes with a comma behind each', () => {
  const bold = [...Array(105).keys()].map((offset) => ({ type: 'bold' as const, offset, length: 1 }));
  const link = { type: 'text_link' as const, url: 'x'.repeat(299 - 53), length: 1 };
  const links = [...Array(31).keys()].map((at) => ({ ...link, offset: at + 10 }));
  const kept = (entities: MessageEntity[]) =>
    finishCanvas({ text: 'x'.repeat(105), entities, lead: undefined }).entities;
  expect(kept(bold.toReversed())).toEqual(bold.slice(0, 100));
  expect(kept(links)).toEqual(links.slice(0, 30));
});
