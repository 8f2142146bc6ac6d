import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { type Bounds, createBudget, type Reservation } from '../../../shared/state/spending/budget.ts';
import type { Limit, Spent } from '../../../shared/state/spending/limit.ts';
import { CHAT, eachInWorld, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const OTHER = 1002;

eachInWorld();

const dayBook = () => world.keys.spent(new Date().toISOString().slice(0, 10));

const CHAT_LIMIT: Limit = { setting: 'CHAT_DAILY_TOKENS', whose: 'chat', period: 'day', unit: 'tokens', max: 100 };
const TOTAL_LIMIT: Limit = { setting: 'TOTAL_DAILY_TOKENS', whose: 'total', period: 'day', unit: 'tokens', max: 150 };

function exactly(tokens: number): Bounds {
  const bill = { usd: 0, tokens };
  return { least: bill, most: bill, certain: bill };
}

function budgetAt(nowMs: () => number, limits: readonly Limit[] = [CHAT_LIMIT, TOTAL_LIMIT]) {
  const budget = createBudget(world.peek, () => limits, nowMs);
  return async (tokens: number, chat = CHAT) => {
    const reserved = await budget.reserve({ chat: chatKey(chat) }, exactly(tokens));
    if (typeof reserved === 'string') return reserved;
    return 'settle' in reserved ? 'held' : (reserved as Spent).limit.setting;
  };
}

test('what is held counts against each limit until it is settled, and a new day starts a new budget', async () => {
  let nowMs = Date.parse('2026-11-22T23:59:59Z');
  const reserve = budgetAt(() => nowMs);
  expect(await reserve(101)).toBe('CHAT_DAILY_TOKENS');
  const budget = createBudget(
    world.peek,
    () => [CHAT_LIMIT, TOTAL_LIMIT],
    () => nowMs,
  );
  const one = (await budget.reserve({ chat: chatKey(CHAT) }, exactly(100))) as Reservation;
  expect(await reserve(1)).toBe('held by others');
  expect(await reserve(60, OTHER)).toBe('held by others');
  expect(await reserve(50, OTHER)).toBe('held');
  await one.settle({ usd: 0, tokens: 0 });
  expect(await reserve(100)).toBe('held');
  expect(await world.peek.ttl(world.keys.spent('2026-11-22'))).toBeGreaterThan(0);
  nowMs += 1_000;
  expect(await reserve(100)).toBe('held');
});

test('30 reservations at once never exceed the limit', async () => {
  const reserve = budgetAt(Date.now, [CHAT_LIMIT]);
  const all = await Promise.all(Array.from({ length: 30 }, () => reserve(10)));
  expect(all.filter((each) => each === 'held')).toHaveLength(10);
});

test('without a limit nothing is counted', async () => {
  await start({ TOTAL_DAILY_USD: '0' });
  world.telegram.say(CHAT, 'hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(await world.peek.exists(dayBook())).toBe(0);
});

const LIMIT: Limit = { setting: 'TOTAL_DAILY_USD', whose: 'total', period: 'day', unit: 'usd', max: 1_000 };
const bill = (usd: number) => ({ usd, tokens: 0 });
const BOUNDS: Bounds = { least: bill(10), certain: bill(50), most: bill(900) };

test('what lapsed and is settled after all is booked at what it came to, once; another hears when there is room', async () => {
  const budget = createBudget(world.peek, () => [LIMIT]);
  const reserve = () => budget.reserve(undefined, BOUNDS);
  const slow = (await reserve()) as Reservation;
  expect(await reserve()).toHaveProperty('settle');
  expect(await reserve()).toBe('held by others');
  for (const each of await world.peek.zrange(world.keys.reservations, '0', '-1'))
    await world.peek.zadd(world.keys.reservations, '0', String(each));
  const next = (await reserve()) as Reservation;
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['100', '900']);
  await slow.settle(bill(300));
  await slow.settle(bill(300));
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['350', '900']);
  await next.settle(bill(Number.NaN));
  await next.settle(bill(5));
  expect(await world.peek.hmget(dayBook(), 'all:usd', 'all:usd:held')).toEqual(['350', '0']);
});

test('of several limits none is held when one is used up, and a raised one holds again', async () => {
  const payer = { chat: CHAT as never };
  const chat: Limit = { setting: 'CHAT_DAILY_USD', whose: 'chat', period: 'day', unit: 'usd', max: 9 };
  const [strict, raised] = [
    createBudget(world.peek, () => [chat, LIMIT]),
    createBudget(world.peek, () => [{ ...chat, max: 5_000 }]),
  ];
  expect(await strict.reserve(payer, BOUNDS)).toMatchObject({ limit: chat, isUsedUp: true });
  expect(await world.peek.hget(dayBook(), 'all:usd:held')).toBeNull();
  expect(await strict.spentBy(payer)).toMatchObject([{ limit: chat, spent: 0, isUsedUp: true }]);
  expect(await raised.spentBy(payer)).toMatchObject([{ spent: 0, isUsedUp: false }]);
  expect(await raised.reserve(payer, BOUNDS)).toHaveProperty('settle');
});

test('what is held lapses in its time although the clock has stepped back since', async () => {
  const budget = createBudget(world.peek, () => [LIMIT]);
  expect(await budget.reserve(undefined, BOUNDS)).toHaveProperty('settle');
  expect(await budget.reserve(undefined, BOUNDS)).toHaveProperty('settle');
  const lapseAt = async (ms: number) => {
    for (const each of await world.peek.zrange(world.keys.reservations, '0', '-1'))
      await world.peek.zadd(world.keys.reservations, ms, String(each));
  };
  await lapseAt(Date.now() + 3_600_000);
  expect(await budget.reserve(undefined, BOUNDS)).toBe('held by others');
  const scores = await world.peek.zrange(world.keys.reservations, '0', '-1', 'WITHSCORES');
  for (const at of [1, 3]) expect(Number(scores[at])).toBeLessThanOrEqual(Date.now() + 20_500);
});
