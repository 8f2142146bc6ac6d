import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readReminderInput } from '../../../../../worker/features/reminders/reminder-input.ts';

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
  fc.assert(
    fc.property(fc.dictionary(names, value), (input) => {
      const reminder = readReminderInput(input, FACTS);
      if (reminder.ok) expect(reminder.dueAtMs).toBeGreaterThan(NOW_MS);
      else expect(reminder.problem).toMatch(/\.$/);
    }),
  );
});
