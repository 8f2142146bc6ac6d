import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { estimateContent, estimateText } from '../../../../worker/model/estimate.ts';
import { call, image, jpeg, pages, png, result, text, webp } from '../../../fixture/content-blocks.ts';
import { cpuMs, forAll, graphemeTexts, LINEAR_MS_MAX, prose, rawTexts } from '../../../fixture/texts.ts';
import { contentTokens, textTokens } from '../../../stand-in/claude/counting.ts';

/** How far our estimate may be from another way of counting, in either direction. */
const FACTOR_MAX = 1.6;

/** The two counts, and whether they are near each other: both are shown when they are not. */
function near(estimated: number, counted: number): object {
  const factor = Math.max(estimated / counted, counted / estimated);
  return { estimated, counted, near: factor <= FACTOR_MAX };
}

const LANGUAGES: readonly (readonly [name: string, text: string])[] = [
  ['English', 'The gateway reads each message from its stream and answers in order, while the lane keeps the rest. '],
  ['German', 'Die Überläufe größerer Gespräche müssen möglichst früh erkannt und zusammengefasst werden. '],
  ['Russian', 'Сообщение остаётся в очереди, пока на него не ответили, и никогда не теряется. '],
  ['Greek', 'Κάθε μήνυμα που γίνεται δεκτό τελειώνει με ακριβώς ένα αποτέλεσμα. '],
  ['Hebrew', 'כל הודעה שהתקבלה מסתיימת בתוצאה אחת בלבד. '],
  ['Arabic', 'كل رسالة مقبولة تنتهي بنتيجة واحدة فقط. '],
  ['Hindi', 'हर स्वीकार किया गया संदेश एक ही परिणाम पर समाप्त होता है। '],
  ['Thai', 'ทุกข้อความที่รับไว้จะจบลงด้วยผลลัพธ์เดียว '],
  ['Chinese', '每条被接受的消息都恰好有一个结果，并且有人被告知。'],
  ['Japanese', '受け入れられたメッセージは必ず一つの結果で終わります。'],
  ['Korean', '수락된 모든 메시지는 정확히 하나의 결과로 끝납니다. '],
  ['emoji', '😀🎉👍🏽👩‍👩‍👧‍👦🇩🇪❤️'],
  ['code', 'const head = graphemePrefix(rest, cutAt(rest, maxChars - FENCE_ROOM));\n  if (left < 0) break;\n'],
  ['JSON', '{"id":"toolu_01","name":"look","input":{"path":"a/b.ts","lines":[1,20]},"ok":true},\n'],
  ['SQL', "SELECT id, name FROM users WHERE created_at > '2026-01-01' AND id IN (1, 2, 3);\n"],
  ['digits', '3.14159 26535 89793 23846 26433 83279 50288\n'],
  ['shouting', 'THE GATEWAY IS DOWN AND NOBODY NOTICED. '],
  ['hex', '41fe59e2b1c3d4e5f60718293a4b5c6d7e8f9012 '],
];

test.each(LANGUAGES)('the estimate of %s is within a factor of 1.6 of the token count', (_, part) => {
  const long = part.repeat(50);
  expect(near(estimateText(long), textTokens(long))).toMatchObject({ near: true });
});

test('only an empty text is 0 tokens; a concatenation is no less than each part and no more than their sum', () => {
  expect(estimateText('')).toBe(0);
  forAll([fc.oneof(rawTexts(), graphemeTexts(20), prose(20)), rawTexts()], (a, b) => {
    const both = estimateText(a + b);
    expect(Number.isSafeInteger(both)).toBe(true);
    expect(both).toBeGreaterThanOrEqual(Math.max(estimateText(a), estimateText(b)));
    expect(both).toBeLessThanOrEqual(estimateText(a) + estimateText(b));
    expect(estimateText(a) === 0).toBe(a === '');
  });
});

const document = (source: object) => ({ type: 'document', source });

