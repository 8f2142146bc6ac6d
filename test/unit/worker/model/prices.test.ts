import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { PROJECT_ROOT } from '../../../../shared/base/project.ts';
import type { CacheLifetime } from '../../../../worker/model/port.ts';
import { cacheLifetime, costOf, costOfMinute, readPrices } from '../../../../worker/model/prices.ts';
import { forAll, forCases } from '../../../fixture/texts.ts';

const MILLION = 1_000_000;
const usage = (parts: object = {}) => ({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, ...parts });
const OWN = { input: 1, output: 2, cacheRead: 3, cacheWrite5m: 4, cacheWrite1h: 5 };

const pricesOf = (list: unknown) => readPrices(JSON.stringify(list));

test.each([
  [{ inputTokens: MILLION }, 4],
  [{ outputTokens: MILLION }, 20],
  [{ inputTokens: MILLION, cacheReadTokens: MILLION }, 0.2],
  [{ inputTokens: MILLION, cacheWriteTokens: MILLION }, 5],
  [{ inputTokens: MILLION, cacheWriteTokens: MILLION, cacheWrite1hTokens: MILLION }, 8],
  [{ inputTokens: 0, cacheReadTokens: MILLION }, 0.2],
  [{ inputTokens: 0, searches: 3 }, 0.03],
])('Opus 5.5 with usage %j costs %d dollars', (parts, dollars) => {
  expect(costOf('us.anthropic.claude-opus-5-5-v1:0', usage(parts))).toBeCloseTo(dollars, 9);
});

test('a prompt over the threshold of its model is billed entirely at the long-prompt price', () => {
  const cost = (inputTokens: number) => costOf('claude-haiku-5-5', usage({ inputTokens, outputTokens: 1_000 }));
  expect(cost(100_000)).toBeCloseTo(0.0105, 9);
  expect(cost(100_001)).toBeCloseTo(0.0525005, 9);
  const passes = { firstInputTokens: 40_000, lastInputTokens: 50_000, lastOutputTokens: 1 };
  expect(costOf('claude-haiku-5-5', usage({ inputTokens: 200_000, passes }))).toBeCloseTo(0.02, 9);
});

test('prices from a file override ours under any name of the model, and add unknown models', () => {
  const own = pricesOf({
    'anthropic/claude-opus-5.5': OWN,
    'my-model': { ...OWN, longPrompt: { overTokens: 10, ...OWN, input: 9 } },
  });
  expect(costOf('claude-opus-5-5-20260922', usage({ inputTokens: MILLION }), own)).toBe(1);
  expect(costOf('my-model', usage({ inputTokens: MILLION }), own)).toBe(9);
  expect(costOf('claude-opus-5', usage({ inputTokens: MILLION }), own)).toBe(5);
  const dear = pricesOf({ m: { ...OWN, searches: 35 } });
  expect(costOf('m', usage({ searches: 2 }), dear)).toBeCloseTo(0.07, 9);
  expect(costOf('claude-opus-5', usage({ searches: 2 }), dear)).toBeCloseTo(0.02, 9);
});

test.each<[unknown, RegExp]>([
  [[], /expected an object of prices/],
  [{ m: { ...OWN, input: '4' } }, /^m\.input: expected dollars/m],
  [{ m: { ...OWN, output: -1 } }, /^m\.output: expected at least 0/m],
  [{ m: { input: 1, output: 2 } }, /^m\.cacheRead: expected dollars/m],
  [{ m: { ...OWN, cache: 1 } }, /^m: .*cache/m],
  [{ m: { ...OWN, longPrompt: { overTokens: 0, ...OWN } } }, /^m\.longPrompt\.overTokens: expected at least 1/m],
  [{ m: { ...OWN, searches: -1 } }, /^m\.searches: expected at least 0/m],
  [{ m: 4 }, /^m: /m],
  [{ m: { minute: -1 } }, /^m\.minute: expected at least 0/m],
  [{ m: { minute: 1, input: 1 } }, /^m: .*input/m],
  [{ a: { ...OWN, input: 'x' }, b: { ...OWN, output: 'y' } }, /^a\.input: .*\nb\.output: /m],
  ['{', /\nit is no JSON$/],
])('readPrices refuses %j and names each problem', (list, problem) => {
  expect(() => readPrices(list === '{' ? list : JSON.stringify(list))).toThrow(problem);
});

