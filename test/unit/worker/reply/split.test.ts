import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MESSAGE_CHARS_MAX, splitReply } from '../../../../worker/reply/split.ts';
import { cpuMs, graphemeTexts, LINEAR_MS_MAX, prose, rawTexts, SEEDED } from '../../../fixture/texts.ts';

const SMALL = 400;
const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/;
const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Every visible character with the language of the code block that it stands in: what a cut must not change. */
function visible(text: string): string[] {
  const seen: string[] = [];
  let language: string | undefined;
  for (const line of text.split('\n')) {
    const fence = FENCE_LINE.exec(line);
    if (fence) language = language === undefined ? `code ${fence[2] ?? ''}` : undefined;
    else
      seen.push(
        ...[...segmenter.segment(line)]
          .map(({ segment }) => segment)
          .filter((each) => each.trim() !== '')
          .map((each) => `${language ?? ''}|${each}`),
      );
  }
  return seen;
}

function isBalanced(part: string): boolean {
  return part.split('\n').filter((line) => FENCE_LINE.test(line)).length % 2 === 0;
}

/** The parts, after proof that Telegram takes each and that the user gets all of the text. */
function parts(text: string, maxChars = MESSAGE_CHARS_MAX): string[] {
  const split = splitReply(text, maxChars);
  for (const part of split) {
    expect(part.length).toBeLessThanOrEqual(maxChars);
    expect(part.trim()).not.toBe('');
    expect(part.isWellFormed()).toBe(true);
  }
  expect(split.flatMap(visible)).toEqual(visible(text.toWellFormed()));
  return split;
}

const line = (n: number) => `line ${n} of the code();`;
const code = (lines: number, fence = '```ts', end = '```') =>
  `${fence}\n${Array.from({ length: lines }, (_, n) => line(n)).join('\n')}\n${end}`;

test('a text that fits is one part, without surrounding blanks', () => {
  expect(parts('Hello\n\n  world')).toEqual(['Hello\n\n  world']);
  expect(parts(` \n${'x'.repeat(4_096)}\n`)).toEqual(['x'.repeat(4_096)]);
  expect(parts('x'.repeat(4_097))).toHaveLength(2);
});

test('a blank text has no parts, since Telegram refuses a blank message', () => {
  for (const blank of ['', ' ', '\n'.repeat(9_000), '\u3000\u00a0']) expect(splitReply(blank)).toEqual([]);
});

test('cuts at a paragraph, else at a line, else at a sentence, else at a word', () => {
  const [a, b] = ['a'.repeat(2_500), 'b'.repeat(1_000)];
  expect(parts(`${a}\n\n${b}\n${b}`)).toEqual([a, `${b}\n${b}`]);
  expect(parts(`${a}\n${b}. ${b}`)).toEqual([a, `${b}. ${b}`]);
  expect(parts(`${a}. ${b} ${b}`)).toEqual([`${a}.`, `${b} ${b}`]);
  expect(parts(`${a} ${b}${b}`)).toEqual([a, `${b}${b}`]);
});

test('closes a code block at a cut and opens it again with its language', () => {
  const split = parts(`Before:\n${code(400, '```typescript title=x')}\nAfter.`);
  expect(split.length).toBeGreaterThan(2);
  for (const part of split.slice(1, -1)) expect(part).toMatch(/^```typescript title=x\nline.*\n```$/s);
  expect(split.at(-1)).toMatch(/\n```\nAfter\.$/);
});

test.each([
  ['````md', '````'],
  ['~~~~', '~~~~'],
  ['   ```ts', '   ```'],
])('closes a fence %j with one of the same kind, although the code itself contains others', (open, close) => {
  const inner = open.trim().startsWith('```t') ? '~~~' : '```';
  const shown = Array.from({ length: 300 }, (_, n) => (n % 7 === 0 ? inner : line(n))).join('\n');
  const split = splitReply(`${open}\n${shown}\n${close}\nAfter.`);
  for (const part of split.slice(0, -1)) {
    expect(part.length).toBeLessThanOrEqual(MESSAGE_CHARS_MAX);
    expect(part.trimStart().startsWith(open.trim())).toBe(true);
    expect(part.endsWith(`\n${close.trim()}`)).toBe(true);
  }
  expect(split.at(-1)).toMatch(/\nAfter\.$/);
  const shownAgain = split
    .join('\n')
    .split('\n')
    .filter((each) => each === inner);
  expect(shownAgain).toHaveLength(Math.ceil(300 / 7));
});

test('no part has an empty code block', () => {
  const lengths = Array.from({ length: 160 }, (_, n) => n + 3_930);
  for (const length of lengths) {
    const before = splitReply(`${'x '.repeat(length / 2)}\n\n\`\`\`ts\n\n${code(30).slice(6)}\nAfter.`);
    const behind = splitReply(`\`\`\`ts\n${'x '.repeat(length / 2)}\n\`\`\`\n${'After. '.repeat(30)}`);
    for (const part of [...before, ...behind]) expect(part).not.toMatch(/(?:^|\n)```ts\s*\n```(?:\n|$)/);
  }
});

