import { expect, test } from '@jest/globals';
import { isReadable, piecesOf } from '../../../../../worker/reply/format/pieces.ts';

const SMALL = 100;

test('cuts at a blank line, else at any line, else in the line', () => {
  const line = 'x'.repeat(60);
  expect(piecesOf(`${line}\n\n${line}`, SMALL)).toEqual([`${line}\n`, line]);
  expect(piecesOf(`${line}\n${line}`, SMALL)).toEqual([line, line]);
  expect(piecesOf('x'.repeat(150), SMALL)).toEqual(['x'.repeat(100), 'x'.repeat(50)]);
  expect(piecesOf('x'.repeat(100), SMALL)).toEqual(['x'.repeat(100)]);
  expect(piecesOf(`${'a\n'.repeat(70)}b`, SMALL)).toEqual(['a\n'.repeat(50).trim(), `${'a\n'.repeat(20)}b`]);
  expect(piecesOf(`a\n \n${line}\n${line}`, SMALL)).toEqual(['a\n ', `${line}\n${line}`]);
  expect(piecesOf(`\`\`\`\na\n \nb\n${line}\n${line}\n\`\`\``, SMALL)).toEqual([
    `\`\`\`\na\n \nb\n${line}\n\`\`\``,
    `\`\`\`\n${line}\n\`\`\``,
  ]);
  const full = `\`\`\`\n${'x'.repeat(95)}\n\`\`\``;
  expect(piecesOf(`${full}\nafter`, SMALL)).toEqual([full, 'after']);
});

test.each<[string, string, boolean]>([
  ['60 quotes in each other', `${'> '.repeat(60)}a`, true],
  ['61 quotes in each other', `${'> '.repeat(61)}a`, false],
  ['61 numbers in one line', `${'12. '.repeat(61)}a`, false],
  ['61 numbers that are none', `${'12.'.repeat(61)}a`, true],
  ['61 brackets that are numbers', `${'1) '.repeat(61)}a`, false],
  ['a quote that is indented by 240 spaces', `${' '.repeat(240)}> a`, true],
  ['a quote behind a fence that is none', `\`\`\`a\`\n${'> '.repeat(61)}a`, false],
  ['a quote behind code', `\`\`\`\na\n \`\`\` \n${'> '.repeat(61)}a`, false],
  ['a quote in code with a fence of the other kind', `~~~\n\`\`\`\n${'> '.repeat(61)}a`, true],
  ['61 bullets in one line', `${'- '.repeat(61)}a`, false],
  ['a list that is indented by 300 spaces', `${' '.repeat(300)}- a`, false],
  ['text that is indented by 300 spaces', `${' '.repeat(300)}a`, true],
  ['a line of > in code', `\`\`\`\n${'>'.repeat(100)}\n\`\`\``, true],
  ['thousands of marks in one paragraph', '_a__'.repeat(6_000), false],
  ['thousands of marks in many paragraphs', '**a** `b`\n\n'.repeat(6_000), true],
])('%s: whether it can be read', (_, text, expected) => {
  expect(isReadable(text)).toBe(expected);
});
