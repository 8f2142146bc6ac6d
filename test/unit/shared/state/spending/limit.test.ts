import { expect, test } from '@jest/globals';
import { readSettings } from '../../../../../shared/base/settings.ts';
import { limitsOf, nextPeriodMs } from '../../../../../shared/state/spending/limit.ts';
import { EN } from '../../../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../../../shared/texts/zh-hant.ts';

function read(env: Record<string, string>) {
  return readSettings(
    {
      TELEGRAM_BOT_TOKEN: '123456:AAE-good_token',
      TELEGRAM_ALLOWED_IDS: '1001,-1002',
      TELEGRAM_ALERT_CHAT_ID: '9001',
      ANTHROPIC_API_KEY: 'sk-ant-good',
      ...env,
    },
    'gateway',
  );
}

function settingsOf(env: Record<string, string> = {}) {
  const reading = read(env);
  if (!reading.ok) throw new Error(reading.problems.join());
  return reading.settings;
}

function problemsOf(env: Record<string, string>): string[] {
  const reading = read(env);
  return reading.ok ? [] : reading.problems;
}

test('limits in money are dollars: 25 a day in all unless set, others only where set, and 0 is none', () => {
  expect(limitsOf(settingsOf())).toEqual([
    { setting: 'TOTAL_DAILY_USD', whose: 'total', period: 'day', unit: 'usd', max: 25e9 },
  ]);
  expect(limitsOf(settingsOf({ TOTAL_DAILY_USD: '0' }))).toEqual([]);
  const all = ['CHAT', 'PERSON', 'TOTAL'].flatMap((whose) => [`${whose}_MONTHLY_USD`, `${whose}_DAILY_USD`]);
  const set = Object.fromEntries(all.map((name, at) => [name, `${at}.5`]));
  expect(limitsOf(settingsOf({ ...set })).map(({ setting, max }) => [setting, max])).toEqual(
    all.map((name, at) => [name, (at + 0.5) * 1e9]),
  );
  for (const name of all)
    for (const value of ['-1', '1e9', 'ten', '$5', '1,5', '.5', '5.', 'NaN', 'Infinity', '1234567', '0.0000001'])
      expect(problemsOf({ [name]: value })).toEqual([
        `${name} is malformed: expected dollars, such as 25 or 0.5; 0 is no limit`,
      ]);
});

test('a day ends at midnight and a month with its last day, over the end of a year', () => {
  const at = Date.parse('2026-12-31T23:59:59.999Z');
  expect(nextPeriodMs('day', at)).toBe(at + 1);
  expect(nextPeriodMs('month', at)).toBe(at + 1);
  const again = { atMs: nextPeriodMs('month', at), timeZone: 'Asia/Taipei' };
  const lines = [EN, ZH_HANT].map(({ budget }) => budget.usedUp('person', 'month', again));
  expect(lines).toEqual([
    'Your budget for this month is used up. I answer again from 1 January at 08:00 (Asia/Taipei).',
    '你這個月的額度已經用完，1月1日 08:00（Asia/Taipei）起我會再開始回答。',
  ]);
});
