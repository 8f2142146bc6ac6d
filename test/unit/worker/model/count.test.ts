import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { tokenizerFactor } from '../../../../worker/model/catalog.ts';
import { type Count, calibrate, countRequest, estimateFixed, roomOf } from '../../../../worker/model/count.ts';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { view, type Window } from '../../../../worker/session/view.ts';
import { KINDS, textOfKind } from '../../../fixture/mixed-corpus.ts';
import { randomInt, seededRandom } from '../../../fixture/random.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';
import { forAll } from '../../../fixture/texts.ts';
import { countTokens } from '../../../stand-in/claude/counting.ts';

const SYSTEM = 'You are a helpful assistant in a Telegram chat. Answer briefly.';
const ANSWERS = 3;
const measured = (inputTokens: number, passes?: 'unstated') =>
  ({ usage: { inputTokens, outputTokens: 0, cacheReadTokens: 0, ...(passes && { passes }) }, content: [] }) as const;
const CONVERSATIONS = 60;

/** Each tokenizer with a model that we know to have such a one. */
const TOKENIZERS = [
  ['claude-haiku-4-5', 1],
  ['claude-opus-5-5', 1.35],
] as const;

function windowOf(records: readonly LogRecord[]): Window {
  return { head: undefined, records, omitted: 0 };
}

function realTokens(window: Window, model: string, ratio: number): number {
  return countTokens({ model, max_tokens: 1000, system: SYSTEM, messages: view(window) } as never, ratio);
}

function counted(window: Window, model: string, calibration: number): Count {
  return countRequest({ system: SYSTEM, tools: [], serverTools: [] }, window, view(window), model, calibration);
}

/** Plays conversations of mixed content; returns the relative error of the first and of the last count of each. */
function play(model: string, ratio: number): { cold: number[]; warm: number[] } {
  const random = seededRandom(20261122);
  const cold: number[] = [];
  const warm: number[] = [];
  for (let conversation = 0; conversation < CONVERSATIONS; conversation++) {
    let calibration: number | undefined;
    const records: LogRecord[] = [];
    for (let turn = 0; turn <= ANSWERS; turn++) {
      const kind = KINDS[randomInt(random, KINDS.length)] ?? 'english';
      records.push(userSays(textOfKind(kind, 300 + randomInt(random, 3_000), random)));
      const window = windowOf(records);
      const count = counted(window, model, calibration ?? tokenizerFactor(model));
      const real = realTokens(window, model, ratio);
      const error = Math.abs(count.tokens - real) / real;
      if (turn === 0) cold.push(error);
      if (turn === ANSWERS) warm.push(error);
      calibration = calibrate(calibration, count, measured(real));
      const answer = textOfKind(kind, 400 + randomInt(random, 1_500), random);
      const outputTokens = realTokens(windowOf([...records, reply(answer, 1, 1, model)]), model, ratio) - real;
      records.push(reply(answer, real, outputTokens, model));
    }
  }
  return { cold, warm };
}

