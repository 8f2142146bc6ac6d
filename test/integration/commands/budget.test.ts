import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { type Bounds, createBudget, type Reservation } from '../../../shared/state/spending/budget.ts';
import type { Limit } from '../../../shared/state/spending/limit.ts';
import { CHAT, eachInWorld, killAt, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { dayBook, monthBook, spend } from '../../fixture/spending.ts';
import { ask } from '../../fixture/whole-chat.ts';

const OTHER = 1002;

eachInWorld();

const LIMIT: Limit = { setting: 'TOTAL_DAILY_USD', whose: 'total', period: 'day', unit: 'usd', max: 1_000 };
const bill = (usd: number) => ({ usd, tokens: 0 });
const BOUNDS: Bounds = { least: bill(10), certain: bill(50), most: bill(900) };

test('without a limit nothing is counted', async () => {
  await start({ TOTAL_DAILY_USD: '0' });
  expect(await ask('hello')).toMatchObject({ outcome: 'answered' });
  expect(await world.peek.exists(dayBook())).toBe(0);
});

test('of several limits none is held when one is used up; a raised one holds again, and a new day is a new budget', async () => {
  const payer = { chat: chatKey(CHAT) };
  const chat: Limit = { setting: 'CHAT_DAILY_USD', whose: 'chat', period: 'day', unit: 'usd', max: 9 };
  let [limits, nowMs] = [[chat, LIMIT], Date.parse('2026-11-22T23:59:59Z')];
  const budget = createBudget(
    world.peek,
    () => limits,
    () => nowMs,
  );
  expect(await budget.reserve(payer, BOUNDS)).toMatchObject({ limit: chat, isUsedUp: true });
  expect(await world.peek.hget(world.keys.spent('2026-11-22'), 'all:usd:held')).toBeNull();
  expect(await budget.spentBy(payer)).toMatchObject([{ limit: chat, spent: 0, isUsedUp: true }]);
  limits = [{ ...chat, max: 900 }];
  expect(await budget.spentBy(payer)).toMatchObject([{ spent: 0, isUsedUp: false }]);
  expect(await budget.reserve(payer, BOUNDS)).toHaveProperty('settle');
  expect(await budget.reserve(payer, BOUNDS)).toBe('held by others');
  expect(await budget.reserve({ chat: chatKey(OTHER) }, BOUNDS)).toHaveProperty('settle');
  expect(await world.peek.ttl(world.keys.spent('2026-11-22'))).toBeGreaterThan(0);
  nowMs += 1_000;
  expect(await budget.reserve(payer, BOUNDS)).toHaveProperty('settle');
});

test('what is held lapses, also behind a clock that stepped back; settled after all, it is booked at what it came to, once', async () => {
  const budget = createBudget(world.peek, () => [LIMIT]);
  const reserve = () => budget.reserve(undefined, BOUNDS);
  const lapseAt = async (ms: number) => {
    for (const each of await world.peek.zrange(world.keys.reservations, '0', '-1'))
      await world.peek.zadd(world.keys.reservations, ms, String(each));
  };
  const slow = (await reserve()) as Reservation;
  expect(await reserve()).toHaveProperty('settle');
  await lapseAt(Date.now() + 3_600_000);
  expect(await reserve()).toBe('held by others');
  const scores = await world.peek.zrange(world.keys.reservations, '0', '-1', 'WITHSCORES');
  for (const at of [1, 3]) expect(Number(scores[at])).toBeLessThanOrEqual(Date.now() + 20_500);
  await lapseAt(0);
  const next = (await reserve()) as Reservation;
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['100', '900']);
  await slow.settle(bill(300));
  await slow.settle(bill(300));
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['350', '900']);
  await next.settle(bill(Number.NaN));
  await next.settle(bill(5));
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['350', '0']);
});

test('above 80 % of a limit a chat is told once in a period, under its answer; of what all share, without amounts', async () => {
  await start({ CHAT_DAILY_USD: '1', TOTAL_DAILY_USD: '10' });
  await ask('/timezone Asia/Taipei', 1, OTHER);
  await ask('One');
  expect(shown().at(-1)).not.toMatch(/budget/);
  await spend(`chat:${CHAT}:usd`, 0.83);
  await ask('Two', 2);
  const told =
    /^You said: Two\n\nThis chat's budget for today is nearly used up: about \$0\.8\d of \$1\.00\. Once it runs out, I won't answer until \d+ \w+ at 00:00 \(UTC\)\.$/;
  expect(shown().at(-1)).toMatch(told);
  await ask('Three', 3);
  expect(shown().at(-1)).not.toMatch(/budget/);
  await ask('/usage', 4);
  expect(shown().at(-1)).toMatch(/This chat's budget for today: \$0\.\d\d of \$1\.00 \(8\d%\)/);
  await spend('all:usd', 8.5);
  await ask('Four', 5);
  expect(shown().at(-1)).toMatch(/\n\nMy budget for today is nearly used up: about 85%\. .* at 00:00 \(UTC\)\.$/);
  await ask('Five', 6);
  expect(shown().at(-1)).not.toMatch(/budget/);
  await ask('One', 2, OTHER);
  expect(shown(OTHER).at(-1)).toMatch(/My budget .* at 08:00 \(Asia\/Taipei\)\.$/);
});

test('what a person has spent is told once, wherever they write; where others read, they see a share', async () => {
  const group = -1_001_234;
  await start({ PERSON_DAILY_USD: '1', TELEGRAM_ALLOWED_IDS: `${CHAT},${group}` });
  await spend(`person:${CHAT}:usd`, 0.85);
  await ask('/x One', 1, group, { fromId: CHAT });
  expect(shown(group).at(-1)).toMatch(/Your budget for today is nearly used up: about 8\d%\. /);
  await ask('Two');
  expect(shown().at(-1)).not.toMatch(/budget/);
});

test('killed when the answer was sent, the notice is repeated with it, and does not come again', async () => {
  world.env.PERSON_MONTHLY_USD = '2';
  await spend(`person:${CHAT}:usd`, 1.8, monthBook());
  await killAt('part sent:1', () => world.telegram.say(CHAT, 'Hello'));
  await nextOutcome(world, CHAT);
  await ask('Again', 2);
  const notice = /You said: Hello\n\nYour budget for this month is nearly used up: about \$1\.8\d of \$2\.00/;
  expect(shown().map((text) => notice.test(text))).toEqual([true, true, false]);
});
