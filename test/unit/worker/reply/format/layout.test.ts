import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Block, Part } from '../../../../../shared/flow/reply.ts';
import { plainText, withEntities } from '../../../../../worker/reply/format/entities.ts';
import { layOut, stepDown, textOf } from '../../../../../worker/reply/format/layout.ts';
import { pack } from '../../../../../worker/reply/format/pack.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { fitsRich } from '../../../../../worker/reply/format/rich-limits.ts';
import { ENTITIES, RICH, type Ruler, TEXT_CHARS_MAX } from '../../../../../worker/reply/format/ruler.ts';
import { expectTakable } from '../../../../fixture/takable.ts';
import { cpuMs, forAll, graphemeTexts, LINEAR_MS_MAX, prose, rawTexts, SEEDED } from '../../../../fixture/texts.ts';
import { REPEATED, trees } from '../../../../fixture/trees.ts';

/** To shrink a large tree would take minutes. */
const ONCE = { ...SEEDED, numRuns: 100, endOnFailure: true };

/** What must not change at a cut: all that can be seen, but for headers and the lines of tables and quotes. */
function letters(text: string): string {
  return text.replaceAll(/[\s|+>-]/g, '').replaceAll(REPEATED, '');
}

/** The messages of a tree, after proof that Telegram takes each and that together they say all of it. */
function packed(blocks: readonly Block[], ruler: Ruler): (readonly Block[])[] {
  const messages = pack(blocks, ruler);
  for (const message of messages) expectSendable({ path: ruler === RICH ? 'rich' : 'entities', blocks: message });
  expect(letters(messages.map(plainText).join(''))).toBe(letters(plainText(blocks)));
  return messages;
}

function expectSendable(part: Part): void {
  expect(textOf(part).trim()).not.toBe('');
  expect(textOf(part).isWellFormed()).toBe(true);
  if (part.path === 'rich') expect(fitsRich(part.blocks)).toBe(true);
  else {
    const formatted = withEntities(part.blocks);
    expect(formatted.text.length).toBeLessThanOrEqual(TEXT_CHARS_MAX);
    expectTakable(formatted);
  }
}

/** The parts of an answer, after proof that each can be sent. */
function parts(markdown: string, rich: 'auto' | 'off' | 'always' = 'off'): Part[] {
  const laidOut = layOut(markdown, { rich });
  for (const part of laidOut) expectSendable(part);
  return laidOut;
}

const said = (all: readonly Part[]) => all.map(textOf);
const TABLE = '| a | b |\n|---|---|\n| c | d |';

test.each<[string, string, string]>([
  ['prose', 'Some *prose*, a [link](https://x.org) and\n\n- a list', 'entities'],
  ['code', '```ts\na\n```', 'entities'],
  ['an inline formula', 'so $x^2$', 'entities'],
  ['a table', TABLE, 'rich'],
  ['a table in a list', `- x\n\n${TABLE.replaceAll(/^/gm, '  ')}`, 'rich'],
  ['a table in a quote', `> x\n>\n${TABLE.replaceAll(/^/gm, '> ')}`, 'rich'],
  ['a task among items', '- a\n- [ ] b', 'rich'],
  ['details', '<details><summary>a</summary>\n\nb\n\n</details>', 'rich'],
  ['a display formula', '$$x$$', 'rich'],
  ['footnotes', 'a[^1]\n\n[^1]: b', 'rich'],
  ['a table of 21 columns', `${'|a'.repeat(21)}|\n${'|-'.repeat(21)}|`, 'entities'],
])('%s alone make an answer rich or not', (_, markdown, path) => {
  expect(parts(markdown, 'auto')).toMatchObject([{ path }]);
  expect(parts(markdown, 'off')).toMatchObject([{ path: 'entities' }]);
});

test('every answer is rich if so set, unless a table is too wide or something is nested too deeply', () => {
  expect(parts('prose', 'always')).toMatchObject([{ path: 'rich' }]);
  expect(parts(`${'|a'.repeat(21)}|\n${'|-'.repeat(21)}|`, 'always')).toMatchObject([{ path: 'entities' }]);
  expect(parts(`${'- '.repeat(9)}a`, 'always')).toMatchObject([{ path: 'entities' }]);
});

test('a blank answer has no parts; marks without text are shown as they were written', () => {
  for (const blank of ['', ' \n ', '\u200b\u2800', '\u3000']) expect(layOut(blank, { rich: 'auto' })).toEqual([]);
  expect(said(parts('```\n```'))).toEqual(['```\n```']);
  expect(said(parts('<details \ud83d></details>'))).toEqual(['<details \ufffd></details>']);
});

test('marks that a cut goes through stand on both sides of it', () => {
  const [first, second] = parts(`**${'bold words '.repeat(500).trim()}**`).map(({ blocks }) => withEntities(blocks));
  expect(first?.entities).toEqual([{ type: 'bold', offset: 0, length: first?.text.length }]);
  expect(second?.entities).toEqual([{ type: 'bold', offset: 0, length: second?.text.length }]);
});

test('code is cut between lines, keeps its language and the indentation of its first line', () => {
  const split = parts(`\`\`\`ts\n${'  const a = 1;\n'.repeat(600)}\`\`\``).map(({ blocks }) => withEntities(blocks));
  expect(split.length).toBe(3);
  for (const { text, entities } of split) {
    expect(entities).toEqual([{ type: 'pre', language: 'ts', offset: 0, length: text.length }]);
    expect(text).toMatch(/^(?: {2}const a = 1;\n?)+$/);
  }
});

