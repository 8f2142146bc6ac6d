import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { splitReply } from '../../../../worker/reply/format/layout.ts';
import { preview } from '../../../../worker/reply/plan.ts';
import { graphemeTexts, prose, SEEDED } from '../../../fixture/texts.ts';

const PART_MAX = 4_000;

test('a text that fits is its own only part, and a blank one has none', () => {
  expect(splitReply(' a\n\n**b**\n```\n')).toEqual(['a\n\n**b**\n```']);
  expect(splitReply(' \n ')).toEqual([]);
});

test('a long text is cut at a line, else at a sentence, else at a space, else at a character', () => {
  for (const [gap, words] of [
    ['\n', 'x'.repeat(3_000)],
    ['. ', 'x'.repeat(3_000)],
    [' ', 'x'.repeat(3_000)],
    ['', '👍🏽'.repeat(900)],
  ] as const) {
    const parts = splitReply(`${words}${gap}${words}`);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(PART_MAX);
    if (gap !== '') expect(parts.map((part) => part.replace('.', ''))).toEqual([words, words]);
    else expect(parts.every((part) => /^(?:👍🏽)+$/u.test(part))).toBe(true);
  }
});

test('no part is blank or too long, and only white space is lost', () => {
  const texts = fc.oneof(prose(), graphemeTexts());
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 40 }), (text, times) => {
      const long = text.toWellFormed().repeat(times);
      const parts = splitReply(long);
      for (const part of parts) expect([part.trim() === '', part.length > PART_MAX]).toEqual([false, false]);
      expect(parts.join('').replaceAll(/\s/gu, '')).toBe(long.replaceAll(/\s/gu, ''));
    }),
    { ...SEEDED, numRuns: 60 },
  );
});

test('of a long answer that is still being written the end is shown, with its code as code', () => {
  const code = `${'a line\n\n'.repeat(4_000)}\`\`\`ts\n${'let a = 1;\n'.repeat(4_000)}let end`;
  const { text, entities } = preview(code);
  expect(text).toMatch(/let end$/);
  expect(entities.map(({ type }) => type)).toEqual(['pre']);
  expect(preview(' ')).toMatchObject({ text: '' });
});
