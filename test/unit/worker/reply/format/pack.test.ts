import { expect, test } from '@jest/globals';
import { type Block, paragraph, plain } from '../../../../../shared/flow/reply.ts';
import { drawCanvas, plainText, TOP, withEntities } from '../../../../../worker/reply/format/entities.ts';
import { pack } from '../../../../../worker/reply/format/pack.ts';
import { parse } from '../../../../../worker/reply/format/parse.ts';
import { ENTITIES, type Ruler } from '../../../../../worker/reply/format/ruler.ts';

/** A message holds 600 characters. A block takes two more than its text, and a cut leaves room for a frame of 10. */
const SMALL: Ruler = {
  ...ENTITIES,
  limit: [600],
  frame: [10],
  sizeOf: (blocks, place) => [drawCanvas(blocks, place).text.length + 2],
};

/** `a×300` stands for 300 times the letter a. */
const long = (text: string) => text.replaceAll(/(.)×(\d+)/gu, (_, letter, count) => letter.repeat(Number(count)));
const short = (text: string) => text.replaceAll(/(\S)\1{9,}/gu, (run, letter) => `${letter}×${run.length}`);
const fence = (code: string) => `\`\`\`\n${code}\n\`\`\``;
const details = (summary: string, text: string) => `<details><summary>${summary}</summary>\n\n${text}\n\n</details>`;
const lines = (text: string, count: number) => Array(count).fill(text).join('\n');

/** The texts of the messages. */
function packed(blocks: readonly Block[], ruler = SMALL): string[] {
  return pack(blocks, ruler).map((message) => short(plainText(message)));
}

test.each<[string, string, ...string[]]>([
  ['blocks that fit stand together', 'a×300\n\nb×200', 'a×300\n\nb×200'],
  ['a block that fits into the next message is not cut', 'a×100\n\nb×550', 'a×100', 'b×550'],
  ['a longer one fills a message that is half empty', 'a×298\n\nb×700', 'a×298\n\nb×290', 'b×410'],
  ['but none that is more than half full', 'a×299\n\nb×700', 'a×299', 'b×590', 'b×110'],
  ['a heading goes with the text below it', 'a×300\n\n# T\n\nb×400', 'a×300', 'T\n\nb×400'],
  ['a text is cut rather than leave its headings alone', '# T\n\n## U\n\na×595', 'T\n\nU\n\na×584', 'a×11'],
  ['a piece has at least 200 characters', '# t×378\n\na×400', 't×378\n\na×210', 'a×190'],
  ['a shorter one is not cut off', '# t×398\n\na×400', 't×398', 'a×400'],
  ['a shorter one of code neither', `# t×398\n\n${fence('a×400')}`, 't×398', 'a×400'],
  ['a rule is never cut', '# t×597\n\n---\n\na', 't×597', '———\n\na'],
  ['a quote is cut between blocks', 'a×100\n\n> b×300\n>\n> c×200', 'a×100\n\nb×300', 'c×200'],
  ['a block in a quote that fits into the next message is not cut', 'a×250\n\n> b×400', 'a×250', 'b×400'],
  ['details go on below their summary', details('s×140', 'a×700'), 's×140\na×438', 's×140\na×262'],
  ['details are cut between blocks', `a×99\n\n${details('S', 'b×300\n\nc×200')}`, 'a×99\n\nS\nb×300', 'S\nc×200'],
  ['a long summary is not repeated', details('s×200', 'a×500'), 's×200', 'a×500'],
  ['details with one wait for the next message', `a×99\n\n${details('s×200', 'b×300')}`, 'a×99', 's×200\nb×300'],
  ['a list is cut between items', '8. a×290\n9. b×290\n10. c×290', '8. a×290\n9. b×290', '10. c×290'],
  ['and so fills a message that is half empty', 'a×100\n\n- b×290\n- c×210', 'a×100\n\n• b×290', '• c×210'],
  ['but no item is cut to fill one', '- a×350\n- b×300', '• a×350', '• b×300'],
  ['an item that fits into the next message is not cut', 'a×250\n\n- b×500\n- c', 'a×250', '• b×500\n• c'],
  ['an item that is longer is', '1. a×100\n2. b×700\n3. c', '1. a×100\n2. b×475', 'b×225\n\n3. c'],
  ['the last one too', '- a×100\n- b×700\n\nc', '• a×100\n• b×476', 'b×224\n\nc'],
  ['code is cut between lines', fence('a×290\nb×290\nc×290'), 'a×290\nb×290', 'c×290'],
  ['but not where it fits into the next message', `a×100\n\n${fence('b×275\nb×275')}`, 'a×100', 'b×275\nb×275'],
  ['and so fills a message behind its heading', `# T\n\n${fence('a×290\nb×290\nc×290')}`, 'T\n\na×290\nb×290', 'c×290'],
  ['within a line only where no message holds it', fence('a×100\nb×700'), 'a×100\nb×489', 'b×211'],
  ['and not behind something else', `a×100\n\n${fence('b×700')}`, 'a×100', 'b×590', 'b×110'],
  ['blank lines go at the cut, indentation stays', fence('a×589\n\n  \n  b×30'), 'a×589', '  b×30'],
  ['a formula is cut as code', '$$\na×700\n$$', 'a×590', 'a×110'],
  ['a text is cut at a line', 'a×300\nb×100. c×400', 'a×300', 'b×100. c×400'],
  ['else behind the last sentence', 'a×300. b×99!” c×50 d×300', 'a×300. b×99!”', 'c×50 d×300'],
  ['which a point alone does not end', 'a×300.b×100 c×400', 'a×300.b×100', 'c×400'],
  ['unlike a full stop of CJK', '世×350。」界×100 c×300', '世×350。」', '界×100 c×300'],
  ['also without a quote', '世×350。界×100 c×300', '世×350。', '界×100 c×300'],
  ['else at a space', 'a×200 b×200 c×400', 'a×200 b×200', 'c×400'],
  ['but only in the second half of a message', 'a×200 b×600', 'a×200 b×389', 'b×211'],
  ['and not where a mark stands on the space', 'a×400 \u0301b×400', 'a×400 \u0301b×188', 'b×212'],
  ['a rest that nobody sees is left out', 'a×590\u200b×20\n\nb', 'a×590', 'b'],
])('%s', (_, markdown, ...expected) => {
  expect(packed(parse(long(markdown)))).toEqual(expected);
});

