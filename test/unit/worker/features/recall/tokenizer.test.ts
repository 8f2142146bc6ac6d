import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { QUOTE_OPENING, quotableText } from '../../../../../worker/features/recall/document.ts';
import { passage } from '../../../../../worker/features/recall/recall.ts';
import { createSearch } from '../../../../../worker/features/recall/search.ts';
import { snippet } from '../../../../../worker/features/recall/snippet.ts';
import { eachWord, searchTermsIn } from '../../../../../worker/features/recall/tokenizer.ts';
import type { LogRecord } from '../../../../../worker/session/record.ts';
import { call, result, text, thinking } from '../../../../fixture/content-blocks.ts';
import { assistantSays, records, userSays } from '../../../../fixture/records.ts';
import {
  cpuMs,
  forAll,
  forCases,
  GRAPHEMES,
  graphemeTexts,
  LINEAR_MS_MAX,
  rawTexts,
} from '../../../../fixture/texts.ts';

const REF = 'ab'.repeat(32);
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

function termsOf(said: string): string[] {
  const terms: string[] = [];
  eachWord(said, (term) => terms.push(term));
  return terms;
}

/** The ids of what is found, best first, in what was said, oldest first. */
function found(said: readonly (string | LogRecord)[], question: string, except = (_: string) => false): string[] {
  const search = createSearch(question);
  const records = said.map((each, n) => (typeof each === 'string' ? userSays(each, { id: `${n}` }) : each));
  for (const record of records.toReversed()) search.take(record);
  return search.best(8, except).map(({ message }) => message.id);
}

test.each([
  ['Straße STRASSE', ['strasse', 'strasse']],
  ['Crème BRÛLÉE', ['creme', 'brulee']],
  ['Ёлка й', ['елка', 'и']],
  ['ΟΔΟΣ', ['οδος']],
  ['ﬁnal ①', ['final', '1']],
  ['项目计划', ['项目', '目计', '计划', '划']],
  ['見 ga 見る', ['見', 'ga', '見る', 'る']],
  ['INC-2024-0917', ['inc-2024-0917', 'inc', '2024', '0917']],
  ['src/a_b.ts.', ['src/a_b.ts', 'src', 'a', 'b', 'ts']],
  ['नमस्ते', ['नमस्ते']],
  ['한국어', ['한국어']],
  ['👍🏽 …', []],
])('splits %j into words', (said, terms) => {
  expect(termsOf(said)).toEqual(terms);
});

test('a question searches for at most 32 words, and for a number without edits', () => {
  expect(searchTermsIn('words '.repeat(500)).size).toBe(1);
  expect(searchTermsIn('ab'.repeat(13)).get('ab'.repeat(13))?.edits).toBe(0);
  expect(searchTermsIn(Array.from({ length: 500 }, (_, n) => `word${n}`).join(' ')).size).toBe(32);
  expect(searchTermsIn('20240917').get('20240917')).toMatchObject({ edits: 0, ending: 0 });
});

test.each(['⑴⑵', 'ͺx', 'ﷺ', '½'])('a sign that is spelt out with brackets or spaces is found: %s', (sign) => {
  expect(found(['nothing', `here is ${sign}`], sign)).toEqual(['1']);
});

const OTHERS = Array.from({ length: 9 }, (_, n) => `nothing ${n}`);

test.each([
  ['an id among others', 'ORD-20117', ['order ORD-20118', 'order ORD-20117', 'order ORD-20119'], '1'],
  ['an id rather than its parts', 'X-7-A', ['X 7 A', 'the paper X-7-A'], '1'],
  ['a word in another case', 'KUBERNETES', ['about docker', 'about Kubernetes'], '1'],
  ['a Russian word with another ending', 'договоре', ['о погоде', 'мы говорили с договором в руках'], '1'],
  ['a Russian word with a longer ending', 'решение', ['другое дело', 'с решениями согласны'], '1'],
  ['a word by its beginning', 'kube', ['nothing', 'about kubernetes'], '1'],
  ['a word by a longer beginning', 'migrat', ['nothing', 'the migration is over'], '1'],
  ['a whole word rather than the beginning of another', 'kube', ['a kube', 'one kube', 'kubelets', ...OTHERS], '0'],
  ['a whole word rather than a similar one', 'harbour', ['a harbour', 'one harbour', 'harbor', ...OTHERS], '0'],
  ['a misspelt word', 'deploiment', ['nothing', 'the deployment failed'], '1'],
  ['a word without its accents', 'facade', ['nothing', 'la façade bleue'], '1'],
  ['a Chinese phrase', '季度预算', ['明天的会议', '我们讨论了第三季度预算的问题', '预算很高'], '1'],
  ['a word in letters of two units', '𞤆𞤵𞤤𞤢𞤪', ['nothing', 'here is 𞤆𞤵𞤤𞤢𞤪'], '1'],
  ['a number behind a sign', 'заказ №12345', ['nothing', 'Ваш №12345 готов'], '1'],
  ['one Chinese character at the end', '书', ['没有', '计划书'], '1'],
  ['a text with all words rather than one of them', 'red car', ['a red house', 'a red car', 'a blue car'], '1'],
])('%s is found first', async (_what, question, said, id) => {
  expect(found(said, question)[0]).toBe(id);
});

