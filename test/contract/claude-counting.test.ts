import { expect, test } from '@jest/globals';
import { cpuMs } from '../fixture/texts.ts';
import { contentTokens, countTokens, cutToTokens, textTokens } from '../stand-in/claude/counting.ts';
import type { MessagesRequest } from '../stand-in/claude/request.ts';
import { call, image, pages, png, result, text, tool } from '../stand-in/claude/specimens.ts';

const PROSE = 'The quick brown fox jumps over the lazy dog and then goes home to sleep for a while. ';

const charsPerToken = (sample: string): number => sample.length / textTokens(sample);

const request = (content: string, more: Partial<MessagesRequest> = {}): MessagesRequest => ({
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content }],
  ...more,
});

test('prose has about 4 characters per token; code, JSON, Cyrillic, CJK and emoji have fewer', () => {
  const prose = charsPerToken(PROSE);
  expect(prose).toBeGreaterThan(3.8);
  expect(prose).toBeLessThan(4.6);
  const samples = {
    code: 'if (a[i] !== b[j]) { return { x: 1, y: "2" }; }',
    json: '{"id":1834,"at":"2026-11-21T10:22:01.223Z","ok":true}',
    cyrillic: 'Съешь же ещё этих мягких французских булок',
    cjk: '我能吞下玻璃而不伤身体',
    emoji: '👍🎉🚀🔥',
  };
  const rates = Object.values(samples).map(charsPerToken);
  for (const rate of rates) expect(rate).toBeLessThan(prose * 0.8);
  expect(charsPerToken(samples.cjk)).toBeLessThan(1);
  expect(charsPerToken(samples.emoji)).toBeLessThan(1);
});

test('every part of a request counts: system prompt, tools, calls, results, pictures and pages', () => {
  const parts: Partial<MessagesRequest>[] = [
    { system: PROSE },
    { tools: [tool('look')] },
    { messages: [{ role: 'user', content: [text('hi'), call('t1', { input: { q: PROSE } })] }] },
    { messages: [{ role: 'user', content: [text('hi'), result('t1', PROSE)] }] },
    { messages: [{ role: 'user', content: [text('hi'), result('t1', [image(png(800, 600))])] }] },
    { messages: [{ role: 'user', content: [text('hi'), pages(2)] }] },
  ];
  const plain = countTokens(request('hi'));
  const more = parts.map((part) => countTokens(request('hi', part)) - plain);
  for (const tokens of more) expect(tokens).toBeGreaterThan(15);
  expect(more[4]).toBeGreaterThan(600);
  expect(more[5]).toBeGreaterThan(3000);
});

test('a picture is counted by its pixels, up to a maximum, and not by its bytes', () => {
  const [small, large, heavy] = [png(200, 200), png(4000, 4000), png(200, 200, 100_000)].map((data) =>
    contentTokens([image(data)]),
  );
  expect(small).toBeLessThan(100);
  expect(large).toBeLessThan(1700);
  expect(heavy).toBe(small);
});

test('the count is deterministic and scales with the tokenizer ratio', () => {
  const body = request(PROSE.repeat(100));
  expect(countTokens(body, 1.35) / countTokens(body)).toBeCloseTo(1.35, 2);
  expect(countTokens(body)).toBe(countTokens(body));
});

test('cutToTokens cuts a text to a token limit and never splits a character', () => {
  expect(textTokens(cutToTokens(PROSE.repeat(50), 100))).toBeLessThanOrEqual(100);
  expect(textTokens(cutToTokens(PROSE.repeat(50), 100))).toBeGreaterThan(98);
  expect(textTokens(cutToTokens(PROSE.repeat(50), 100, 2))).toBeLessThanOrEqual(50);
  for (const tokens of [1, 2, 3, 4]) expect(cutToTokens('👍👍👍', tokens).isWellFormed()).toBe(true);
  expect(cutToTokens('short', 1000)).toBe('short');
});

test('4 MB are counted in less than 100 ms of CPU', () => {
  const messages = Array.from({ length: 1000 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: [text(PROSE.repeat(25)), text(JSON.stringify({ at, ids: Array.from({ length: 400 }, (__, id) => id) }))],
  }));
  const body = { ...request(''), messages };
  expect(JSON.stringify(body).length).toBeGreaterThan(4_000_000 * 0.9);
  const fromMs = cpuMs();
  for (let times = 0; times < 3; times++) countTokens(body);
  expect((cpuMs() - fromMs) / 3).toBeLessThan(100);
});
