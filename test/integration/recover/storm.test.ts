import { beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';

const FIRST = 1001;
const CHATS = 20;
const STORM = { stormChats: 4, stormWaitMs: 100, stormRestMs: 400 };
const chats = Array.from({ length: CHATS }, (_, at) => FIRST + at);

let isWrong: boolean;

eachInWorld({ env: { OUTAGE_PATIENCE_MS: '3000' } });

beforeEach(() => {
  isWrong = true;
  world.claude.react((call) => (isWrong && call.kind === 'main' ? { do: 'overflow' } : undefined));
});

/** Gives every chat a history, and answers the sessions. */
async function givenHistories(): Promise<string[]> {
  for (const chat of chats)
    await importSession(world.peek, world.keys, chatKey(chat), await parseLines(conversation(6, 200)));
  return sessions();
}

const sessions = () =>
  Promise.all(chats.map(async (chat) => (await world.peek.hget(world.keys.chat(chatKey(chat)), 'session')) ?? ''));
const alerts = () => world.telegram.shown(ALERT_CHAT).map(({ text }) => text);

test('a wrong window costs at most 8 of 20 chats their session: most others wait and then fail, with one alert', async () => {
  const before = await givenHistories();
  await start({}, STORM);
  for (const chat of chats) world.telegram.say(chat, 'Hello?');
  await until('all outcomes', async () => ((await settledOutcomes(world)).length === CHATS ? true : undefined));
  const outcomes = await settledOutcomes(world);
  expect(new Set(outcomes.map(({ outcome }) => outcome))).toEqual(new Set(['failed']));
  const after = await sessions();
  const moved = after.filter((session, at) => session !== before[at]).length;
  // The first ones before it was known, and some probes.
  expect(moved).toBeLessThanOrEqual(STORM.stormChats + 4);
  const waited = outcomes.filter(({ reason }) => reason === 'overflow_storm');
  expect(waited.length).toBeGreaterThan(CHATS / 2);
  const storm = alerts().filter((text) => /Many chats overflow/.test(text));
  expect(storm).toHaveLength(1);
  expect(storm[0]).toMatch(/refused 4 chats as too long.*Chat \d+, entry \d+-\d+.*CONTEXT_WINDOW_TOKENS/s);
});

test('after a storm the chats that waited are answered in their old sessions, and the operator is notified', async () => {
  const before = await givenHistories();
  await start({}, STORM);
  for (const chat of chats) world.telegram.say(chat, 'Hello?');
  await world.telegram.waitForText(ALERT_CHAT, /Many chats overflow/);
  isWrong = false;
  for (const chat of chats) await nextOutcome(world, chat);
  const outcomes = await settledOutcomes(world);
  expect(outcomes.filter(({ outcome }) => outcome === 'answered').length).toBeGreaterThanOrEqual(CHATS - 2);
  const after = await sessions();
  expect(after.filter((session, at) => session === before[at]).length).toBeGreaterThanOrEqual(
    CHATS - STORM.stormChats - 2,
  );
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: chats that overflowed are answered again/);
  expect(world.claude.violations()).toEqual([]);
});

test('three chats that overflow are recovered without a storm alert', async () => {
  await givenHistories();
  let refused = 0;
  world.claude.react((call) => (call.kind === 'main' && refused++ < 3 ? { do: 'overflow' } : undefined));
  isWrong = false;
  await start({}, STORM);
  for (const chat of chats.slice(0, 3)) world.telegram.say(chat, 'Hello?');
  for (const chat of chats.slice(0, 3)) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  expect(alerts().filter((text) => /Many chats overflow/.test(text))).toEqual([]);
});
