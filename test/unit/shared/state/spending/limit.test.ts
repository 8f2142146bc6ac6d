import { expect, test } from '@jest/globals';
import { limitsOf, nextPeriodMs } from '../../../../../shared/state/spending/limit.ts';
import { EN } from '../../../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../../../shared/texts/zh-hant.ts';
import { GATEWAY, settingsOf } from '../../../../fixture/settings.ts';

test('limits in money are dollars: 25 a day in all unless set, others only where set, and 0 is none', () => {
  const limits = (env: Record<string, string>) => limitsOf(settingsOf({ ...GATEWAY, ...env }));
  const setting = 'TOTAL_DAILY_USD';
  expect(limits({})).toEqual([{ setting, whose: 'total', period: 'day', unit: 'usd', max: 25e9 }]);
  expect(limits({ [setting]: '0' })).toEqual([]);
  const all = ['CHAT', 'PERSON', 'TOTAL'].flatMap((whose) => [`${whose}_MONTHLY_USD`, `${whose}_DAILY_USD`]);
  const set = Object.fromEntries(all.map((name, at) => [name, `${at}.5`]));
  expect(limits(set).map(({ setting, max }) => [setting, max])).toEqual(
    all.map((name, at) => [name, (at + 0.5) * 1e9]),
  );
});

test('a day ends at midnight and a month with its last day, over the end of a year', () => {
  const at = Date.parse('2026-12-31T23:59:59.999Z');
  expect([nextPeriodMs('day', at), nextPeriodMs('month', at)]).toEqual([at + 1, at + 1]);
  const again = { atMs: at + 1, timeZone: 'Asia/Taipei' };
  expect([EN, ZH_HANT].map(({ budget }) => budget.usedUp('person', 'month', again))).toEqual([
    'Your budget for this month is used up. Please ask me again from 1 January at 08:00 (Asia/Taipei).',
    '你這個月的額度已經用完，請在1月1日 08:00（Asia/Taipei）之後再問我一次。',
  ]);
});
