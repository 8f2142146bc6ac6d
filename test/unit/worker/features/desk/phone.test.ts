import type { MessageEntity } from '@grammyjs/types';
import { expect, test } from '@jest/globals';
import { reportButtons } from '../../../../../worker/features/desk/offers.ts';
import { phoneBlocks } from '../../../../../worker/features/desk/phone.ts';
import { withEntities } from '../../../../../worker/reply/format/entities.ts';
import { entityParts } from '../../../../../worker/reply/format/layout.ts';
import { chatName, type Fact, messageName, type Report, type Section } from '../../../../../worker/report/report.ts';

const NOW_MS = Date.parse('2026-11-25T04:13:59Z');
const TRACE = 'a'.repeat(32);
const ENTRY = '1700000000000-0';

const report = (part: Partial<Report>): Report => ({ nowMs: NOW_MS, sections: [], ...part });
const ofSections = (...sections: Section[]) => report({ sections });
const shown = (one: Report) => withEntities(phoneBlocks(one));
const textOf = (one: Report) => shown(one).text;
/** What is marked so. */
const marked = (one: Report, type: MessageEntity['type']) => {
  const { text, entities } = shown(one);
  const own = entities.filter((entity) => entity.type === type);
  return own.map(({ offset, length }) => text.slice(offset, offset + length));
};
const many = <T>(count: number, each: (n: number) => T) => Array.from({ length: count }, (_, n) => each(n));

test('the verdict comes first, in bold, with a mark by its tone', () => {
  const verdict = { word: 'Red', reason: ['Chat ', chatName('1007'), ' waits.'], more: ['Restart it. Runbook: idle'] };
  const red = report({ verdict: { tone: 'bad', ...verdict } });
  expect(textOf(red)).toBe('🔴 Red Chat 1007 waits.\nRestart it. Runbook: idle');
  expect([marked(red, 'bold'), marked(red, 'code')]).toEqual([['Red'], ['1007']]);
  const marks = (['good', 'fair', 'plain'] as const).map((tone) =>
    textOf(report({ verdict: { tone, reason: 'So.' } })),
  );
  expect(marks).toEqual(['🟢 So.', '🟡 So.', 'So.']);
});

test('facts are lines, times are ages, and ids can be copied with a tap', () => {
  const facts: Fact[] = [
    { name: 'Pending', value: 3, note: ['oldest ', messageName(ENTRY), ', accepted ', { atMs: NOW_MS - 180_000 }] },
    { name: 'Model', value: 'away', tone: 'bad' },
    { name: 'Dead letters', value: { of: 'dead', id: '', text: 0 } },
  ];
  const one = ofSections({ title: 'Numbers', facts }, { intro: `Trace ${TRACE}` });
  expect(textOf(one)).toBe(
    `Numbers\nPending 3; oldest ${ENTRY}, accepted 3 min ago\n🔴 Model away\nDead letters 0\n\nTrace ${TRACE}`,
  );
  expect(marked(one, 'bold')).toEqual(['Numbers', 'Pending', 'Model', 'Dead letters']);
  expect(marked(one, 'code')).toEqual([ENTRY, TRACE]);
});

test('a table is one line a row, each cell after its column; a long one is folded, and its end counted', () => {
  const columns = ['Letter', 'Chat', 'Reason', 'Failed', 'Trace'];
  const row = (n: number) => [{ letter: `0/${ENTRY}` }, chatName(`${1000 + n}`), '–', { atMs: NOW_MS - 5_000 }, 'none'];
  const one = ofSections({
    title: 'Kept',
    table: { columns, rows: many(44, row) },
    more: { count: 6, noun: 'letter' },
  });
  const [title, first, ...others] = textOf(one).split('\n');
  expect([title, first, others.at(-1)]).toEqual([
    'Kept',
    `• 0/${ENTRY}, chat 1000, failed 5 s ago`,
    'and 40 more letters',
  ]);
  expect(others).toHaveLength(10);
  expect(marked(one, 'expandable_blockquote')).toEqual([textOf(one)]);
  const short = ofSections({ title: 'Kept', table: { columns, rows: [row(1)] } });
  expect([marked(short, 'blockquote'), marked(short, 'pre')]).toEqual([[textOf(short)], []]);
});

