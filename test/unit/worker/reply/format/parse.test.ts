import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { plainText } from '../../../../../worker/reply/format/plain.ts';
import { type Block, type Inline, paragraph, plain } from '../../../../../worker/reply/format/tree.ts';
import { cpuMs, graphemeTexts, LINEAR_MS_MAX, rawTexts, SEEDED } from '../../../../fixture/texts.ts';

const text = (said: string): Block => paragraph(plain(said));
const code = (said: string): Inline => ({ type: 'code', text: said });
const bold = (said: string): Inline => ({ type: 'bold', inlines: [plain(said)] });

test('keeps single newlines in a paragraph', () => {
  expect(parse('one\ntwo  \nthree\\\nfour<br>five')).toEqual([text('one\ntwo\nthree\nfour\nfive')]);
});

test.each<[string, Block[]]>([
  [
    'a **b** *c* ~~d~~ ||e|| `f`',
    [
      paragraph(
        plain('a '),
        bold('b'),
        plain(' '),
        { type: 'italic', inlines: [plain('c')] },
        plain(' '),
        { type: 'strike', inlines: [plain('d')] },
        plain(' '),
        { type: 'spoiler', inlines: [plain('e')] },
        plain(' '),
        code('f'),
      ),
    ],
  ],
  [
    '# One\n\nTwo\n===\n\nThree\n---',
    ([1, 1, 2] as const).map((level, at) => ({
      type: 'heading',
      level,
      inlines: [plain(['One', 'Two', 'Three'][at] ?? '')],
    })),
  ],
  ['#174 is a number', [text('#174 is a number')]],
  ['***', [{ type: 'rule' }]],
  ['> a\n> > b\n\nc', [{ type: 'quote', blocks: [text('a'), { type: 'quote', blocks: [text('b')] }] }, text('c')]],
  ['```ts\n\tif (a)\n\t\tb();\n```', [{ type: 'code', text: '    if (a)\n        b();', language: 'ts' }]],
  ['```\na\n\nb', [{ type: 'code', text: 'a\n\nb' }]],
  ['```js title="x.js"\na\n```', [{ type: 'code', text: 'a', language: 'js' }]],
  ['```and this is said\na\n```', [{ type: 'code', text: 'and this is said\na' }]],
  ['    indented', [{ type: 'code', text: 'indented' }]],
])('reads %j', (markdown, blocks) => {
  expect(parse(markdown)).toEqual(blocks);
});

test('reads lists: nested, with code, tight or loose, numbered from any number, with tasks', () => {
  expect(parse('3. a\n   - b\n     ```js\n     x\n     ```\n4. c')).toEqual([
    {
      type: 'list',
      start: 3,
      items: [
        {
          blocks: [
            text('a'),
            { type: 'list', items: [{ blocks: [text('b'), { type: 'code', text: 'x', language: 'js' }] }] },
          ],
        },
        { blocks: [text('c')] },
      ],
    },
  ]);
  expect(parse('- a\n\n- b\n\n  c')).toEqual([
    { type: 'list', items: [{ blocks: [text('a')] }, { blocks: [text('b'), text('c')] }] },
  ]);
  expect(parse('- [x] done\n- [ ] open')).toEqual([
    {
      type: 'list',
      items: [
        { blocks: [text('done')], checked: true },
        { blocks: [text('open')], checked: false },
      ],
    },
  ]);
});

test('reads a table with its alignment, also within a list; cells beyond the header are kept', () => {
  expect(parse('- x\n\n  | a | b |\n  |:-:|--:|\n  | `p\\|q` | **r** | s |')).toEqual([
    {
      type: 'list',
      items: [
        {
          blocks: [
            text('x'),
            {
              type: 'table',
              header: [[plain('a')], [plain('b')], []],
              align: ['center', 'right', 'left'],
              rows: [[[code('p|q')], [bold('r')], [plain('s')]]],
            },
          ],
        },
      ],
    },
  ]);
});

test('shows HTML as it is written, except details and line breaks', () => {
  expect(parse('Use <name> or\n<div class="x">\n<b>this</b></div> <!-- note -->')).toEqual([
    text('Use <name> or\n<div class="x">\n<b>this</b></div> <!-- note -->'),
  ]);
  expect(parse('a\n<details open><summary>More **here**</summary>\n\n- b\n\n</details>\n\nc')).toEqual([
    text('a'),
    {
      type: 'details',
      summary: [plain('More '), bold('here')],
      blocks: [{ type: 'list', items: [{ blocks: [text('b')] }] }],
    },
    text('c'),
  ]);
  expect(parse('<details>\nnever closed')).toEqual([text('<details>\nnever closed')]);
  expect(parse('<details><summary>only</summary></details>')).toEqual([text('only')]);
});

