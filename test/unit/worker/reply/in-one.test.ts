import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Conclusion } from '../../../../shared/state/turn/record.ts';
import { EN } from '../../../../shared/texts/en.ts';
import { inOne, planned } from '../../../../worker/reply/plan.ts';
import { expectTakable } from '../../../fixture/takable.ts';
import { graphemeTexts, SEEDED } from '../../../fixture/texts.ts';

const END = EN.onlyOneMessage;
const answered = (notices: string[], answer: string): Conclusion => ({
  outcome: 'answered',
  ...planned(notices, answer, { rich: 'off' }),
});

const MARKED = [
  '**bold** _words_',
  '```js\ncode()\n```',
  '> a quote\n> of two',
  '- one\n- two',
  '[a link](https://a.de)',
  '| a | b |\n|---|---|\n| 1 | 2 |',
];
const markdowns = fc
  .array(fc.oneof(graphemeTexts(), fc.constantFrom(...MARKED)), { minLength: 1, maxLength: 12 })
  .map((pieces) => pieces.join('\n\n'));

test('notices and answer are one text, and each mark stands where its words do', () => {
  const { text, entities } = inOne(answered(['A fresh session.'], 'It **is** here.'), END);
  expect(text).toBe('A fresh session.\n\nIt is here.');
  expect(entities).toEqual([{ type: 'bold', offset: 21, length: 2 }]);
});

test('a longer one is cut within what Telegram takes, and says so', () => {
  const { text, entities } = inOne(answered([], `**${'word '.repeat(3_000)}**`), END);
  expect(text.length).toBeLessThanOrEqual(4_096);
  expect(text.endsWith(`word\n\n${END}`)).toBe(true);
  expectTakable({ text, entities });
});

test('a file that cannot come says so, too; a notice without a layout is itself', () => {
  const conclusion: Conclusion = {
    outcome: 'answered',
    parts: ['Here.', 'a.txt'],
    layout: [null, { path: 'file', name: 'a.txt', text: 'a' }],
  };
  expect(inOne(conclusion, END).text).toBe(`Here.\n\n${END}`);
  expect(inOne({ outcome: 'failed', parts: ['I could not.'] }, END)).toEqual({ text: 'I could not.', entities: [] });
});

test('whatever a model writes, Telegram takes it', () => {
  fc.assert(
    fc.property(markdowns, fc.integer({ min: 1, max: 400 }), (markdown, times) => {
      const one = inOne(answered([], `${markdown}\n\n`.repeat(times)), END);
      expect(one.text.length).toBeLessThanOrEqual(4_096);
      expectTakable(one);
    }),
    { ...SEEDED, numRuns: 100 },
  );
});
