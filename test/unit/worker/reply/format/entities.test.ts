import { expect, test } from '@jest/globals';
import { ENTITIES_MAX, type Formatted } from '../../../../../worker/reply/format/canvas.ts';
import { withEntities } from '../../../../../worker/reply/format/entities.ts';
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
  ['||a `b`||', 'a b', 'spoiler: a b'],
  ['```ts\na\n```', 'a', 'pre ts: a'],
  ['a $x^2$', 'a x^2', 'code: x^2'],
  ['$$\nx\n$$', 'x', 'pre latex: x'],
  ['a\n\n---\n\nb', 'a\n\n———\n\nb'],
  ['> a **b**\n\nc', 'a b\n\nc', 'blockquote: a b', 'bold: b'],
  ['> a\n> > b\n> > c', 'a\n\n> b\n> c', 'blockquote: a\n\n> b\n> c'],
  ['> ```\n>   a\n> ```', '  a', 'blockquote:   a', 'pre:   a'],
  ['<details><summary>a</summary>\n\nb\n\n</details>', 'a\nb', 'bold: a'],
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

test('of too many marks the least important go, never the text', () => {
  const markdown = `${'*i* '.repeat(80)}${'`c` '.repeat(80)}${'[l](https://x.org) '.repeat(30)}`;
  const formatted = withEntities(parse(markdown));
  const count = (type: string) => formatted.entities.filter((entity) => entity.type === type).length;
  expectTakable(formatted);
  expect(formatted.text).toBe(`${'i '.repeat(80)}${'c '.repeat(80)}${'l '.repeat(30)}`.trim());
  expect(formatted.entities).toHaveLength(ENTITIES_MAX);
  expect([count('text_link'), count('code'), count('italic')]).toEqual([30, 70, 0]);
});