test('an incident is a heading with its lines, and of many the first few are shown', () => {
  const lines = ['OPEN for 3 s', 'Latest: <b>*x*</b>'];
  const item = { title: 'failed: Messages failed', tone: 'fair', severity: 'Needs attention', lines } as const;
  const one = ofSections({ title: 'Open', items: many(40, () => item), more: { count: 0, noun: 'incident' } });
  expect(textOf(one)).toMatch(
    /^Open\n\n🟡 Needs attention · failed: Messages failed\nOPEN for 3 s\nLatest: <b>\*x\*<\/b>\n\n🟡 /u,
  );
  expect(textOf(one)).toMatch(/\n\nand 34 more incidents$/);
});

test('a long life is its first step and its newest ones', () => {
  const steps = many(100, (n) => ({ atMs: NOW_MS + n * 1000, kind: 'model', text: `step ${n}` }));
  const lines = textOf(ofSections({ title: 'Timeline', timeline: { fromMs: NOW_MS, steps } })).split('\n');
  expect(lines.slice(0, 4)).toEqual(['Timeline', '+0 s step 0', '… 80 more …', '+81 s step 81']);
  expect(lines.at(-1)).toBe('+99 s step 99');
});

test('words of others stay on one line and are cut, whatever they hold, and the words of a message are not shown', () => {
  const reason = `first\nsecond ‮third ${'x'.repeat(5_000)}`;
  const one = ofSections(
    { facts: [{ name: 'Reason', value: reason }] },
    { title: 'Content', quote: 'the secret words' },
  );
  expect(textOf(one)).toMatch(/^Reason first second third x+…\n\nContent$/);
  expect(textOf(one).length).toBeLessThan(500);
});

test('whatever a report holds, each of its messages fits, and there are not many', () => {
  const wide = many(7, () => 'y'.repeat(3_000));
  const rows = many(50, () => wide);
  const sections = many(
    8,
    (n): Section => ({ title: `T${n}`, table: { columns: many(7, () => 'Column'), rows }, facts: [] }),
  );
  const parts = entityParts(phoneBlocks(ofSections(...sections)));
  expect(parts.length).toBeLessThan(100);
  for (const part of parts) {
    const { text, entities } = withEntities(part.blocks);
    expect(text.length).toBeLessThanOrEqual(4_096);
    expect(entities.length).toBeLessThanOrEqual(100);
  }
});

test('no command line is spoken of, where the same can be typed here', () => {
  const todo =
    '"npm run cli -- status" says why, "npm run cli -- message <id>" more; "npm run cli -- dead replay --all" mends.';
  const one = ofSections({ facts: [{ name: 'To do', value: todo }] });
  expect(textOf(one)).toBe(
    'To do /status says why, /message <id> more; "dead replay --all" on the command line mends.',
  );
});

test('what can be done or looked at has a button, once, and what no button can hold has none', () => {
  const rows = [
    [messageName(ENTRY), chatName('1007')],
    [messageName('no entry'), chatName('none')],
    [messageName(TRACE), chatName('1007')],
    [messageName('1700000000001-0'), chatName('-100.7')],
  ];
  const commands = [
    'pause 1007',
    'cancel 1007',
    'session show 1007',
    'dead list --chat 1008',
    'dead replay 1-0',
    'resume',
  ];
  const table = { columns: ['', ''], rows };
  const one: Report = {
    ...ofSections({ table, facts: [{ name: '', value: { of: 'dead', id: '1', text: 2 } }] }),
    actions: [...commands, `message ${'9'.repeat(60)}`].map((command) => ({ command })),
  };
  expect(reportButtons(one).map((row) => row.map(({ text, command }) => `${text}: ${command}`).join(' | '))).toEqual([
    'Pause 1007: /desk pause 1007 | Dead letters 1008: /desk dead 1008',
    'Resume all: /desk resume all | Dead letters 1: /desk dead 1',
    'Chat 1007: /desk chat 1007 | Chat -100.7: /desk chat -100.7',
    `Message ${ENTRY}: /desk message ${ENTRY}`,
    `Trace ${TRACE.slice(0, 8)}: /desk message ${TRACE}`,
  ]);
  expect(reportButtons(report({}))).toEqual([]);
});