test('keeps backticks within a code line when a cut puts them at the start of a line', () => {
  const split = splitReply(
    `\`\`\`ts\n${'x'.repeat(2_100)} ${'y'.repeat(1_940)} \`\`\`\n${'z'.repeat(2_000)}\n\`\`\``,
    MESSAGE_CHARS_MAX,
  );
  expect(split[1]).toMatch(/^```ts\n```\nz+\n```$/);
});

test('does not treat three backticks inside a line as a fence', () => {
  const split = splitReply(`Use \`\`\`js\`\`\` here.\n\`\`\`inline\`\`\` too.\n${'word '.repeat(2_000)}`);
  expect(split.length).toBeGreaterThan(2);
  expect(split.slice(1).join('')).not.toContain('`');
});

test.each<[string, string]>([
  ['one word of 20,000 characters', 'x'.repeat(20_000)],
  ['one word of 20,000 emoji', '👩‍👩‍👧‍👦'.repeat(2_000)],
  ['flags only', '🇩🇪'.repeat(5_000)],
  ['one character with 20,000 combining marks', `e${'\u0301'.repeat(20_000)}`],
  ['one character with 20,000 combining marks in code', `\`\`\`ts\ne${'\u0301'.repeat(20_000)}\n\`\`\``],
  ['one syllable of 20,000 letters', 'क्'.repeat(10_000)],
  ['only fences', '```\n'.repeat(5_000)],
  ['only opening fences', '```ts\n'.repeat(4_000)],
  ['a language of 20,000 characters', `\`\`\`${'x'.repeat(20_000)}\ncode\n\`\`\``],
  ['a fence of 20,000 backticks', '`'.repeat(20_000)],
  ['blank code', `\`\`\`ts\n${'\n'.repeat(20_000)}x\n\`\`\``],
  ['code of spaces', `\`\`\`ts\n${' '.repeat(20_000)}x\n\`\`\``],
  ['one line of code', `\`\`\`ts\n${'x'.repeat(20_000)}\n\`\`\``],
  ['spaces between two words', `a${' '.repeat(20_000)}b`],
  ['lone surrogates', '\ud83d'.repeat(9_000)],
  ['carriage returns', 'a\r\n'.repeat(7_000)],
])('splits %s into fewer than 20 parts that Telegram accepts, without loss', (_, text) => {
  const split = splitReply(text);
  expect(split.length).toBeGreaterThan(0);
  expect(split.length).toBeLessThan(20);
  for (const part of split) {
    expect(part.length).toBeLessThanOrEqual(MESSAGE_CHARS_MAX);
    expect(part.trim()).not.toBe('');
    expect(part.isWellFormed()).toBe(true);
  }
  const bare = (all: string) => all.replace(/[\s`]|ts/g, '');
  expect(bare(split.join(''))).toBe(bare(text.toWellFormed()));
});

const blocks = fc
  .tuple(
    fc.constantFrom('', 'ts', 'python', 'диалект'),
    fc.array(fc.constantFrom('if (a) {', '  b();', '', '}', '\t# 世界 🇩🇪', 'x'.repeat(150)), { maxLength: 40 }),
  )
  .map(([language, lines]) => `\n\`\`\`${language}\n${lines.join('\n')}\n\`\`\`\n`);
const replies = fc
  .array(fc.oneof(prose(60), graphemeTexts(20), blocks, fc.constantFrom('x'.repeat(700), '\n\n\n')), { maxLength: 12 })
  .map((pieces) => pieces.join(' '));

test('splits any reply without loss or reordering; code stays code and characters stay whole', () => {
  fc.assert(
    fc.property(replies, fc.constantFrom(SMALL, 700, MESSAGE_CHARS_MAX), (text, maxChars) => {
      for (const part of parts(text, maxChars)) expect(isBalanced(part)).toBe(true);
    }),
    { ...SEEDED, numRuns: 150 },
  );
});

test('splitReply never throws, always ends and is deterministic, for any string', () => {
  const noise = fc.array(fc.oneof(rawTexts(300), fc.constantFrom('```', '\n```js\n', '~~~', '`', '\n', ' ')), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(noise, (pieces) => {
      const text = pieces.join('');
      const split = splitReply(text, SMALL);
      expect(split.length).toBeLessThanOrEqual(2 + text.length / 40);
      for (const part of split) expect(part.length <= SMALL && part.trim() !== '' && part.isWellFormed()).toBe(true);
      expect(splitReply(text, SMALL)).toEqual(split);
    }),
    SEEDED,
  );
});

test('splitReply takes linear time on a megabyte', () => {
  const start = cpuMs();
  expect(splitReply(`${'word '.repeat(100_000)}${code(25_000)}`).length).toBeGreaterThan(200);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
