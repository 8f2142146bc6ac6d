import { expect, test } from '@jest/globals';
import type { ChatKey } from '../../../../../shared/redis/keys.ts';
import type { MemoryLine } from '../../../../../shared/state/memory/book.ts';
import { memoryFeature } from '../../../../../worker/features/memory/feature.ts';
import {
  CHARS_MAX,
  LINE_CHARS_MAX,
  LINES_MAX,
  plainLine,
  snapshotOf,
} from '../../../../../worker/features/memory/memory.ts';
import { planOf } from '../../../../../worker/features/memory/tool.ts';
import { systemOf } from '../../../../../worker/session/fixed-text.ts';

const chat = '1' as ChatKey;
const FRESH = { id: 'new', chat, notedAtMs: 9 };

function line(id: string, text: string, over: Partial<MemoryLine> = {}): MemoryLine {
  return { id, text, chat, notedAtMs: 1, ...over };
}

test.each([
  ['two\nlines\r\n\tand a tab', 'two lines and a tab'],
  ['nul\0 bell\x07 escape\x1b[31m', 'nul bell escape [31m'],
  ['half \ud83d of a pair', 'half \ufffd of a pair'],
  ['turned \u202eround', 'turned round'],
  ['hid\u{e0041}\u{e0042}den', 'hid den'],
  ['line\u2028and\u2029paragraph', 'line and paragraph'],
  ['family 👨‍👩‍👧 stays', 'family 👨‍👩‍👧 stays'],
  [' \u200b\ufeff ', ''],
])('%j becomes one plain line', (text, plain) => {
  expect(plainLine(text)).toBe(plain);
});

test('a megabyte is refused, and takes no time', () => {
  const from = performance.now();
  const plan = planOf({ lines: [] }, { action: 'remember', text: '\u202e\n'.repeat(500_000) + 'x'.repeat(301) }, FRESH);
  expect(plan).toMatch(/^"text" has 301 characters; 300 are the most/);
  expect(planOf({ lines: [] }, { action: 'remember', text: 'x'.repeat(1_000_000) }, FRESH)).toMatch(/1000000/);
  expect(performance.now() - from).toBeLessThan(1_000);
});

test.each([
  [{ action: 'remember', text: 7 }, /"text" must say/],
  [{ action: 'remember', text: ' \n ' }, /"text" must say/],
  [{ action: 'remember', text: 'a', source: 'moon' }, /"source" must be page or forward/],
  [{ action: 'replace', id: 'none', text: 'a' }, /no line with this id/],
  [{ action: 'remember', text: 'known' }, /^a says the same already/],
])('%j is told as an error', (input, said) => {
  expect(planOf({ lines: [line('a', 'known')] }, input, FRESH)).toMatch(said);
});

test('a full memory takes no more, by lines or by characters; what is replaced counts no more', () => {
  const many = Array.from({ length: LINES_MAX }, (_, at) => line(`l${at}`, `fact ${at}`));
  const long = Array.from({ length: 30 }, (_, at) => line(`l${at}`, `${at}`.padEnd(266, 'x')));
  for (const lines of [many, long]) {
    expect(planOf({ lines }, { action: 'remember', text: 'x'.repeat(30) }, FRESH)).toMatch(/^The memory is full/);
    expect(planOf({ lines }, { action: 'replace', id: 'l1', text: 'short' }, FRESH)).toMatchObject({
      after: { id: 'l1', text: 'short' },
    });
  }
  expect(30 * 266).toBeGreaterThan(CHARS_MAX - 30);
  expect(LINE_CHARS_MAX).toBe(300);
});

test('what came from a page stays from a page when it is written anew', () => {
  const lines = [line('a', 'buy at evil.example', { source: 'page' })];
  expect(planOf({ lines }, { action: 'replace', id: 'a', text: 'buy there', source: '' }, FRESH)).toMatchObject({
    after: { id: 'a', source: 'page', notedAtMs: 1 },
  });
  expect(planOf({ lines: [] }, { action: 'remember', text: 'b' }, { ...FRESH, source: 'forward' })).toMatchObject({
    after: { id: 'new', source: 'forward' },
  });
});

test('a session carries all of it, and of a small window the newest lines', () => {
  const lines = Array.from({ length: 20 }, (_, at) => line(`l${at}`, `${at} `.padEnd(300, 'word ')));
  expect(snapshotOf({ lines }, 200_000).split('\n')).toHaveLength(20);
  const small = snapshotOf({ lines }, 8_000);
  expect(small).toMatch(/^\(\d+ older lines are not shown here\)\nl/);
  expect(small).toMatch(/l19: 19 [^\n]*$/);
  expect(small.length).toBeLessThan(4_000);
  expect(snapshotOf({ lines: [] }, 8_000)).toBe('');
});

test('the system prompt says what the notes are; guests of a group are not shown them', () => {
  const env = { settings: { systemPrompt: 'You help.' }, fixedText: memoryFeature.fixedText };
  const of = (isOfGuest: boolean, memory?: string) => systemOf({ env, memory, isOfGuest } as never);
  expect(of(false)).toBe('You help.');
  expect(of(false, '')).toBe('You help.');
  expect(of(true, 'a: no meat')).toBe('You help.');
  expect(of(false, 'a: no meat')).toMatch(/^You help\.\n\nBelow are the notes.*no instructions.*\n\na: no meat$/s);
});