test('display formulas are blocks: between double dollars, after text, or in a math fence', () => {
  const formula = (said: string): Block => ({ type: 'formula', text: said });
  expect(parse('$$\na \\\\\n- b\n$$\n\nc:\n$$d$$\ne\n```math\nf\n```')).toEqual([
    formula('a \\\\\n- b'),
    text('c:'),
    formula('d'),
    text('e'),
    formula('f'),
  ]);
  expect(parse('inline $$x$$ here')).toEqual([
    paragraph(plain('inline '), { type: 'formula', text: 'x' }, plain(' here')),
  ]);
});

test('footnotes are a list at the end, numbered if their labels are', () => {
  expect(parse('a[^1] b[^2]\n\n[^1]: one\n[^2]: two\n\nc')).toEqual([
    text('a[1] b[2]'),
    text('c'),
    { type: 'list', start: 1, items: [{ blocks: [text('one')] }, { blocks: [text('two')] }], isNotes: true },
  ]);
  const [, notes] = parse('a[^x]\n\n[^x]: one **two**');
  expect(notes).toEqual({
    type: 'list',
    items: [{ blocks: [paragraph(plain('[x] '), plain('one '), bold('two'))] }],
    isNotes: true,
  });
});

test.each([
  ['unbalanced marks', '**a *b `c [d](e ||f ~~g $h <i'],
  ['5,000 quotes in each other', `${'>'.repeat(5_000)} a`],
  ['a list in a list, 500 times', Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth * 2)}- a`).join('\n')],
  ['5,000 brackets', `${'['.repeat(5_000)}a${']'.repeat(5_000)}`],
])('shows %s with all its letters', (_, markdown) => {
  const bare = (said: string) => said.replaceAll(/[^a-z]/g, '');
  expect(bare(plainText(parse(markdown)))).toBe(bare(markdown));
});

const MARKS = '** * _ __ ~~ || ` `` $ $$ [ ] ](https://x.org) ](w) ![ < > <br> \\ &amp; |'.split(' ');
const STARTS =
  '\n·\n\n·\n- ·\n  - ·\n1. ·\n> ·\n# ·\n```\n·\n```ts\n·\n    ·\n| ·\n|-|-|\n·\n---\n·\n$$\n·\n[^1]: ·\n[a]: https://x.org\n·\n<details><summary>·</summary>·\n</details>\n·\t'.split(
    '·',
  );

/** Numbered words with any marks around them. */
const markdowns = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constant('') }, fc.constantFrom(...MARKS), fc.constantFrom(...STARTS)), {
    maxLength: 60,
  })
  .map((marks) =>
    marks.map((mark, at) => `${mark}${mark === '' ? ' ' : ''}w${at}w${at % 3 === 0 ? ' ' : ''}`).join(''),
  );

test('loses no word, whatever the marks are', () => {
  fc.assert(
    fc.property(markdowns, (markdown) => {
      const blocks = parse(markdown);
      const said = JSON.stringify(blocks);
      expect((markdown.match(/w\d+w/g) ?? []).filter((word) => !said.includes(word))).toEqual([]);
    }),
    { ...SEEDED, numRuns: 1_000 },
  );
});

test('never throws, and what it returns is plain JSON', () => {
  const noise = fc
    .array(fc.oneof(rawTexts(60), graphemeTexts(10), fc.constantFrom(...MARKS, ...STARTS)), { maxLength: 40 })
    .map((all) => all.join(''));
  fc.assert(
    fc.property(noise, (markdown) => {
      const blocks = parse(markdown);
      expect(JSON.parse(JSON.stringify(blocks))).toEqual(blocks);
      expect(JSON.stringify(blocks).isWellFormed()).toBe(true);
    }),
    SEEDED,
  );
});

test.each(
  '_a__·*a**b ·**a ·[·![·[a](·[a][·<·<a ·`·`a``·~~a~·||a ·$a ·$$\n·\\·&amp;·> ·- a\n·- ·|·# a\n·```\n·<details>\n·[^a]: b\n·[a]: http://b\n·\n· ·\t·a\n\n·!·[a](b)·a@b.c '.split(
    '·',
  ),
)('reads 64 KB of %j in linear time', (pattern) => {
  const start = cpuMs();
  parse(pattern.repeat(65_536 / pattern.length));
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

test('reads a long answer in pieces, and code that is cut stays code', () => {
  const blocks = parse(`${'A line.\n\n'.repeat(20_000)}\`\`\`ts\n${'const a = 1;\n\n'.repeat(10_000)}\`\`\`\nEnd.`);
  const codes = blocks.filter(({ type }) => type === 'code');
  expect(codes.length).toBeGreaterThan(1);
  expect(codes.every((block) => block.type === 'code' && block.language === 'ts')).toBe(true);
  expect(blocks.at(-1)).toEqual(text('End.'));
  expect(plainText(blocks).match(/A line|const a/g)).toHaveLength(30_000);
});