test('what many messages have says little of a question, and a rare word much', () => {
  const often = Array.from({ length: 60 }, (_, n) => `What did I do on day ${n}, and what did the others do?`);
  const named = Array.from({ length: 12 }, (_, n) => `I wonder what the people of day ${n} did without a rudder.`);
  const said = ['I slept badly. My rudder is Nimbus.', ...often, ...named];
  expect(found(said, 'What did I name the rudder?')).toContain('0');
});

test('of messages that match as well as one another the newest comes first, and the same text once', () => {
  expect(found(['The keel is oak.', 'The keel is elm.', 'The keel is ash.'], 'keel')).toEqual(['2', '1', '0']);
  expect(found(['The keel is oak.', 'The keel is elm.', 'The keel is oak.'], 'keel')).toEqual(['2', '1']);
  const looked: string[] = [];
  const copies = Array.from({ length: 90 }, () => 'The keel is oak.');
  expect(found(copies, 'keel', (id) => looked.push(id) < 1)).toEqual(looked);
});

test('of many messages the best are found, wherever they stand, and no more than a few are kept', () => {
  const often = Array.from({ length: 1_000 }, (_, n) => `number ${n} of many numbers in a row`);
  expect(found(['number keel', ...often, 'keel number', ...often], 'number keel').slice(0, 2)).toEqual(['1001', '0']);
});

