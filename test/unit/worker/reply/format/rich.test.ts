import type { RichText } from '@grammyjs/types';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Block, paragraph, plain } from '../../../../../shared/flow/reply.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { type RichBlock, richBlocks } from '../../../../../worker/reply/format/rich.ts';
import { fitsRich, RICH_MAX, richSize } from '../../../../../worker/reply/format/rich-limits.ts';
import { SEEDED } from '../../../../fixture/texts.ts';
import { trees } from '../../../../fixture/trees.ts';

const text = (said: RichText): RichBlock => ({ type: 'paragraph', text: said });

test.each<[string, RichBlock[]]>([
  ['a\nb', [text('a\nb')]],
  [
    'a **b *c*** ||d||',
    [text(['a ', { type: 'bold', text: ['b ', { type: 'italic', text: 'c' }] }, ' ', { type: 'spoiler', text: 'd' }])],
  ],
  ['[a](https://x.org)', [text({ type: 'url', text: 'a', url: 'https://x.org' })]],
  ['https://x.org', [text({ type: 'url', text: 'https://x.org', url: 'https://x.org' })]],
  ['a `b`', [text(['a ', { type: 'code', text: 'b' }])]],
  ['a $x^2$', [text(['a ', { type: 'mathematical_expression', expression: 'x^2' }])]],
  ['$$\nx\n$$', [{ type: 'mathematical_expression', expression: 'x' }]],
  ['## a', [{ type: 'heading', text: 'a', size: 2 }]],
  ['```ts\na\n```', [{ type: 'pre', text: 'a', language: 'ts' }]],
  ['---', [{ type: 'divider' }]],
  ['> a', [{ type: 'blockquote', blocks: [text('a')] }]],
  [
    '3. a\n4. b',
    [
      {
        type: 'list',
        items: [
          { blocks: [text('a')], value: 3, type: '1' },
          { blocks: [text('b')], value: 4, type: '1' },
        ],
      },
    ],
  ],
  [
    '- [x] a\n- [ ] b',
    [
      {
        type: 'list',
        items: [
          { blocks: [text('a')], has_checkbox: true, is_checked: true },
          { blocks: [text('b')], has_checkbox: true },
        ],
      },
    ],
  ],
])('draws %j', (markdown, expected) => {
  expect(richBlocks(parse(markdown))).toEqual(expected);
});

test('draws a table with its header and alignment; an empty cell has no text', () => {
  expect(richBlocks(parse('| a | |\n|:-:|--:|\n| **b** | c |'))).toEqual([
    {
      type: 'table',
      cells: [
        [
          { text: 'a', is_header: true, align: 'center', valign: 'top' },
          { is_header: true, align: 'right', valign: 'top' },
        ],
        [
          { text: { type: 'bold', text: 'b' }, align: 'center', valign: 'top' },
          { text: 'c', align: 'right', valign: 'top' },
        ],
      ],
      is_bordered: true,
      is_compact: true,
    },
  ]);
});

test('a formula within details is code', () => {
  expect(richBlocks(parse('<details><summary>$a$</summary>\n\n- $x$\n\n$$y$$\n\n</details>'))).toEqual([
    {
      type: 'details',
      summary: { type: 'code', text: 'a' },
      blocks: [
        { type: 'list', items: [{ blocks: [text({ type: 'code', text: 'x' })] }] },
        { type: 'pre', text: 'y', language: 'latex' },
      ],
    },
  ]);
});

test('a moment is its text, and details of which nothing is shown are their summary', () => {
  expect(richBlocks([paragraph(plain(''), { type: 'time', text: 'noon', atMs: 0 })])).toEqual([text('noon')]);
  expect(richBlocks([{ type: 'details', summary: [plain('a')], blocks: [paragraph()] }])).toEqual([text('a')]);
});

test('nothing that is sent is empty', () => {
  const nothing: Block[] = [
    paragraph(),
    paragraph({ type: 'bold', inlines: [plain('')] }),
    paragraph({ type: 'code', text: '' }),
    { type: 'code', text: '' },
    { type: 'formula', text: '' },
    { type: 'quote', blocks: [paragraph()] },
    { type: 'list', items: [{ blocks: [] }] },
    { type: 'details', summary: [], blocks: [] },
  ];
  expect(richBlocks(nothing)).toEqual([]);
  fc.assert(
    fc.property(trees, (blocks) => expect(JSON.stringify(richBlocks(blocks))).not.toMatch(/""|\[\](?!,?\])/)),
    { ...SEEDED, endOnFailure: true },
  );
});

test('measures characters as code points, and counts blocks, items, rows, runs, depth and columns', () => {
  expect(richSize(richBlocks(parse('👍 **b**')))).toEqual({ chars: 3, blocks: 1, runs: 3, depth: 1, columns: 0 });
  expect(richSize(richBlocks(parse('- a\n  - b')))).toEqual({ chars: 2, blocks: 6, runs: 2, depth: 5, columns: 0 });
  expect(richSize(richBlocks(parse('$$xy$$\n\na $z$')))).toMatchObject({ chars: 5, blocks: 2, runs: 3 });
  expect(richSize(richBlocks(parse('| a | |\n|---|---|')))).toMatchObject({ chars: 1, blocks: 2, runs: 2 });
  expect(richSize(richBlocks(parse('> | a | b |\n> |--|--|\n> | c | d |')))).toEqual({
    chars: 4,
    blocks: 4,
    runs: 4,
    depth: 2,
    columns: 2,
  });
});

test.each<[keyof typeof RICH_MAX, (count: number) => Block[]]>([
  ['chars', (count) => [paragraph(plain('👍'.repeat(count)))]],
  ['blocks', (count) => Array.from({ length: count }, () => paragraph(plain('a')))],
  ['runs', (count) => [paragraph(...Array.from({ length: count }, () => plain('a')))]],
  [
    'depth',
    (count) =>
      Array.from({ length: count - 1 }).reduce<Block[]>(
        (blocks) => [{ type: 'quote', blocks }],
        [paragraph(plain('a'))],
      ),
  ],
  [
    'columns',
    (count) => [{ type: 'table', header: Array.from({ length: count }, () => [plain('a')]), align: [], rows: [] }],
  ],
])('a rich message holds so many %s and no more', (limit, blocksOf) => {
  expect(fitsRich(blocksOf(RICH_MAX[limit]))).toBe(true);
  expect(fitsRich(blocksOf(RICH_MAX[limit] + 1))).toBe(false);
});
