import { readFileSync } from 'node:fs';
import type { RichText } from '@grammyjs/types';
import { expect, test } from '@jest/globals';
import { plainText, withEntities } from '../../../../../worker/reply/format/entities.ts';
import { layOut } from '../../../../../worker/reply/format/layout.ts';
import { type RichBlock, richBlocks } from '../../../../../worker/reply/format/rich.ts';
import { preview } from '../../../../../worker/reply/plan.ts';

/** An answer. `reads` was written beside the Markdown, not computed from it; an answer without it is all text. */
interface Case {
  md: string;
  reads?: string;
  bold?: string[];
  spoilers?: string[];
  formulas?: string[];
  /** The answer has a table, whose cells are wrapped in a text. */
  table?: true;
}

const file = new URL('../../../../corpus/answers.jsonl', import.meta.url);
const answers: Case[] = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

/** Characters that a renderer adds: bullets, boxes of tasks, the frame of a table. */
const FRAME = /[\s•☐☑]/gu;
const letters = (text: string) => text.replaceAll(FRAME, '');

/** How often each character stands in a text. */
function census(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const char of letters(text)) counts.set(char, (counts.get(char) ?? 0) + 1);
  return counts;
}

function richLetters(text: RichText | undefined, type: string, found: string[]): string {
  if (text === undefined || typeof text === 'string') return text ?? '';
  if (Array.isArray(text)) return text.map((each) => richLetters(each, type, found)).join('');
  const inside =
    'expression' in text ? text.expression : 'text' in text ? richLetters(text.text as RichText, type, found) : '';
  if (text.type === type) found.push(inside);
  return inside;
}

function richReads(blocks: readonly RichBlock[], type = '', found: string[] = []): string {
  return blocks
    .map((block) => {
      if (block.type === 'list') {
        const number = (value: number | undefined) => (value === undefined ? '' : `${value}. `);
        return block.items.map((item) => number(item.value) + richReads(item.blocks, type, found)).join('\n');
      }
      if (block.type === 'table') {
        return block.cells.map((row) => row.map(({ text }) => richLetters(text, type, found)).join(' ')).join('\n');
      }
      if (block.type === 'mathematical_expression') return richLetters(block as RichText, type, found);
      const head = 'summary' in block ? richLetters(block.summary, type, found) : '';
      const inside = 'blocks' in block ? richReads(block.blocks, type, found) : '';
      return head + ('text' in block ? richLetters(block.text, type, found) : '') + inside;
    })
    .join('\n');
}

test('the corpus has 300 answers and more, each another', () => {
  expect(new Set(answers.map(({ md }) => md)).size).toBeGreaterThanOrEqual(300);
});

test.each(answers)('$md is read whole and without its marks', ({ md, reads = md, table, ...marks }) => {
  const parts = layOut(md, { rich: 'off' });
  const drawn = parts.map(({ blocks }) => withEntities(blocks));
  const sent = drawn.map(({ text }) => text).join('\n');
  expect(parts.map(({ blocks }) => plainText(blocks)).join('\n')).toBe(sent);
  if (table === undefined) expect(letters(sent)).toBe(letters(reads));
  else for (const [char, count] of census(reads)) expect(census(sent).get(char) ?? 0).toBeGreaterThanOrEqual(count);

  const rich = layOut(md, { rich: 'always' }).flatMap(({ blocks }) => richBlocks(blocks));
  expect(letters(richReads(rich))).toBe(letters(reads));

  const marked = (type: string) =>
    drawn.flatMap(({ text, entities }) =>
      entities.filter((each) => each.type === type).map(({ offset, length }) => text.slice(offset, offset + length)),
    );
  const richMarked = (type: string) => {
    const found: string[] = [];
    richReads(rich, type, found);
    return found;
  };
  if (table === undefined) expect(marked('bold')).toEqual(expect.arrayContaining(marks.bold ?? []));
  expect(richMarked('bold')).toEqual(expect.arrayContaining(marks.bold ?? []));
  expect(marked('spoiler')).toEqual(marks.spoilers ?? []);
  expect(richMarked('spoiler')).toEqual(marks.spoilers ?? []);
  expect(richMarked('mathematical_expression')).toEqual(expect.arrayContaining(marks.formulas ?? []));
});

test('an answer that is still being written is shown at any length, and one that is all text with all of it', () => {
  for (const { md, reads } of answers) {
    const step = Math.max(1, Math.floor(md.length / 12));
    for (let length = 1; length <= md.length; length += step) {
      const soFar = md.slice(0, length);
      const { text } = preview(soFar);
      // A mark at the end may belong to what comes; asterisks may be marks, and backslashes escapes, until they turn out
      // to be an operator or a formula.
      const read = (said: string) => letters(said).replaceAll(/[*~\\]/g, '');
      if (reads === undefined && /[A-Za-z0-9]$/.test(soFar)) expect(read(text)).toBe(read(soFar));
    }
  }
});