const grid = (...rows: string[]) => ['h', '-×40', ...rows].join('\n');
test.each<[string, string, ...string[]]>([
  [
    'is cut between rows',
    '|h|\n|-|\n|a×240|\n|b×240|\n|c×80|',
    grid(lines('a×40', 6), lines('b×40', 6)),
    grid(lines('c×40', 2)),
  ],
  [
    'waits for a message that holds a row',
    'a×290\n\n|h|\n|-|\n|b×280|\n|c×280|',
    'a×290',
    grid(lines('b×40', 7)),
    grid(lines('c×40', 7)),
  ],
  ['has a row in words that no message holds', '|h| |k|\n|-|-|-|\n|a×700|b||', 'h: a×587', 'a×113\n\nb'],
  ['has the next rows as before', '|h|\n|-|\n|a×600|\n|b×40|', 'h: a×587', `a×13\n\n${grid('b×40')}`],
  ['is all words when its header is too long', '|h×650|k|\n|-|-|\n|a|b|', 'h×590', 'h×60\n\nk\n\na\n\nb'],
  ['is so in an item too', '- |h|\n  |-|\n  |a×600|', '• h: a×577', 'a×23'],
])('a table %s', (_, markdown, ...expected) => {
  expect(packed(parse(long(markdown)))).toEqual(expected);
});

test.each([
  ['a paragraph', '> > a×700\n\nb', ['> a×298', 'a×402\n\nb']],
  ['an item', '- - a×700', ['• • a×296', 'a×404']],
  ['code', '> > ```\n> > a×700\n> > ```', ['a×300', 'a×400']],
])('%s of which no piece fits where it stands is sent as text', (_, markdown, expected) => {
  expect(packed(parse(long(markdown)), { ...SMALL, frame: [300] })).toEqual(expected);
});

test('what cannot be seen is no message', () => {
  expect(packed([paragraph(plain(' \u200b'))])).toEqual([]);
});

test.each([
  ['of a quote in a quote', '> > a×10\n'.repeat(99)],
  ['of an item', `1000. a\n${'      b×10\n'.repeat(99)}`],
])('the space before each line %s counts', (_, markdown) => {
  const messages = pack(parse(long(markdown)), SMALL).map(plainText);
  expect(Math.max(...messages.map(({ length }) => length))).toBeLessThanOrEqual(600);
});

test('links, spoilers and code count, since a message has at most a hundred; other marks do not', () => {
  // Their characters and a gap, their number, and their bytes as JSON with four digits more for each offset.
  const blocks = parse('**a** `b` ||c|| [d](https://x.org)\n\n```ts\ne\n```');
  expect(ENTITIES.sizeOf(blocks, TOP)).toEqual([12, 3, 168]);
  // Of 250 links none is left out.
  const messages = pack(parse('[a](https://x.org) '.repeat(250)), ENTITIES);
  expect(messages.flatMap((each) => withEntities(each).entities)).toHaveLength(250);
});

test.each([
  ['a paragraph', '*a* '.repeat(3_000)],
  ['a list', '- a\n'.repeat(3_000)],
  ['empty items', '-\n'.repeat(3_000)],
  ['a quote', '> a\n>\n'.repeat(3_000)],
  ['details', details('S', 'a\n\n'.repeat(3_000))],
  ['a table without text', `|a|b|\n|-|-|\n${'|||\n'.repeat(2_000)}`],
])('%s far larger than a message is not drawn', (_, markdown) => {
  let largest = 0;
  const sizeOf: Ruler['sizeOf'] = (blocks, place) => {
    const size = SMALL.sizeOf(blocks, place);
    largest = Math.max(largest, ...size);
    return size;
  };
  pack(parse(markdown), { ...SMALL, sizeOf });
  expect(largest).toBeLessThan(5_000);
});