test('tool calls, results, images and documents are estimated by their content, not by their bytes', () => {
  const content = [
    text(LANGUAGES[0]?.[1].repeat(20) ?? ''),
    call('toolu_1', { input: { path: 'shared/base/text.ts', query: 'where is the text cut? '.repeat(10) } }),
    result('toolu_1', 'Found in 3 places. '.repeat(30)),
    result('toolu_2', [text('Found in 3 places. '.repeat(30)), image(png(1_000, 1_000, 300_000))]),
    image(png(1_000, 1_000, 3_000_000)),
    pages(1),
    document({ type: 'text', media_type: 'text/plain', data: 'Plain text, no pages. '.repeat(2_500) }),
    document({ type: 'content', content: [text('Found in 3 places. '.repeat(30))] }),
  ];
  for (const block of content)
    expect(near(estimateContent([block]), contentTokens([block]))).toMatchObject({ near: true });
  expect(near(estimateContent(content), contentTokens(content))).toMatchObject({ near: true });
});

/** A reference as the log holds it. */
const kept = (type: string, source: object) => ({ type, source: { type: 'kept', sha256: 'ab', ...source } });

/** Tokens as the API counts them: its documented width x height / 750, up to 3.75 MP. */
test.each([
  [200, 200, 54],
  [1568, 1176, 2_459],
  [1568, 1568, 3_279],
  [2500, 1500, 5_000],
  [8000, 8000, 5_000],
])('a picture of %d x %d px is estimated by its pixels as %d tokens, at most 9 more', (width, height, tokens) => {
  const reference = kept('image', { media_type: 'image/jpeg', width, height, bytes: 9 });
  const inline = [png, jpeg, webp].map((make) => image(make(width, height)));
  for (const block of [...inline, reference]) {
    expect(estimateContent([block])).toBeGreaterThanOrEqual(tokens);
    expect(estimateContent([block])).toBeLessThan(tokens + 10);
  }
});

test.each([1, 2, 12, 100])('a PDF of %d pages is estimated at 2,350 tokens a page, at most a third more', (count) => {
  const pdf = kept('document', { media_type: 'application/pdf', pages: count, bytes: 20_000_000 });
  for (const blocks of [[pdf], [result('toolu_1', [pdf])]]) {
    expect(estimateContent(blocks)).toBeGreaterThanOrEqual(count * 2_350);
    expect(estimateContent(blocks)).toBeLessThanOrEqual(count * 2_350 * 1.33);
  }
});

test('an image of unknown size is estimated like our largest picture, a PDF of unknown length like one page', () => {
  const unknown = [undefined, {}, { width: 0, height: 9 }, { width: 'x', height: 9 }, { width: -1, height: 9 }];
  const flat = estimateContent([kept('image', {})]);
  const largest = estimateContent([kept('image', { width: 1_568, height: 1_568 })]);
  expect(flat).toBeGreaterThanOrEqual(largest);
  expect(flat).toBeLessThan(largest * 1.1);
  for (const size of unknown) expect(estimateContent([kept('image', size ?? {})])).toBe(flat);
  for (const data of ['', '!', png(0, 9), 'x'.repeat(50_000)]) expect(estimateContent([image(data)])).toBe(flat);
  const page = estimateContent([kept('document', { pages: 1 })]);
  for (const count of [undefined, 0, -3, 'x', Number.NaN, 1.5])
    expect(estimateContent([kept('document', { pages: count })])).toBe(page);
});

test('estimateContent never throws, and every added block raises the estimate', () => {
  const type = fc.constantFrom('text', 'tool_result', 'tool_use', 'image', 'document');
  const odd = { text: fc.anything(), content: fc.anything(), source: fc.anything() };
  const blocks = fc.oneof(fc.anything(), fc.record({ type, ...odd }, { requiredKeys: ['type'] }));
  forAll([fc.array(blocks, { maxLength: 5 }), blocks], (content, more) => {
    const before = estimateContent(content);
    expect(before).toBeGreaterThanOrEqual(0);
    expect(estimateContent([...content, more])).toBeGreaterThan(before);
  });
  for (const nothing of [undefined, null, 5, {}, '', []]) expect(estimateContent(nothing)).toBe(0);
});

test('estimateText takes linear time on 35 MB', () => {
  const text = 'слово word 世界 123 {}\n'.repeat(1_500_000);
  const start = cpuMs();
  estimateText(text);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});