test.each(['off', 'auto'] as const)('each piece of a table has its header and the same look (rich: %s)', (rich) => {
  const rows = Array.from({ length: 600 }, (_, at) => `| row ${at} | ${at === 599 ? 'a much wider cell' : 'x'} |`);
  const split = said(parts(`| name | value |\n|---|---|\n${rows.join('\n')}`, rich));
  expect(split.length).toBeGreaterThan(1);
  for (const piece of split) expect(piece).toMatch(/^name +\| value/);
  if (rich === 'off') expect(new Set(split.map((piece) => piece.split('\n')[1]))).toHaveProperty('size', 1);
  expect(split.join('\n').match(/row \d+/g)).toHaveLength(600);
});

test('steps down from rich to entities to plain, saying the same', () => {
  const [rich] = parts(`# A\n\n${'Some **prose**.\n\n'.repeat(400)}\n\n${TABLE}`, 'auto');
  if (rich === undefined) throw new Error('no part');
  const entities = stepDown(rich);
  for (const part of entities) expectSendable(part);
  const plain = entities.flatMap(stepDown);
  expect([rich.path, entities[0]?.path, plain[0]?.path]).toEqual(['rich', 'entities', 'plain']);
  expect(entities.length).toBeGreaterThan(1);
  expect(letters(said(entities).join(''))).toBe(letters(textOf(rich)));
  expect(said(plain)).toEqual(said(entities));
  expect(plain.flatMap(stepDown)).toEqual([]);
});

test.each<[string, string]>([
  ['one word', 'x'.repeat(20_000)],
  ['one word of emoji', '👩‍👩‍👧‍👦'.repeat(2_000)],
  ['flags', '🇩🇪'.repeat(5_000)],
  ['one character with 20,000 combining marks', `e${'\u0301'.repeat(20_000)}`],
  ['right-to-left prose', 'שלום **עולם** '.repeat(1_000)],
  ['a heading', `# ${'word '.repeat(4_000)}`],
  ['a line of code', `\`\`\`\n${'x'.repeat(20_000)}\n\`\`\``],
  ['a formula', `$$\n${'x + '.repeat(900)}\n$$`],
  ['a quote', '> word word\n'.repeat(2_000)],
  ['quotes in each other', `${'> '.repeat(12)}${'word '.repeat(4_000)}`],
  ['a list in a list', `- a\n  - b\n    - ${'word '.repeat(4_000)}`],
  ['links', '[a](https://example.org/a/long/path) '.repeat(500)],
  ['a table with a long header', `| ${'word '.repeat(2_000)} | b |\n|---|---|\n${'| c | d |\n'.repeat(20)}`],
  ['a summary', `<details><summary>${'word '.repeat(2_000)}</summary>\n\na\n\n</details>`],
  ['lone surrogates', '\ud83d'.repeat(9_000)],
  ['fences', '```\n'.repeat(5_000)],
])('splits %s of any length into few parts, without loss', (_, markdown) => {
  // The cells of a row that is spelled out follow each other in another order.
  const sorted = (text: string) => [...text.replaceAll(/[^\p{L}\p{N}\p{So}\p{M}]/gu, '')].sort().join('');
  for (const rich of ['off', 'always'] as const) {
    const split = parts(markdown, rich);
    expect(split.length).toBeGreaterThan(0);
    expect(split.length).toBeLessThan(30);
    expect(sorted(said(split).join(''))).toBe(sorted(plainText(parse(markdown))));
  }
});

test('cuts no emoji and no character in two', () => {
  const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
  const graphemes = (text: string) =>
    [...segmenter.segment(text)].map(({ segment }) => segment).filter((each) => each.trim() !== '');
  for (const grapheme of ['👩‍👩‍👧‍👦', '🇩🇪', 'e\u0301', 'नि', '각']) {
    const text = `a${grapheme.repeat(3_000)}`;
    expect(said(parts(text)).flatMap(graphemes)).toEqual(graphemes(text));
  }
});

test.each([
  ['texts with entities', ENTITIES],
  ['rich messages', RICH],
])('splits any tree into %s that Telegram takes, and loses nothing', (_, ruler) => {
  fc.assert(
    fc.property(trees, (blocks) => void packed(blocks, ruler)),
    ONCE,
  );
});

test('lays out any answer in parts that can be sent, and an answer with letters has some', () => {
  const marks = fc.constantFrom(...'\n\n·\n- ·\n> ·\n# ·\n```ts\n·**·`·||·| a ·\n|-|-|\n·<details>·$$· x '.split('·'));
  const answers = fc
    .array(fc.oneof(prose(60), graphemeTexts(20), rawTexts(20), marks), { maxLength: 40 })
    .map((all) => all.join(''));
  forAll([answers, fc.constantFrom('auto', 'off', 'always')], (markdown, rich) => {
    const split = parts(markdown, rich);
    expect(split.length).toBeGreaterThanOrEqual(/\p{L}/u.test(markdown) ? 1 : 0);
    expect(layOut(markdown, { rich })).toEqual(split);
  });
});

test.each<[string, string]>([
  ['paragraphs', 'The gateway **answers** what people ask.\n\n'],
  ['one paragraph', 'The gateway answers what [people](https://example.org) ask. '],
  ['a list', '- an item with `code`\n'],
  ['a CJK table', '| 世界很大 | 世界很大很大很大很大很大很大很大很大很大 |\n'],
  ['short paragraphs', 'a\n\n'],
  ['emoji', '👩‍👩‍👧‍👦'],
  ['underscores', '_a__'],
])('lays out 300,000 characters of %s in linear time', (name, pattern) => {
  const markdown = (name.endsWith('table') ? `${pattern}|---|---|\n` : '') + pattern.repeat(300_000 / pattern.length);
  const start = cpuMs();
  expect(layOut(markdown, { rich: 'auto' }).length).toBeGreaterThan(20);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
