import { expect, test } from '@jest/globals';
import type { Survey } from './mutant-survey.ts';
import type { Result, Scenario } from './scenario.ts';
import type { Played } from './suite.ts';
import { suiteReport } from './suite-report.ts';

const SEED = 7;

const KNOWN = [
  { pattern: /lost/, why: 'not fixed' },
  { pattern: /elsewhere/, why: 'not seen' },
];

const scenario = (name: string): Scenario => ({
  name,
  about: `about ${name}`,
  traffic: { messages: 10, chats: 2 },
  play: async () => {},
});

const result = (name: string, more: Partial<Result> = {}): Result => ({
  ...{ name, seed: SEED, messages: 12, faults: 2, durationMs: 4_000, drainMs: 500 },
  ...{ violations: [], lost: 0, outOfOrder: 0, contractViolations: 0, extra: 1, unanswered: 0, again: 3, cut: 0 },
  ...more,
});

const survey = (isCaught: boolean): Survey => ({
  ...{ name: 'no fence', scenario: 'a', violates: 'I2', isCaught },
  printed: 'seed 7\n  I2, chat 1001, part 1 stands 2 times\n',
});

const report = (played: readonly Played[], surveys: readonly Survey[] = []): string =>
  suiteReport(
    { seed: SEED, startedMs: Date.UTC(2026, 10, 22), endedMs: Date.UTC(2026, 10, 22, 0, 9), played, surveys },
    { node: 'v26', redis: '7.0', cores: 2 },
  );

test('the report states command, date, duration, machine and versions, and sums up scenarios and mutants', () => {
  const text = report([{ scenario: scenario('a'), result: result('a') }], [survey(true)]);
  expect(text).toContain('`npm run chaos -- --seed 7` on 2026-11-22: 9.0 minutes, 2 cores, Node v26, Redis 7.0.');
  expect(text).toContain('**1 of 1 scenarios hold.** 12 messages, 2 faults, 3 model calls beyond');
  expect(text).toContain('| a | about a | 12 | 2 | 4.0 | 0.5 | 0 | 0 | 0 | 1 | 3 | 0 | 0 | holds |');
  expect(text).toContain('| no fence | a | caught | I2, chat 1001, part 1 stands 2 times |');
});

test('the report shows violations, known faults, scenarios that were not played and escaped mutants', () => {
  const violations = [{ invariant: 'I1' as const, chatId: 1001, message: 4, seen: 'lost | gone' }];
  const text = report(
    [
      { scenario: scenario('a'), result: result('a') },
      { scenario: scenario('b'), result: result('b', { violations }) },
      {
        scenario: { ...scenario('d'), known: KNOWN },
        result: result('d', { violations }),
      },
      { scenario: scenario('c'), problem: 'never died' },
    ],
    [survey(true), survey(false)],
  );
  expect(text).toContain('**1 of 4 scenarios hold, 1 with known faults.**');
  expect(text).toContain('**1 of 2 mutants are caught.**');
  expect(text).toContain('| 0 | VIOLATED |');
  expect(text).toContain('I1, chat 1001, message 4, lost / gone');
  expect(text).toContain('known: not fixed');
  expect(text).not.toContain('known: not seen');
  expect(text).toContain('| c | about c | not played: never died |');
  expect(text).toContain('| no fence | a | ESCAPED |');
});