test('the list is what the kept one says today, and nothing that the product has besides is in there', () => {
  const listed = JSON.parse(readFileSync(join(PROJECT_ROOT, 'worker/model/price-list.json'), 'utf8'));
  const printed = execFileSync(process.execPath, [join(PROJECT_ROOT, 'scripts/prices.mjs')], { encoding: 'utf8' });
  expect(listed).toEqual(JSON.parse(printed));
  expect(pricesOf(listed).size).toBe(Object.keys(listed).length);
});

test('a model of speech is priced by the minute, listed or of the operator, and by nothing else', () => {
  const own = pricesOf({ 'whisper-1': { minute: 0.02 }, 'my-ear': { minute: 0 } });
  expect([costOfMinute('whisper-1'), costOfMinute('whisper-1', own), costOfMinute('my-ear', own)]).toEqual([
    0.006, 0.02, 0,
  ]);
  expect([costOfMinute('claude-opus-5-5'), costOfMinute('no-such-ear')]).toEqual([undefined, undefined]);
  expect(costOf('whisper-1', usage({ inputTokens: 1 }))).toBeUndefined();
});

const MINUTE = 60_000;
const DAY = 24 * 60;
const LASTS_MS = { '5m': 5 * MINUTE, '1h': 60 * MINUTE };
const NOW = 1_800_000_000_000;

/** The times of messages that came with these gaps, in minutes, the newest last. */
function timesOf(minutes: readonly number[]): number[] {
  const times = [NOW];
  for (const gap of minutes) times.push((times.at(-1) ?? NOW) + gap * MINUTE);
  return times;
}

test.each<[string, number[], CacheLifetime]>([
  ['a first message is 5 minutes', [], '5m'],
  ['quick talk is 5 minutes', [1, 2, 1, 3, 1, 2], '5m'],
  ['a message every ten minutes is an hour', [10, 12, 9, 15, 10, 11], '1h'],
  ['a message every two hours is 5 minutes', [120, 130, 125, 118, 122, 140], '5m'],
  ['quick talk with an occasional pause is an hour', [1, 2, 1, 3, 2, 12], '1h'],
  ['quick talk once a day is 5 minutes', [1, 2, 1, 2, 1, DAY], '5m'],
])('the cache lifetime for %s', (_what, gaps, lifetime) => {
  const times = timesOf(gaps);
  expect(cacheLifetime(times.slice(0, -1), times.at(-1) ?? NOW)).toBe(lifetime);
});

test('ignores the order of the times, future times and NaN', () => {
  const times = timesOf([10, 12, 9, 15]);
  const now = times.at(-1) ?? NOW;
  expect(cacheLifetime([...times].reverse(), now)).toBe(cacheLifetime(times, now));
  expect(cacheLifetime([...times, now + 1, Number.NaN], now)).toBe('1h');
});

const gaps = fc.array(fc.oneof(fc.nat(8), fc.nat(90), fc.nat(3 * DAY)), { maxLength: 40 });

test('the lifetime never changes while the prefix is still cached', () => {
  forAll([gaps], (all) => {
    const times = timesOf(all);
    for (let at = 1; at < times.length; at++) {
      const before = cacheLifetime(times.slice(0, at - 1), times[at - 1] ?? 0);
      const now = cacheLifetime(times.slice(0, at), times[at] ?? 0);
      if (now !== before) expect((all[at - 1] ?? 0) * MINUTE).toBeGreaterThan(LASTS_MS[before]);
    }
  });
});

/** What all turns cost, in multiples of a prefix that does not grow, when each is sent with the lifetime chosen then. */
function costOfChoice(all: readonly number[], choose: (at: number) => CacheLifetime): number {
  const write = { '5m': 1.25, '1h': 2 };
  return all.reduce((cost, gap, at) => {
    const isKept = gap * MINUTE <= LASTS_MS[choose(at)];
    const next = write[choose(at + 1)];
    return cost + (isKept ? 0.05 + 0.05 * next : 1.05 * next);
  }, 0);
}

test.each([
  ['quick', 0, 4],
  ['slow', 6, 50],
  ['rare', 70, 600],
  ['mixed', 1, 50],
])('in a %s rhythm the choice costs at most 10 %% and 4 prefixes more than the better one', (_rhythm, min, max) => {
  forCases(50, [fc.array(fc.integer({ min, max }), { minLength: 100, maxLength: 100 })], (all) => {
    const times = timesOf(all);
    const chosen = costOfChoice(all, (at) => cacheLifetime(times.slice(0, at), times[at] ?? 0));
    const fixed = (['5m', '1h'] as const).map((each) => costOfChoice(all, () => each));
    expect(chosen).toBeLessThanOrEqual(Math.min(...fixed) * 1.1 + 4);
  });
});
