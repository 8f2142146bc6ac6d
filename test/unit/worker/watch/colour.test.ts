import { expect, test } from '@jest/globals';
import type { Cause } from '../../../../shared/flow/alert.ts';
import { CAUSES } from '../../../../worker/alerts/causes.ts';
import {
  colourOf,
  type FlowState,
  type ProcessState,
  type RecentOutcome,
  troublesOf,
} from '../../../../worker/watch/colour.ts';

const NOW = 1_800_000_000_000;
const MINUTE = 60_000;
const WELL: FlowState = { nowMs: NOW, conditions: [], incidents: [], newest: [], openLetters: 0 };
const SEEN: ProcessState = { workers: 1, takesWrites: true, imbalance: undefined, pauses: [], isStarting: false };

function incident(cause: string, part: Partial<FlowState['incidents'][number]> = {}): FlowState['incidents'][number] {
  return { cause: cause as Cause, isOpen: true, lastMs: NOW, latest: `It is ${cause}.`, ...part };
}

function newest(outcomes: string, agoMs = 1_000): RecentOutcome[] {
  return [...outcomes].map((each) => ({
    outcome: each === 'f' ? 'failed' : each === 'c' ? 'command' : 'answered',
    ...(each === 'f' && { reason: 'network' }),
    settledAtMs: NOW - agoMs,
  }));
}

function colour(judged: Partial<FlowState>, seen: Partial<ProcessState> = {}) {
  const troubles = troublesOf({ ...WELL, ...judged }, { ...SEEN, ...seen });
  return colourOf(troubles, seen.isStarting);
}

test.each(Object.entries(CAUSES))('an open incident %s has the colour of its severity', (cause, { severity }) => {
  const expected = { page: 'red', attention: 'yellow', info: 'green' } as const;
  expect(colour({ incidents: [incident(cause)] })).toBe(expected[severity]);
  expect(colour({ conditions: [{ cause: cause as Cause, text: 'so it is' }] })).toBe(expected[severity]);
  expect(colour({ incidents: [incident(cause, { isOpen: false, endedMs: NOW })] })).toBe('green');
});

test('without incidents it is green, and a cause that is not in the table is yellow', () => {
  expect([colour({}), colour({ incidents: [incident('meteor')] })]).toEqual(['green', 'yellow']);
});

test('what cannot end is as severe as it was for ten minutes, yellow for a day, and then only in the list', () => {
  const ago = [1, 11, 23 * 60, 25 * 60].map((minutes) => ({ lastMs: NOW - minutes * MINUTE }));
  const colours = ago.map((part) => colour({ incidents: [incident('lost-data', part)] }));
  expect(colours).toEqual(['red', 'yellow', 'yellow', 'green']);
});

test.each<[string, string, Partial<ProcessState>]>([
  ['redis-writes', 'red', { takesWrites: false }],
  ['redis-writes', 'red', { takesWrites: false, workers: 0 }],
  ['worker', 'red', { workers: 0 }],
  ['ledger', 'red', { imbalance: '1 message came in uncounted' }],
  ['paused', 'red', { pauses: [{ chat: '*', sinceMs: 1, by: 'ann', why: '' }] }],
])('%s is a trouble by itself, and %s', (cause, expected, part) => {
  expect(troublesOf(WELL, { ...SEEN, ...part })).toEqual([expect.objectContaining({ cause })]);
  expect(colour({}, part)).toBe(expected);
});

test('the worst comes first, and a cause once', () => {
  const conditions = (['tool-server', 'provider'] as const).map((cause) => ({ cause, text: 'away' }));
  const incidents = [incident('tool-server'), incident('provider'), incident('idle')];
  const causes = troublesOf({ ...WELL, conditions, incidents }, SEEN).map(({ cause }) => cause);
  expect(causes).toEqual(['provider', 'idle', 'tool-server']);
});

test('most of the last ten that failed are red: commands do not count, nor what is older', () => {
  const ends = ['ffffffaaaa', 'fffffaaaaa', 'aaaaaffffffff', 'ccccccccccccfff', 'ff'];
  const colours = ends.map((outcomes) => colour({ newest: newest(outcomes) }));
  expect(colours).toEqual(['red', 'green', 'green', 'red', 'green']);
  const text = '3 of the last 4 messages failed (network).';
  expect(troublesOf({ ...WELL, newest: newest('fffa') })).toEqual([expect.objectContaining({ cause: 'failed', text })]);
});

test('what failed before its reason was gone is past, and so is what failed an hour ago', () => {
  const gone = (cause: string) => [incident(cause, { isOpen: false, endedMs: NOW - MINUTE })];
  expect(colour({ newest: newest('ffffff', 2 * MINUTE), incidents: gone('provider') })).toBe('green');
  expect(colour({ newest: newest('ffffff', 2 * MINUTE), incidents: gone('ledger') })).toBe('red');
  expect(colour({ newest: newest('ffffff', MINUTE / 2), incidents: gone('provider') })).toBe('red');
  expect(colour({ newest: newest('ffffff', 61 * MINUTE) })).toBe('green');
});

test('the first line is the cause: what follows from it comes behind it, and gives no colour', () => {
  const incidents = [
    incident('failed'),
    incident('unanswered'),
    incident('provider', { latest: 'The key is refused.' }),
  ];
  const troubles = troublesOf({ ...WELL, incidents, newest: newest('fffff'), openLetters: 5 }, SEEN);
  expect(troubles.map(({ cause, under }) => [cause, under].join(' '))).toEqual([
    ...['provider ', 'unanswered provider', 'failed provider', 'dead-letters provider'],
  ]);
  const [first] = troublesOf({ ...WELL, incidents: [incident('unanswered')] }, { ...SEEN, workers: 0 });
  expect(first?.cause).toBe('worker');
  const nearlyFull = [incident('memory', { level: 'nearly full' }), incident('unanswered')];
  const unders = troublesOf({ ...WELL, incidents: nearlyFull }, SEEN).map(({ under }) => under);
  expect(unders).toEqual([undefined, undefined]);
});

test('messages that failed and were neither replayed nor closed keep it yellow, with their number', () => {
  expect(colour({ openLetters: 1 })).toBe('yellow');
  expect(troublesOf({ ...WELL, openLetters: 4 }, SEEN)).toMatchObject([
    { cause: 'dead-letters', text: '4 messages failed and were neither replayed nor closed.' },
  ]);
});

test('a start lacks a worker and a poll, and is red only for something else', () => {
  const late = { conditions: [{ cause: 'no-poll' as const, text: 'No poll' }] };
  expect(colour(late, { workers: 0, isStarting: true })).toBe('starting');
  expect(colour(late, { workers: 0 })).toBe('red');
  expect(colour({ ...late, incidents: [incident('provider')] }, { workers: 0, isStarting: true })).toBe('red');
});
