import { expect, test } from '@jest/globals';
import { readUsage } from '../../../worker/model/usage.ts';
import { runCli } from '../../fixture/cli.ts';
import {
  CHAT,
  eachInWorld,
  mainCalls,
  shown,
  spawn,
  start,
  stopGateways,
  takeOver,
  world,
} from '../../fixture/each-test.ts';
import { type Ear, startEar } from '../../fixture/ear.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { booked, dayBook, monthBook, spend } from '../../fixture/spending.ts';
import { temporaryFile } from '../../fixture/temporary-file.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';
import { searchedOften } from '../../stand-in/claude/searching.ts';
import { voice } from '../../stand-in/telegram/inbound-kinds.ts';

const OTHER = 1002;
/** When the limits of a day, or of a month, begin anew. */
const MIDNIGHT = /Please ask me again from \d+ \w+ at 00:00 \(UTC\)\.$/;
const NEXT_MONTH = / Please ask me again from 1 \w+ at 00:00 \(UTC\)\.$/;
const PRICES = { input: 4, output: 20, cacheRead: 0.2, cacheWrite5m: 5, cacheWrite1h: 8 };
const SEARCH = { id: 'srvtoolu_1', query: 'spillway', found: [{ url: 'https://example.org/', title: 'Spillways' }] };

eachInWorld();

function usedUp(whose: string, again = MIDNIGHT): RegExp {
  return new RegExp(`${whose} is used up\\. ${again.source.trim()}`);
}

test('out of the box all chats together may spend 25 dollars a day: then they are told, and the operator is', async () => {
  delete world.env.TOTAL_DAILY_USD;
  await start({}, { watchEveryMs: 50 });
  expect(await ask('First')).toMatchObject({ outcome: 'answered' });
  await spend('all:usd', 25);
  for (const chat of [CHAT, OTHER]) {
    const outcome = await ask('Second', chat === CHAT ? 2 : 1, chat);
    expect(outcome).toMatchObject({ outcome: 'refused', reason: 'over_total_budget' });
    expect(shown(chat).at(-1)).toMatch(usedUp('My budget for today'));
  }
  expect(mainCalls()).toHaveLength(1);
  await world.telegram.waitForText(ALERT_CHAT, /daily budget for all chats \(TOTAL_DAILY_USD\) is used up/);
});

test('what is booked is what the provider bills, cache, summaries and the fallback included, by chat, person and all', async () => {
  await start({
    CHAT_DAILY_USD: '100',
    PERSON_MONTHLY_USD: '100',
    CONTEXT_BUDGET_TOKENS: '20000',
    FALLBACK_MODEL: 'claude-opus-5-5-fallback',
    MODEL_PRICES_FILE: await temporaryFile(JSON.stringify({ 'claude-opus-5-5-fallback': PRICES })),
  });
  world.claude.react(({ index, body }) => {
    if (index === 3 && body.model === 'claude-opus-5-5') return LIES.overloaded;
    return index === 4 ? { do: 'cut', text: 'and then '.repeat(50) } : undefined;
  });
  for (let nth = 1; nth <= 8; nth++)
    expect(await ask('word '.repeat(3_000), nth)).toMatchObject({ outcome: 'answered' });
  await stopGateways();
  expect(world.claude.calls.some(({ kind }) => kind === 'compaction')).toBe(true);
  expect(world.claude.calls.some(({ usage }) => (usage?.cache_read_input_tokens ?? 0) > 1_000)).toBe(true);
  const total = await booked('all:usd');
  expect(await booked(`chat:${CHAT}:usd`)).toBe(total);
  expect(await booked(`person:${CHAT}:usd`, monthBook())).toBe(total);
  // What a cut answer cost is known to the token only by the provider.
  const cut = world.claude.calls.find(({ reaction }) => reaction === 'cut')?.usd ?? 0;
  expect(Math.abs(total - world.claude.usd())).toBeLessThan(cut * 0.2);
  expect(await booked('all:usd:held')).toBe(0);
});

const LIMITS: [name: string, field: string, words: RegExp][] = [
  ['CHAT_DAILY_USD', `chat:${CHAT}:usd`, usedUp("This chat's budget for today")],
  ['PERSON_DAILY_USD', `person:${CHAT}:usd`, usedUp('Your budget for today')],
  ['CHAT_MONTHLY_USD', `chat:${CHAT}:usd`, usedUp("This chat's budget for this month", NEXT_MONTH)],
  ['PERSON_MONTHLY_USD', `person:${CHAT}:usd`, usedUp('Your budget for this month', NEXT_MONTH)],
  ['TOTAL_MONTHLY_USD', 'all:usd', usedUp('My budget for this month', NEXT_MONTH)],
];