function reply(content: string, inputTokens: number, outputTokens: number, model: string): LogRecord {
  return { ...assistantSays(content), model, usage: { inputTokens, outputTokens } } as LogRecord;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

test.each(TOKENIZERS)('for %s the mean error is at most 15 %% cold, and 3 %% after three answers', (model, ratio) => {
  const { cold, warm } = play(model, ratio);
  process.stderr.write(
    `${model}: mean error ${(mean(cold) * 100).toFixed(1)} % cold, ${(mean(warm) * 100).toFixed(1)} % after three answers\n`,
  );
  expect(mean(cold)).toBeLessThanOrEqual(0.15);
  expect(mean(warm)).toBeLessThanOrEqual(0.03);
});

const LONG = 'a question of some length that is sent again '.repeat(40);

test.each<[string, LogRecord]>([
  ['of another model', { ...reply('x', 90_000, 10, 'claude-haiku-4-5'), model: 'gpt-4' } as LogRecord],
  ['that failed and has no usage', { ...assistantSays('x'), model: 'claude-haiku-4-5' } as LogRecord],
  ['that was aborted and has zero usage', reply('x', 0, 0, 'claude-haiku-4-5')],
])('ignores the usage of an answer %s', (_what, answer) => {
  const window = windowOf([userSays(LONG), answer, userSays('now')]);
  expect(counted(window, 'claude-haiku-4-5', 1).knownTokens).toBe(0);
});

test.each<[string, LogRecord]>([
  ['a compaction', { v: 1, t: 'compaction', id: 'c', at: '', summary: 'short', records: 1 }],
  ['a scrub', { v: 1, t: 'scrub', id: 's', at: '', entry: 'e', text: 'gone' }],
])('ignores usage from before %s: what it counted is no longer sent', (_what, change) => {
  const records = [userSays(LONG), reply('x', 90_000, 10, 'claude-haiku-4-5'), change, userSays('now')];
  expect(counted(windowOf(records), 'claude-haiku-4-5', 1)).toMatchObject({ knownTokens: 0 });
});

test('estimates only what came after the last known usage', () => {
  const window = windowOf([userSays(LONG), reply('x', 5_000, 100, 'claude-haiku-4-5-20251001'), userSays('now')]);
  const { knownTokens, estimatedTokens } = counted(window, 'claude-haiku-4-5', 1);
  expect(knownTokens).toBe(5_100);
  expect(estimatedTokens).toBeLessThan(10);
});

const SEARCHED = [
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
  { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
  { type: 'text', text: 'found' },
];

test('the anchor is the last pass of an answer with several, and never their sum', () => {
  const passes = { firstInputTokens: 5_000, lastInputTokens: 6_000, lastOutputTokens: 50 };
  const before = reply('x', 4_000, 100, 'claude-haiku-4-5');
  const searched = (usage: object) => ({ ...reply('x', 23_000, 200, 'claude-haiku-4-5'), content: SEARCHED, usage });
  const known = (answer: object) =>
    counted(
      windowOf([userSays(LONG), before, userSays('now'), answer as LogRecord, userSays('and now')]),
      'claude-haiku-4-5',
      1,
    );
  expect(known(searched({ inputTokens: 23_000, outputTokens: 200, passes })).knownTokens).toBe(6_050);
  expect(known(searched({ inputTokens: 23_000, outputTokens: 200, passes: 'unstated' })).knownTokens).toBe(4_100);
  // A record of the version before.
  expect(known(searched({ inputTokens: 23_000, outputTokens: 200 })).knownTokens).toBe(4_100);
});

test('a calibration is between 0.5 and 2.5, moves half the way, and ignores small or negative samples', () => {
  const count = (estimatedTokens: number, knownTokens = 0): Count => ({
    tokens: 0,
    knownTokens,
    estimatedTokens,
    mediaTokens: 0,
  });
  expect(calibrate(undefined, count(1_000), measured(1_200))).toBe(1.2);
  expect(calibrate(1, count(1_000), measured(2_000))).toBe(1.5);
  expect(calibrate(undefined, count(1_000), measured(1_000_000))).toBe(2.5);
  expect(calibrate(undefined, count(1_000), measured(1))).toBe(0.5);
  expect(calibrate(1.1, count(50), measured(500))).toBe(1.1);
  expect(calibrate(1.1, count(1_000), measured(1_800, 'unstated'))).toBe(1.1);
  expect(calibrate(1.1, count(1_000, 9_000), measured(8_000))).toBe(1.1);
});

test('the prompt, the tools and the server tools each count among the fixed parts', () => {
  const [tools, serverTools] = [[{ name: 'a' }], [{ type: 'web_search' }]];
  const fixed = { system: SYSTEM, tools, serverTools };
  const tokens = estimateFixed(fixed);
  expect(estimateFixed({ ...fixed, system: `${SYSTEM} ${SYSTEM}` })).toBeGreaterThan(tokens);
  expect(estimateFixed({ ...fixed, tools: [...tools, { name: 'another' }] })).toBeGreaterThan(tokens);
  expect(estimateFixed({ ...fixed, serverTools: [] })).toBeLessThan(tokens);
  expect(estimateFixed({ system: '', tools: [], serverTools: [] })).toBe(0);
});

const settings = fc.record({
  MAX_OUTPUT_TOKENS: fc.integer({ min: 1, max: 200_000 }),
  COMPACT_AT: fc.double({ min: 0.1, max: 0.95, noNaN: true }),
});

test('at every window size 0 < kept < retained < full < usable, and usable plus output fit the window', () => {
  forAll([fc.integer({ min: 1_000, max: 2_000_000 }), settings], (limitTokens, given) => {
    const room = roomOf(limitTokens, given);
    expect(room.fullTokens).toBeLessThanOrEqual(room.usableTokens * 0.8);
    expect(room.usableTokens + room.outputTokens).toBeLessThanOrEqual(limitTokens);
    expect(room.verbatimTokens).toBeLessThanOrEqual(room.usableTokens * 0.2);
    expect(room.retainedTokens).toBeLessThanOrEqual(room.fullTokens / 2);
    expect(room.verbatimTokens).toBeLessThan(room.retainedTokens);
    expect(Math.min(room.outputTokens, room.verbatimTokens)).toBeGreaterThan(0);
  });
});

test.each([
  [1_000, 1, [500, 400, 1]],
  [8_000, 4_096, [4_000, 3_200, 4_000]],
  [20_000, 16_000, [10_000, 8_000, 10_000]],
  [200_000, 4_096, [184_000, 140_000, 4_096]],
  [200_000, 16_000, [184_000, 140_000, 16_000]],
  [200_000, 64_000, [136_000, 108_800, 64_000]],
  [1_000_000, 16_000, [984_000, 700_000, 16_000]],
])('divides a window of %d tokens, with %d for output, into usable, full and output', (limit, output, parts) => {
  const room = roomOf(limit, { MAX_OUTPUT_TOKENS: output, COMPACT_AT: 0.7 });
  expect([room.usableTokens, room.fullTokens, room.outputTokens]).toEqual(parts);
});
