import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { plainText } from '../../../../../worker/reply/format/entities.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { shown } from '../../../../fixture/tagged.ts';
import { cpuMs, forAll, forCases, graphemeTexts, LINEAR_MS_MAX, rawTexts } from '../../../../fixture/texts.ts';

const inDetails = (depth: number) => `${'<details>'.repeat(depth)}a${'</details>'.repeat(depth)}`;

test.each<[string, string]>([
  ['a **b** *c* ~~d~~ ||e|| `f`', 'a <b>b</b> <i>c</i> <s>d</s> <sp>e</sp> <c>f</c>'],
  ['one\ntwo  \nthree\\\nfour<br>five', 'one\ntwo\nthree\nfour\nfive'],
  ['# One\n\nTwo\n===\n\nThree\n---', '[h1 One]\n[h1 Two]\n[h2 Three]'],
  ['#174 is a number', '#174 is a number'],
  ['***', '[rule]'],
  ['> a\n> > b\n\nc', '[quote a\n[quote b]]\nc'],
  ['```ts\n\tif (a)\n\t\tb();\n```', '[code ts:     if (a)\n        b();]'],
  ['```\na\n\nb', '[code : a\n\nb]'],
  ['```js title="x.js"\na\n```', '[code js: a]'],
  ['```and this is said\na\n```', '[code : and this is said\na]'],
  ['    indented', '[code : indented]'],
  ['3. a\n   - b\n     ```js\n     x\n     ```\n4. c', '[list 3{a\n[list {b\n[code js: x]}]}{c}]'],
  ['- a\n\n- b\n\n  c', '[list {a}{b\nc}]'],
  ['- [x] done\n- [ ] open', '[list {[x] done}{[ ] open}]'],
  [
    '- x\n\n  | a | b |\n  |:-:|--:|\n  | `p\\|q` | **r** | s |',
    '[list {x\n[table center,right,left a|b| / <c>p|q</c>|<b>r</b>|s]}]',
  ],
  [
    'Use <name> or\n<div class="x">\n<b>this</b></div> <!-- note -->',
    'Use <name> or\n<div class="x">\n<b>this</b></div> <!-- note -->',
  ],
  [
    'a\n<details open><summary>More **here**</summary>\n\n- b\n\n</details>\n\nc',
    'a\n[details More <b>here</b>: [list {b}]]\nc',
  ],
  ['<details>\nnever closed', '<details>\nnever closed'],
  ['<details><summary>only</summary></details>', 'only'],
  ['$$\na \\\\\n- b\n$$\n\nc:\n$$d$$\ne\n```math\nf\n```', '[formula a \\\\\n- b]\nc:\n[formula d]\ne\n[formula f]'],
  ['inline $$x$$ here', 'inline <f>x</f> here'],
  ['a[^1] b[^2]\n\n[^1]: one\n[^2]: two\n\nc', 'a[1] b[2]\nc\n[notes 1{one}{two}]'],
  ['a[^x]\n\n[^x]: one **two**', 'a[x]\n[notes {[x] one <b>two</b>}]'],
  ['a\r\nb\rc', 'a\nb\nc'],
  ['```ts x=1 y\na\n```', '[code : ts x=1 y\na]'],
  ['```ts x="1" y=2\na\n```', '[code ts: a]'],
  ['```  ts  \na\n```', '[code ts: a]'],
  ['```\n \n  a\n```', '[code :   a]'],
  ['```ts\n```', 'ts'],
  ['```\na\tb\n\tc\n```', '[code : a   b\n    c]'],
  ['```math\n```', ''],
  ['```math\n x \n```', '[formula x]'],
  ['```lllllllllllllllllllllllllllllllll\na\n```', '[code : lllllllllllllllllllllllllllllllll\na]'],
  ['a[^x]\n\n[^x]: - b', 'a[x]\n[notes {[x] \n[list {b}]}]'],
  ['a[^label]\n\n[^label]:\n', 'a[label]\n[notes {[label] }]'],
  ['a[^2] b[^1]\n\n[^2]: x\n[^1]: y', 'a[2] b[1]\n[notes {[2] x}{[1] y}]'],
  ['a[^1]\n\n[^1]: b\n    c\n\td\n      e', 'a[1]\n[notes 1{b\nc\nd\n  e}]'],
  ['b[^1]\n\n[^1]: c [^1]: d', 'b[1]\n[notes 1{c [1]: d}]'],
  ['a $$x$$\nb', 'a <f>x</f>\nb'],
  ['a\n$$x$$ b', 'a\n<f>x</f> b'],
  ['a\n$$x$$\nb $$y$$\n$$z$$', 'a\n[formula x]\nb <f>y</f>\n[formula z]'],
  ['a $$ $$ b', 'a $$ $$ b'],
  ['a $$x\n$$', 'a <f>x</f>'],
  ['a\n$$\nx\n\ny$$', 'a\n$$\nx\ny$$'],
  ['a $$\nx\n \ny$$', 'a $$\nx\ny$$'],
  ['$$x\\$y$$', '[formula x\\$y]'],
  ['$$\\x$$  \nb', '[formula \\x]\nb'],
  ['a\n$$x\\\\y\nz$$\nb', 'a\n[formula x\\\\y\nz]\nb'],
  ['<details><summary>…</summary></details>', ''],
  ['<details><summary> **a** </summary> </details>', '<b>a</b>'],
  ['<details>\n\n<details>b</details>\n\nc</details>', '[details …: [details …: b]\nc]'],
  ['<DETAILS open class="x">\n<SUMMARY class="y">a</SUMMARY>b</DETAILS>', '[details a: b]'],
  ['<details>a <summary>b</summary></details>', '[details …: a <summary>b</summary>]'],
  [inDetails(8), `${'[details …: '.repeat(8)}a${']'.repeat(8)}`],
  [inDetails(9), inDetails(9)],
  [`${'> '.repeat(18)}a`, `${'[quote '.repeat(17)}> a${']'.repeat(17)}`],
])('reads %j', (markdown, read) => {
  expect(shown(parse(markdown))).toBe(read);
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
  forCases(1_000, [markdowns], (markdown) => {
    const blocks = parse(markdown);
    const said = JSON.stringify(blocks);
    expect((markdown.match(/w\d+w/g) ?? []).filter((word) => !said.includes(word))).toEqual([]);
  });
});

test('never throws, and what it returns is plain JSON', () => {
  const noise = fc
    .array(fc.oneof(rawTexts(60), graphemeTexts(10), fc.constantFrom(...MARKS, ...STARTS)), { maxLength: 40 })
    .map((all) => all.join(''));
  forAll([noise], (markdown) => {
    const blocks = parse(markdown);
    expect(JSON.parse(JSON.stringify(blocks))).toEqual(blocks);
    expect(JSON.stringify(blocks)).not.toMatch(/\\ud[89a-f]/);
  });
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
  expect(shown(blocks.slice(-1))).toBe('End.');
  expect(plainText(blocks).match(/A line|const a/g)).toHaveLength(30_000);
});
