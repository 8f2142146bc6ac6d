import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Repeat } from '../../../../../shared/state/reminder/book.ts';
import { rhythmEn, rhythmZh } from '../../../../../shared/texts/times.ts';
import { readReminderInput } from '../../../../../worker/features/reminders/reminder-input.ts';
import { cronProblem, nextDueMs, rhythmOf } from '../../../../../worker/features/reminders/schedule.ts';
import { forAll, forCases } from '../../../../fixture/texts.ts';

const at = (text: string) => Date.parse(`${text}Z`);

test.each<[what: string, first: string, repeat: Repeat | undefined, after: string, next: string]>([
  ['what comes once is due at its time', '11-23T08:00', undefined, '11-22T08:00', '11-23T08:00'],
  ['what comes once never comes again', '11-23T08:00', undefined, '11-23T08:00', ''],
  ['cron in spring', '03-27T08:00', { cron: '0 9 * * *' }, '03-27T08:00', '03-28T08:00 03-29T07:00 03-30T07:00'],
  ['cron in autumn', '03-27T08:00', { cron: '0 9 * * *' }, '10-23T08:00', '10-24T07:00 10-25T08:00 10-26T08:00'],
  [
    'times that the clocks skip come at the next one that exists, once',
    ...(['03-28T01:30', { cron: '15,30,45 2 * * *' }, '03-28T01:46'] as const),
    '03-29T01:00 03-30T00:15 03-30T00:30 03-30T00:45',
  ],
  ['a time shown twice', '10-24T00:30', { cron: '30 2 * * *' }, '10-24T00:30', '10-25T00:30 10-26T01:30 10-27T01:30'],
  ['a time shown twice', '10-24T00:30', { cron: '30 2 * * *' }, '10-25T01:10', '10-26T01:30'],
  ['whole days keep the time of day', '03-28T08:00', { everyMinutes: 1440 }, '03-28T08:00', '03-29T07:00 03-30T07:00'],
  ['hours their distance', '03-28T08:00', { everyMinutes: 720 }, '03-28T08:00', '03-28T20:00 03-29T08:00 03-29T20:00'],
  ['a day that skips it', '03-28T01:30', { everyMinutes: 1440 }, '03-28T01:30', '03-29T01:00 03-30T00:30'],
  ['missed times are skipped', '11-01T08:00', { everyMinutes: 90 }, '11-23T08:10', '11-23T09:30'],
  ['missed days are skipped', '01-01T08:00', { everyMinutes: 1440 }, '11-23T08:00', '11-24T08:00'],
  ['missed weeks are skipped', '01-01T08:00', { cron: '0 9 * * 1' }, '11-23T12:00', '11-30T08:00'],
])('%s: first at %s, repeated by %j, after %s, in UTC, it comes at %s', (_what, first, repeat, after, next) => {
  const given = { firstMs: at(`2026-${first}`), timeZone: 'Europe/Berlin', ...(repeat && { repeat }) };
  const found: string[] = [];
  let atMs: number | undefined = at(`2026-${after}`);
  for (let left = Math.max(1, next.split(' ').length); left > 0; left -= 1) {
    atMs = nextDueMs(given, atMs ?? 0);
    if (atMs !== undefined) found.push(new Date(atMs).toISOString().slice(5, 16));
  }
  expect(found.join(' ')).toBe(next);
});

test('whatever the schedule, its next time is later', () => {
  const zones = fc.constantFrom('Europe/Berlin', 'America/New_York', 'Asia/Taipei', 'Australia/Lord_Howe');
  const repeats = fc.oneof(
    fc.record({ everyMinutes: fc.integer({ min: 10, max: 5_000 }) }),
    fc.record({ cron: fc.constantFrom('*/10 * * * *', '30 2 * * *', '0 */3 * * *', '15,45 1-3 * 3,10 0') }),
  );
  const day = fc.integer({ min: at('2026-01-01T00:00'), max: at('2026-12-31T00:00') });
  forCases(50, [zones, repeats, day], (timeZone, repeat, firstMs) => {
    const given = { firstMs, repeat, timeZone };
    let before = firstMs;
    for (let count = 0; count < 30; count++) {
      const next = nextDueMs(given, before) ?? 0;
      expect(next).toBeGreaterThan(before);
      before = next;
    }
  });
});

test.each([
  '0 9 * * *',
  '*/10 * * * *',
  '0,30 8-17 * * mon-fri',
  '15 7 1 jan *',
  '5,55 3 * * *',
  '0 0 29 2 *',
  '5,55 1-2 * * *',
])('%j is taken', (cron) => {
  expect(cronProblem(cron, 10)).toBeUndefined();
});

test.each([
  ['* * * * *', /every 10 minutes at most/],
  ['*/9 * * * *', /every 10 minutes at most/],
  ['0,59 23,0 * * *', /every 10 minutes at most/],
  ['0 9 * *', /five fields/],
  ['0 0 9 * * *', /five fields/],
  ['@daily', /five fields/],
  ['H 9 * * *', /five fields/],
  ['0 9 L * *', /five fields/],
  ['99 9 * * *', /no cron expression/],
  ['0 0 31 2 *', /no cron expression/],
  ['', /five fields/],
])('%j is refused', (cron, why) => {
  expect(cronProblem(cron, 10)).toMatch(why);
});

