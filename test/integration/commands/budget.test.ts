import { expect, test } from '@jest/globals';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import { type Bounds, createBudget, type Reservation } from '../../../shared/state/spending/budget.ts';
import type { Limit, Spent } from '../../../shared/state/spending/limit.ts';
import { CHAT, eachInWorld, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const OTHER = 1002;

eachInWorld();

const BILLION = 1e9;
const monthBook = () => world.keys.spent(new Date().toISOString().slice(0, 7));
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

test('of a limit that is nearly spent one message says so, however often it asks', async () => {
  const limit = { ...CHAT_LIMIT, whose: 'person' } as const;
  const budget = createBudget(world.peek, () => [limit]);
  const asked = (message: string, chat = CHAT) =>
    budget.nearlySpent({ chat: chatKey(chat), person: 7 }, message as EntryId);
  await world.peek.hset(dayBook(), 'person:7:tokens', 79);
  expect(await asked('1-0')).toBeUndefined();
  await world.peek.hset(dayBook(), 'person:7:tokens', 80);
  const first = await Promise.all([asked('2-0'), asked('3-0', OTHER)]);
  expect(first.filter((each) => each !== undefined)).toEqual([expect.objectContaining({ spent: 80, isUsedUp: false })]);
  const teller = first[0] === undefined ? '3-0' : '2-0';
  expect([await asked(teller), await asked('4-0')]).toEqual([expect.objectContaining({ limit }), undefined]);
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

async function spend(field: string, dollars: number, book = dayBook()): Promise<void> {
  await world.peek.hset(book, field, dollars * BILLION);
}

async function said(text: string, nth = 1, chat = CHAT) {
  world.telegram.say(chat, text);
  return nextOutcome(world, chat, nth);
}

test('above 80 % of a limit of its own a chat is told once in a period, under its answer', async () => {
  await start({ CHAT_DAILY_USD: '1' });
  await said('One');
  expect(shown().at(-1)).not.toMatch(/budget/);
  await spend(`chat:${CHAT}:usd`, 0.83);
  await said('Two', 2);
  const told =
    /^You said: Two\n\nThis chat's budget for today is nearly used up: about \$0\.8\d of \$1\.00\. When nothing is left, I answer again from \d+ \w+ at 00:00 \(UTC\)\.$/;
  expect(shown().at(-1)).toMatch(told);
  await said('Three', 3);
  expect(shown().at(-1)).not.toMatch(/budget/);
  world.telegram.say(CHAT, '/usage');
  await nextOutcome(world, CHAT, 4);
  expect(shown().at(-1)).toMatch(/This chat's budget for today: \$0\.\d\d of \$1\.00 \(8\d%\)/);
});

test('of a limit of all chats each chat is told once, without its amounts; the hour is that of the chat', async () => {
  await start({ TOTAL_DAILY_USD: '10' });
  world.telegram.say(OTHER, '/timezone Asia/Taipei');
  await nextOutcome(world, OTHER);
  await spend('all:usd', 8.5);
  await said('One');
  expect(shown().at(-1)).toMatch(/\n\nMy budget for today is nearly used up: about 85%\. .* at 00:00 \(UTC\)\.$/);
  await said('Two', 2);
  expect(shown().at(-1)).not.toMatch(/budget/);
  await said('One', 2, OTHER);
  expect(shown(OTHER).at(-1)).toMatch(/My budget .* at 08:00 \(Asia\/Taipei\)\.$/);
});

test('what a person has spent in their own chats is not told where others read: a group sees a share', async () => {
  const group = -1_001_234;
  await start({ PERSON_DAILY_USD: '1', TELEGRAM_ALLOWED_IDS: `${CHAT},${group}` });
  await spend(`person:${CHAT}:usd`, 0.85);
  world.telegram.say(group, '/x One', { fromId: CHAT });
  await nextOutcome(world, group);
  expect(shown(group).at(-1)).toMatch(/Your budget for today is nearly used up: about 8\d%\. /);
});

test.each(['answer stored', 'part sent'])(
  'killed at "%s", the notice comes with the answer and not again',
  async (step) => {
    world.env.PERSON_MONTHLY_USD = '2';
    const gateway = await spawn({ SPILLWAY_FAIL_AT: `${step}:1` });
    await spend(`person:${CHAT}:usd`, 1.8, monthBook());
    world.telegram.say(CHAT, 'Hello');
    await gateway.ended;
    await takeOver();
    await nextOutcome(world, CHAT);
    await said('Again', 2);
    const told = shown().filter((text) =>
      /Your budget for this month is nearly used up: about \$1\.8\d of \$2\.00/.test(text),
    );
    expect(told).toHaveLength(step === 'part sent' ? 2 : 1);
    for (const text of told) expect(text).toContain('You said: Hello');
  },
);
