import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { FilePart } from '../../../../shared/flow/reply.ts';
import type { PartMark, PartPlace } from '../../../../shared/state/turn/aspects.ts';
import type { Conclusion } from '../../../../shared/state/turn/record.ts';
import { EN } from '../../../../shared/texts/en.ts';
import { splitReply } from '../../../../worker/reply/format/layout.ts';
import { albumFrom, inOne, planReply, preview, ringingPart } from '../../../../worker/reply/plan.ts';
import { expectTakable } from '../../../fixture/takable.ts';
import { forCases, graphemeTexts } from '../../../fixture/texts.ts';

const END = EN.onlyOneMessage;
const LETTER: FilePart = { path: 'file', name: 'a.txt', text: 'a' };
const FAILED: Conclusion = { outcome: 'failed', parts: ['I could not.'] };
const WITH_FILE: Conclusion = { outcome: 'command', parts: ['Here.', 'a.txt'], layout: [null, LETTER] };

const answered = (notices: string[], answer: string, files?: readonly FilePart[]): Conclusion => ({
  outcome: 'answered',
  ...planReply(notices, answer, { rich: 'off' }, files),
});
const pictures = (count: number) =>
  [...Array(count).keys()].map((at): FilePart => ({ path: 'file', name: `${at}.png`, sha256: 'a', isPicture: true }));
const withFiles = (...files: FilePart[]) => answered([], 'Here.', files);

test.each<[string, Conclusion, Partial<Record<PartPlace, PartMark>>, number[]]>([
  ['an answer alone is no album', withFiles(), {}, [1]],
  ['nor is one picture', withFiles(...pictures(1)), {}, [1, 1]],
  ['2 to 10 in a row are one', withFiles(...pictures(2), LETTER, ...pictures(3)), {}, [1, 2, 1, 3]],
  ['and no more', withFiles(...pictures(12)), {}, [1, 10, 2]],
  ['a failure has none', FAILED, {}, [1]],
  ['what an earlier version has sent is in none', withFiles(...pictures(4)), { 1: 'sent' }, [1, 1, 3]],
  ['nor what it was sending', withFiles(...pictures(4)), { 1: 'sent', 2: 'sending' }, [1, 1, 1, 2]],
  ['unless all were', withFiles(...pictures(4)), { 1: 'sending', 2: 'sending', 3: 'sending', 4: 'sending' }, [1, 4]],
])('pictures in a row are an album: %s', (_, conclusion, marks, expected) => {
  const counts: number[] = [];
  for (let index = 0; index < conclusion.parts.length; index += counts.at(-1) ?? 1)
    counts.push(albumFrom(conclusion, index, { markOf: (at) => marks[at] }));
  expect(counts).toEqual(expected);
});

test.each([
  ['an answer', answered([], 'The harbour is open.'), 0],
  ['an answer behind two notices', answered(['A fresh session.', 'Only its beginning.'], 'The harbour is open.'), 2],
  ['an answer in parts', answered(['A fresh session.'], 'word '.repeat(2_000)), 1],
  ['a notice alone', FAILED, 0],
  ['a file behind a notice', WITH_FILE, 0],
])('%s rings at its beginning', (_what, conclusion, part) => {
  expect(ringingPart(conclusion)).toBe(part);
});

test('in one message notices and answer are one text, and each mark stands where its words do', () => {
  const { text, entities } = inOne(answered(['A fresh session.'], 'It **is** here.'), END);
  expect(text).toBe('A fresh session.\n\nIt is here.');
  expect(entities).toEqual([{ type: 'bold', offset: 21, length: 2 }]);
  expect(inOne(FAILED, END)).toEqual({ text: 'I could not.', entities: [] });
});

test('what does not fit into one message is cut, and a file that cannot come is left out; both are said', () => {
  expect(inOne(answered([], `**${'word '.repeat(3_000)}**`), END).text.endsWith(`word\n\n${END}`)).toBe(true);
  expect(inOne(WITH_FILE, END).text).toBe(`Here.\n\n${END}`);
});

const MARKED =
  '**bold** _words_·```js\ncode()\n```·> a quote\n> of two·- one\n- two·[a link](https://a.de)·| a | b |\n|---|---|\n| 1 | 2 |'.split(
    '·',
  );
const markdowns = fc
  .array(fc.oneof(graphemeTexts(), fc.constantFrom(...MARKED)), { minLength: 1, maxLength: 12 })
  .map((pieces) => pieces.join('\n\n'));

test('whatever a model writes, Telegram takes it in one message', () => {
  forCases(100, [markdowns, fc.integer({ min: 1, max: 400 })], (markdown, times) => {
    const one = inOne(answered([], `${markdown}\n\n`.repeat(times)), END);
    expect(one.text.length).toBeLessThanOrEqual(4_096);
    expectTakable(one);
  });
});

test('a plain text keeps its marks as they are, half a pair becomes whole, and a blank one has no parts', () => {
  expect(splitReply(' a\ud83d\n\n**b**\n```\n')).toEqual(['a\ufffd\n\n**b**\n```']);
  expect(splitReply(' \n ')).toEqual([]);
});

test('of a long answer that is still being written the end is shown, with its code as code', () => {
  const code = `${'a line\n\n'.repeat(4_000)}\`\`\`ts\n${'let a = 1;\n'.repeat(4_000)}let end`;
  const { text, entities } = preview(code);
  expect([text.slice(-7), entities.map(({ type }) => type)]).toEqual(['let end', ['pre']]);
  expect(preview(' ')).toMatchObject({ text: '' });
});