test.each([
  ['0 * * * *', 60],
  ['0 9,10 * * *', 60],
  ['59 8,9 * * *', 60],
  ['30 9 * * 1-5', 1_440],
])('of %j the times are %s minutes apart', (cron, minutes) => {
  expect(cronProblem(cron, minutes)).toBeUndefined();
  expect(cronProblem(cron, minutes + 1)).toMatch(/the operator allows no shorter one/);
});

test.each([
  ['0 9 * * 1', 'every Monday at 9:00', '每週一 9:00'],
  ['0 9 * * 1-5', 'every weekday at 9:00', '每週一到週五 9:00'],
  ['30 7 * * *', 'every day at 7:30', '每天 7:30'],
  ['0 9,17 * * mon,thu', 'every Monday and Thursday at 9:00 and 17:00', '每週一、四 9:00、17:00'],
  ['0 9 * * 7', 'every Sunday at 9:00', '每週日 9:00'],
  ['0 0 1,2,3,11 * *', 'on the 1st, 2nd, 3rd and 11th of every month at 0:00', '每月 1、2、3、11 日 0:00'],
  ['0 8 1 1,7 *', 'on the 1st of January and July at 8:00', '每年 1、7 月 1 日 8:00'],
  ['0 9 1 * 1', 'every Monday and on the 1st of every month at 9:00', '每週一和每月 1 日 9:00'],
  ['0 12 * 12 *', 'every day in December at 12:00', '每年 12 月，每天 12:00'],
  ['*/30 * * * *', 'every 30 minutes', '每 30 分鐘'],
  ['0 * * * *', 'every hour', '每小時'],
  ['15 * * * *', 'every hour from 0:15 to 23:15', '0:15 到 23:15 每小時'],
  ['*/15 9-17 * * 1-5', 'every 15 minutes from 9:00 to 17:45, every weekday', '每週一到週五 9:00 到 17:45 每 15 分鐘'],
  [
    '0 7,8,9,12,15,18,21 * * *',
    'every day at 7:00, 8:00, 9:00, 12:00, 15:00, 18:00 and 1 more',
    '每天 7:00、8:00、9:00、12:00、15:00、18:00等 7 次',
  ],
])('%j is said in words: %s', (cron, en, zh) => {
  const rhythm = rhythmOf({ cron });
  expect(rhythm && [rhythmEn(rhythm), rhythmZh(rhythm)]).toEqual([en, zh]);
});

test.each([
  [1, 'every minute', '每分鐘'],
  [45, 'every 45 minutes', '每 45 分鐘'],
  [120, 'every 2 hours', '每 2 小時'],
  [1_440, 'every day', '每天'],
  [4_320, 'every 3 days', '每 3 天'],
  [10_080, 'every week', '每週'],
])('a repeat of %s minutes is said in words: %s', (everyMinutes, en, zh) => {
  expect([rhythmEn({ everyMinutes }), rhythmZh({ everyMinutes })]).toEqual([en, zh]);
});

const NOW_MS = Date.UTC(2026, 10, 22, 14, 20, 30);
const FACTS = { nowMs: NOW_MS, timeZone: 'Asia/Taipei', leastMinutes: 1, repeatMinutesMin: 10 };
const TEXT = 'call Ann';

function dueOf(input: object): string {
  const reminder = readReminderInput({ text: TEXT, ...input }, FACTS);
  return reminder.ok ? new Date(reminder.dueAtMs).toISOString().slice(0, 19) : reminder.problem;
}

test.each([
  [{ at: '2026-11-23T09:00' }, '2026-11-23T01:00:00'],
  [{ in: 90 }, '2026-11-22T15:50:30'],
  [{ cron: '0 9 * * *' }, '2026-11-23T01:00:00'],
  [{ every: 45 }, '2026-11-22T15:05:30'],
  [{ every: 1440, at: '2026-11-23 09:00' }, '2026-11-23T01:00:00'],
  [{ every: 60, in: 5 }, '2026-11-22T14:25:30'],
  [{ in: 10, at: '', cron: null }, '2026-11-22T14:30:30'],
])('%j is due first at %s in UTC', (input, due) => {
  expect(dueOf(input)).toBe(due);
});

test.each([
  [{ at: '2026-11-23T09:00', in: 5 }, /either "at" or "in"/],
  [{ cron: '0 9 * * *', every: 60 }, /either "cron" or "every"/],
  [{ cron: '0 9 * * *', in: 5 }, /"cron" says when/],
  [{ cron: 9 }, /must be a text/],
  [{ in: 0 }, /1 or more/],
  [{ in: 1.5 }, /1 or more/],
  [{ in: '5' }, /1 or more/],
  [{ every: 1e9 }, /10 or more/],
  [{ at: '2026-11-22T22:20' }, /in the past\. It is 2026-11-22 22:20 in Asia\/Taipei now/],
  [{}, /Say when/],
])('%j is refused, with the reason', (input, why) => {
  expect(dueOf(input)).toMatch(why);
});

test('whatever a model sends is a reminder that is due later, or a problem in words', () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('0 9 * * *', '2027-01-01T00:00', '*/15 * * * *', 10, 60));
  const names = fc.constantFrom('text', 'at', 'in', 'cron', 'every');
  forAll([fc.dictionary(names, value)], (input) => {
    const reminder = readReminderInput(input, FACTS);
    if (reminder.ok) expect(reminder.dueAtMs).toBeGreaterThan(NOW_MS);
    else expect(reminder.problem).toMatch(/\.$/);
  });
});