test('a text of one long word, or of thousands of ids, is searched in linear time', () => {
  const start = cpuMs();
  for (const unit of ['a', 'a-', 'ab.', '世', '世a', 'e\u0301', '(', 'aaaaaaa '])
    expect(found([unit.repeat(200_000)], 'aaaaaaaa a-a-a a é 世世 世 ⑴')).toBeDefined();
  const heap = ['\u0345', '\u0344', '\u0f73'].map((mark) => mark.repeat(18_000)).join('');
  expect(found([heap], 'aaaaaaaa')).toBeDefined();
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

test('a credential is not found by its letters', () => {
  const key = `sk-ant-${'a1'.repeat(20)}`;
  expect(found([`key ${key}`], key)).toEqual([]);
  expect(found([`key ${key}`], 'key')).toEqual(['0']);
});

test('a question without a matching word finds nothing', async () => {
  expect(found(['the migration is over', '季度预算', 'ORD-20117'], 'zebra 苹果 QX-9')).toEqual([]);
  expect(found(['something'], '!!! 👍🏽')).toEqual([]);
});

test('a memory holds what was said, called or returned, and by whom; summaries, seeds and scrubs yield no memory', () => {
  const tools = assistantSays([
    thinking('secretly'),
    text('I look.'),
    call('t1', { name: 'look', input: { at: 'ö' } }),
  ]);
  expect(quotableText(tools)).toMatchObject({ who: 'assistant', text: 'I look.\nlook {"at":"ö"}' });
  const results = [result('t1', 'It was blue.'), result('t2', `${QUOTE_OPENING}: it is`)];
  expect(quotableText(userSays(results))).toMatchObject({ who: 'tool', text: 'It was blue.' });
  expect(quotableText(userSays('Hi', { from: 'Anna\n[x]' }))).toMatchObject({ who: 'Anna x', text: 'Hi' });
  const ours = [
    { v: 1, t: 'compaction', id: 'c', at: '', summary: 'blue', records: 1 },
    { v: 1, t: 'seed', id: 's', at: '', text: 'blue', parent: 'p', records: 1 },
    { v: 1, t: 'scrub', id: 'b', at: '', entry: '1-0', text: 'blue' },
    { v: 1, t: 'torn', id: '', at: '' },
  ] as const;
  expect([...ours, userSays(' \n')].map((record) => quotableText(record))).toEqual(
    ours.map(() => undefined).concat(undefined),
  );
});

test('a memory has at most 56,000 characters, is well-formed and contains no credentials', () => {
  const key = `sk-ant-${'a1'.repeat(20)}`;
  expect(quotableText(userSays(`key ${key}`))?.text).toBe('key [secret]');
  expect(quotableText(userSays(`${'x '.repeat(27_996)} ${key}${'y '.repeat(60_000)}`))?.text).not.toContain('sk-ant');
  const long = rawTexts(60).map((said) => userSays(said.repeat(2_000)));
  forAll([fc.oneof(records, long)], (record) => {
    const memory = quotableText(record);
    expect(memory === undefined || (memory.text.isWellFormed() && memory.text.length <= 56_000)).toBe(true);
  });
});

test.each([
  ['before', false],
  ['after', true],
])('a scrubbed message is found at most by its replacement text if the scrub comes %s it', (_when, isLater) => {
  const declined = userSays('forbidden fruit', { id: 'm', entry: '1-0' });
  const scrub: LogRecord = { v: 1, t: 'scrub', id: 's', at: '', entry: '1-0', text: 'left out' };
  const block: LogRecord = { v: 1, t: 'scrub', id: 's', at: '', entry: '2-0', block: 0, text: 'short' };
  const large = userSays('fruit salad', { id: 'l', entry: '2-0' });
  expect(found(isLater ? [declined, scrub, large, block] : [block, scrub, declined, large], 'fruit')).toEqual(['l']);
  expect(found(isLater ? [declined, scrub] : [scrub, declined], 'left')).toEqual(isLater ? ['m'] : []);
  expect(found(isLater ? [declined, scrub] : [scrub, declined], 'forbidden')).toEqual([]);
});

test('a record that is taken twice is one memory', () => {
  const search = createSearch('twice');
  const record = userSays('twice', { id: 'a' });
  for (const each of [record, record]) search.take(each);
  expect(search.size).toBe(1);
  expect(search.best(8, () => false)).toHaveLength(1);
});

test('a snippet shows the passage with most of the words, within its limit, and cuts no character', () => {
  const far = `blue ${'filler '.repeat(300)}the blue boat sank ${'filler '.repeat(300)}`;
  expect(snippet(far, new Set(['blue', 'boat', 'sank']), 400)).toContain('the blue boat sank');
  expect(snippet('nothing\nof it', new Set(['blue']), 400)).toBe('nothing of it');
  forAll([graphemeTexts(300), fc.constantFrom(...GRAPHEMES), fc.integer({ min: 200, max: 400 })], (said, word, max) => {
    const line = said.replace(/\s+/g, ' ').trim();
    const shown = snippet(said, new Set(termsOf(word)), max);
    expect(shown.length).toBeLessThanOrEqual(max);
    const bare = shown === line ? line : shown.replace(/^…|…$/g, '');
    const boundaries = new Set([...graphemes.segment(line)].map(({ index }) => index).concat(line.length));
    const starts = [...line.matchAll(new RegExp(escaped(bare), 'g'))].map(({ index }) => index);
    expect(starts.some((at) => boundaries.has(at) && boundaries.has(at + bare.length))).toBe(true);
  });
});

test('passage reads a text piece by piece to its end, without repeats, gaps or lone surrogates', () => {
  const texts = fc.oneof(
    graphemeTexts(400),
    rawTexts(400).map((said) => said.toWellFormed()),
  );
  forCases(60, [texts, fc.integer({ min: 1, max: 60 })], (said, times) => {
    const whole = `x${said.repeat(times)}`;
    const pieces: string[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const [head = '', ...body]: string[] = (passage(whole, REF, from) ?? '').split('\n');
      const piece = body.join('\n');
      expect(piece.length).toBeLessThanOrEqual(12_000);
      expect(piece.isWellFormed()).toBe(true);
      expect(head).toContain(`Characters ${from} to ${from + piece.length} of ${whole.length} `);
      pieces.push(piece);
      const next: string | undefined = /"from":(\d+)/.exec(head)?.[1];
      from = next === undefined ? undefined : Number(next);
    }
    expect(pieces.join('')).toBe(whole);
  });
});

test('passage moves a place inside a character to its start, and refuses a place after the end', () => {
  expect(passage('a👩‍👩‍👧‍👦b', REF, 3)?.split('\n')[1]).toBe('👩‍👩‍👧‍👦b');
  expect([passage('abc', REF, 3), passage('', REF, 0)]).toEqual([undefined, undefined]);
  const tower = `a${'\u0301'.repeat(30_000)}`;
  expect(passage(tower, REF, 12_000)).toContain('Characters 12000 to 24000 of 30001');
  const chain = `a${'👩\u200d'.repeat(10_000)}`;
  for (const from of [12_000, 12_001, 12_002, 12_003]) expect(passage(chain, REF, from)?.isWellFormed()).toBe(true);
  const start = cpuMs();
  expect(passage('word '.repeat(2_000_000), REF, 9_000_000)).toContain('of 10000000');
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

function escaped(said: string): string {
  return said.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