test('each limit refuses with a sentence that says when it starts again; other chats go on', async () => {
  await start(Object.fromEntries(LIMITS.map(([name]) => [name, '0.5'])));
  for (const [at, [name, field, words]] of LIMITS.entries()) {
    const book = name.includes('DAILY') ? dayBook() : monthBook();
    await spend(field, 0.5, book);
    const reason = expect.stringMatching(/^over_\w+_budget$/);
    expect(await ask('Hello', at + 1)).toMatchObject({ outcome: 'refused', reason });
    expect(shown()[at]).toMatch(words);
    const isOfAll = name.startsWith('TOTAL');
    expect((await ask('Hello', at + 1, OTHER)).outcome).toBe(isOfAll ? 'refused' : 'answered');
    await spend(field, 0, book);
  }
  expect(mainCalls()).toHaveLength(LIMITS.length - 1);
});

test('the fee of a search counts: one that crosses the limit is the last call', async () => {
  await start({ CHAT_DAILY_USD: '0.15', WEB_SEARCH: 'true' });
  world.claude.react(() => searchedOften(9, SEARCH, 'A spillway lets water pass.'));
  for (const nth of [1, 2]) expect(await ask('Look it up', nth)).toMatchObject({ outcome: 'answered' });
  expect(await booked(`chat:${CHAT}:usd`)).toBeCloseTo(world.claude.usd(), 8);
  expect(await ask('And again', 3)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
});

/** Starts a gateway that hears by an endpoint of its own, for 0.6 dollars a minute. */
async function startHearing(): Promise<Ear> {
  const ear = await startEar();
  const prices = await temporaryFile(JSON.stringify({ [ear.model]: { minute: 0.6 } }));
  await start({ ...ear.env, CHAT_DAILY_USD: '0.5', MODEL_PRICES_FILE: prices });
  return ear;
}

/** Says something of so many seconds. */
function speak(nth: number, durationS: number) {
  const fileId = world.telegram.addFile(Buffer.concat([Buffer.from('OggS'), Buffer.alloc(900, nth)]));
  return ask('', nth, CHAT, { extra: voice({ fileId, durationS }) });
}

test('speech costs by its length, as its endpoint states it, else its sender; over the limit it is not sent there', async () => {
  const ear = await startHearing();
  expect(await speak(1, 20)).toMatchObject({ outcome: 'answered' });
  expect((await booked(`chat:${CHAT}:usd`)) - world.claude.usd()).toBeCloseTo(0.2, 8);
  ear.fail({ do: 'answer', status: 200, body: '{"text": "hi", "usage": {"type": "duration", "seconds": 12}}' });
  expect(await speak(2, 1)).toMatchObject({ outcome: 'answered' });
  expect((await booked(`chat:${CHAT}:usd`)) - world.claude.usd()).toBeCloseTo(0.32, 8);
  await ask('/usage', 3);
  const [, cost = ''] = /Today: (\$\d\.\d\d) \(4 calls/.exec(String(shown().at(-1))) ?? [];
  expect(shown().at(-1)).toContain(`This chat's budget for today: ${cost} of $0.50`);
  expect(await speak(4, 30)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
  expect([ear.calls.length, mainCalls().length]).toEqual([2, 2]);
  expect(shown().at(-1)).toMatch(usedUp("This chat's budget for today"));
});

test('an impossible length, as an endpoint states it, is not believed: what is heard costs what its sender states', async () => {
  const ear = await startHearing();
  for (const [at, seconds] of ['1e300', '1e999', '90000', '-1', '"12"'].entries()) {
    ear.fail({ do: 'answer', status: 200, body: `{"text": "hi", "usage": {"seconds": ${seconds}}}` });
    expect(await speak(at + 1, 2)).toMatchObject({ outcome: 'answered' });
    expect((await booked(`chat:${CHAT}:usd`)) - world.claude.usd()).toBeCloseTo(0.02 * (at + 1), 8);
  }
});

test('a model without a price counts in tokens alone, whatever limit in money there is', async () => {
  const limits = { CHAT_DAILY_USD: '0.01', CHAT_DAILY_TOKENS: '40000', TOTAL_DAILY_TOKENS: '100000' };
  await start({ MODEL: 'some-model', ...limits }, { watchEveryMs: 50 });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  expect(await booked(`chat:${CHAT}:usd`)).toBe(0);
  const { inputTokens, outputTokens } = readUsage(world.claude.calls[0]?.usage);
  const tokens = await world.peek.hmget(dayBook(), `chat:${CHAT}:tokens`, 'all:tokens');
  expect(tokens).toEqual(Array(2).fill(String(inputTokens + outputTokens)));
  await world.peek.hset(dayBook(), `chat:${CHAT}:tokens`, 39_999);
  expect(await ask('Again', 2)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
  await world.peek.hset(dayBook(), 'all:tokens', 100_000);
  expect(await ask('Hello', 1, OTHER)).toMatchObject({ outcome: 'refused', reason: 'over_total_budget' });
  await world.telegram.waitForText(ALERT_CHAT, /\(TOTAL_DAILY_TOKENS\) is used up/);
});

test('killed in a call: what it held is free again, its input is booked, and the message is answered', async () => {
  world.claude.react(({ index }) => (index === 0 ? { do: 'hang' } : undefined));
  const gateway = await spawn({ TOTAL_DAILY_USD: '0.15' });
  world.telegram.say(CHAT, 'Hello');
  await world.claude.waitForCall(({ index }) => index === 0);
  expect(await booked('all:usd:held')).toBeGreaterThan(0.15);
  gateway.kill('SIGKILL');
  // As if the 20 seconds had passed in which a living process renews it.
  const [lost] = await world.peek.zrange(world.keys.reservations, '0', '0');
  await world.peek.zadd(world.keys.reservations, '0', String(lost));
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(await booked('all:usd:held')).toBe(0);
  expect(await world.peek.zcard(world.keys.reservations)).toBe(0);
  const certain = (await booked('all:usd')) - (mainCalls()[1]?.usd ?? 0);
  expect(certain / (((mainCalls()[0]?.inputTokens ?? 0) * 4) / 1e6)).toBeCloseTo(1, 0);
});

test('used up between two rounds of tools: refused with what is written, and why it breaks off', async () => {
  await start({ CHAT_DAILY_USD: '1' });
  world.claude.react(({ index }) => {
    if (index !== 0) return undefined;
    void spend(`chat:${CHAT}:usd`, 1);
    const call = { type: 'tool_use', id: 'toolu_1', name: 'recall', input: { query: 'before' } };
    const content = [{ type: 'text', text: 'I look it up.' }, call];
    return { do: 'answer', content, stopReason: 'tool_use', afterMs: 200 };
  });
  expect(await ask('What did I say?')).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
  expect(shown().at(-1)).toContain('I look it up.');
  expect(shown().at(-1)).toMatch(usedUp("This chat's budget for today"));
  expect(mainCalls()).toHaveLength(1);
});

test('two processes race for the last dollar: no more than one call is over, and everybody is told', async () => {
  const chats = Array.from({ length: 12 }, (_, at) => 1001 + at);
  const limit = 0.06;
  await start({ TOTAL_DAILY_USD: String(limit) });
  await start();
  for (const chat of chats) world.telegram.say(chat, 'word '.repeat(1_000));
  const outcomes = await untilSettled(world, chats.length);
  const dearest = Math.max(...world.claude.calls.map(({ usd }) => usd ?? 0));
  expect(world.claude.usd()).toBeGreaterThan(limit - dearest);
  expect(world.claude.usd()).toBeLessThan(limit + dearest);
  expect(outcomes.filter(({ outcome }) => outcome === 'answered').length).toBe(mainCalls().length);
  expect(new Set(outcomes.map(({ outcome, reason }) => reason ?? outcome))).toEqual(
    new Set(['answered', 'over_total_budget']),
  );
  for (const chat of chats) expect(shown(chat)).toHaveLength(1);
  expect(await booked('all:usd')).toBeCloseTo(world.claude.usd(), 8);
});

test('status and audit state the limits; check says what a model without a price means, and that nothing is limited', async () => {
  await start({ TOTAL_DAILY_USD: '25' });
  await ask('Hello');
  await spend('all:usd', 20);
  await until('a worker that shows itself', async () => (await world.peek.zcard(world.keys.workers)) > 0 || undefined);
  const status = await runCli(['status'], world.env);
  expect(status.stdout).toMatch(/TOTAL_DAILY_USD +\$20\.00 of \$25\.00, 80 %/);
  expect(status.stdout).toMatch(/^GREEN/);
  expect((await runCli(['audit'], world.env)).stdout).toMatch(/TOTAL_DAILY_USD +\$20\.00 of \$25\.00, 80 %/);
  const check = async (env: object) => (await runCli(['check'], { ...world.env, ...env })).stdout;
  expect(await check({})).toMatch(/ok {5}money: TOTAL_DAILY_USD 25\n/);
  expect(await check({ MODELS: 'some-model', TOTAL_DAILY_USD: '0' })).toMatch(
    /advice money: nothing limits what may be spent; set TOTAL_DAILY_USD; no price is known of some-model, so/,
  );
  expect(await check({ MODELS: 'some-model', TOTAL_DAILY_TOKENS: '9' })).toMatch(
    /ok {5}money: .*TOTAL_DAILY_TOKENS 9\n/,
  );
});
