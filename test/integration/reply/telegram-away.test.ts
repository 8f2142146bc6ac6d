import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { until } from '../../chaos/scenario.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { jobsIn } from '../../fixture/job-keys.ts';
import { settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { goAwayBeforeAnswer, isAway, sayTwice } from '../../fixture/telegram-away.ts';
import { variants } from '../../fixture/variants.ts';
import { OUTAGES } from '../../stand-in/telegram/failures.ts';
import type { TelegramCall } from '../../stand-in/telegram/server.ts';

/** With pauses that are this much shorter, longer than the thirty tries that once ended a delivery. */
const LONG_MS = 4_000;

eachInWorld({ env: { TEST_CALL_TIMEOUT_MS: '700' } });

const MANY = 1_000_000;
/** Whether nothing more comes of a call; a poll hangs as long as it likes. */
const isOver = ({ method, endedAt }: TelegramCall) =>
  method === 'getUpdates' || method === 'getMe' || endedAt !== undefined;
const probes = () => world.telegram.calls.filter(({ method }) => method === 'getMe').length;
const sends = () => world.telegram.calls.filter(({ method }) => method === 'sendMessage');
const outcomes = async () => (await settledOutcomes(world)).map(({ outcome }) => outcome);

variants(OUTAGES)(
  'Telegram away (%s): finished answers wait, nothing but probes is sent, and all of it arrives',
  async (how) => {
    await start();
    const chats = [CHAT, CHAT + 1, CHAT + 2];
    for (const chat of chats) sayTwice(chat);
    await goAwayBeforeAnswer(how, chats);
    await until('the breaker is open', isAway);
    await until('nothing is on its way', () => world.telegram.calls.every(isOver));
    const [sentBefore, probesBefore] = [sends().length, probes()];
    await pause(LONG_MS);
    expect(await outcomes()).toEqual([]);
    expect(sends().length).toBe(sentBefore);
    if (how !== 'refused') expect(probes()).toBeGreaterThan(probesBefore);
    expect(mainCalls().length).toBe(chats.length);
    await world.telegram.comeBack();
    for (const { outcome, delivery } of await untilSettled(world, 2 * chats.length))
      expect([outcome, delivery]).toEqual(['answered', { parts: 1, confirmed: 1, unsure: 0 }]);
    for (const chat of chats) {
      const texts = shown(chat);
      const first = texts.filter((text) => text.includes('First'));
      expect(first.length).toBe(how === 'unanswered' ? 2 : 1);
      expect(texts.filter((text) => text.includes(EN.repeat)).length).toBe(how === 'refused' ? 0 : 1);
      expect(texts.at(-1)).toBe('You said: Second');
    }
    expect(mainCalls().length).toBe(2 * chats.length);
  },
);

test('two gateways have one breaker: what one of them finds holds for the other, and one of them probes', async () => {
  await start();
  await start();
  sayTwice(CHAT);
  await goAwayBeforeAnswer('page', [CHAT]);
  await until('the breaker is open', isAway);
  await until('nothing is on its way', () => world.telegram.calls.every(isOver));
  const sentBefore = sends().length;
  await pause(LONG_MS);
  expect([sends().length, mainCalls().length]).toEqual([sentBefore, 1]);
  const times = world.telegram.calls.filter(({ method }) => method === 'getMe').map(({ at }) => at);
  const late = times.slice(-6).map((at, index, all) => at - (all[index - 1] ?? 0));
  // Two that each kept a pace of their own would come closer than the longest pause.
  expect(Math.min(...late.slice(1))).toBeGreaterThan(40);
  await world.telegram.comeBack();
  await untilSettled(world, 2);
  expect(await outcomes()).toEqual(['answered', 'answered']);
});

test('sends alone that fail are an outage too, whatever else Telegram answers: they wait, and are not given up', async () => {
  await start({}, { watchEveryMs: 100, telegramDownMs: LONG_MS });
  sayTwice(CHAT);
  world.telegram.fail('sendMessage', { do: 'html502' }, MANY);
  await until('the breaker is open', isAway);
  // It answers `getMe` again and again: the outage lasts all the same.
  await until('an incident', async () => (await openIncidents()).includes('telegram'));
  expect([await outcomes(), mainCalls().length]).toEqual([[], 1]);
  world.telegram.heal();
  await untilSettled(world, 2);
  expect(shown()).toEqual([`${EN.repeat}\n\nYou said: First`, 'You said: Second']);
  await until('its end', async () => !(await openIncidents()).includes('telegram'));
});

test('a prober that was killed holds up nobody: its lease ends, and another process finds that Telegram is there', async () => {
  const nowMs = Date.now();
  const away = { awaySinceMs: nowMs - 60_000, untilMs: nowMs - 1, why: 'gone' };
  await world.peek.hset(world.keys.telegram, { ...away, prober: 'killed', proberUntilMs: nowMs + 2_000 });
  await start();
  world.telegram.say(CHAT, 'First');
  await pause(1_000);
  expect([await isAway(), mainCalls().length]).toEqual([true, 0]);
  await untilSettled(world, 1);
  expect([await isAway(), shown()]).toEqual([false, ['You said: First']]);
});

test('one odd send is one witness: Telegram is asked, it answers, and others go on', async () => {
  await start();
  world.telegram.fail('sendMessage', { do: 'html502' }, 1, ({ chat_id }) => Number(chat_id) === CHAT);
  world.telegram.say(CHAT, 'First');
  world.telegram.say(CHAT + 1, 'First');
  await untilSettled(world, 1);
  expect(await isAway()).toBe(false);
  await untilSettled(world, 2);
  expect([shown(), shown(CHAT + 1)]).toEqual([[`${EN.repeat}\n\nYou said: First`], ['You said: First']]);
});

test('a wait of 900 seconds that Telegram asks for is obeyed over a crash, in both lanes of the chat, and in no other', async () => {
  const gateway = await spawn();
  const busy = { status: 429, description: 'Too Many Requests: retry after 900', parameters: { retry_after: 900 } };
  world.telegram.fail('sendMessage', busy, 1, ({ chat_id }) => Number(chat_id) === CHAT);
  sayTwice(CHAT);
  await until('the chat is left alone', async () => (await quietMs(CHAT)) > 890_000);
  expect(await isAway()).toBe(false);
  gateway.kill('SIGKILL');
  await gateway.ended;
  await takeOver();
  world.telegram.say(CHAT, '/help');
  world.telegram.say(CHAT + 1, 'First');
  await untilSettled(world, 1);
  await pause(1_500);
  expect(shown(CHAT + 1)).toEqual(['You said: First']);
  expect([sends().filter(({ params }) => Number(params.chat_id) === CHAT).length, mainCalls().length]).toEqual([1, 2]);
  expect(await quietMs(CHAT)).toBeGreaterThan(880_000);
  await world.telegram.waitForText(ALERT_CHAT, /send nothing to a chat for 15 minutes/);
  // The time is over.
  await world.peek.hset(world.keys.chat(chatKey(CHAT)), 'quietUntilMs', Date.now());
  await endDelays();
  await untilSettled(world, 4);
  expect(shown().filter((text) => text.startsWith('You said'))).toEqual(['You said: First', 'You said: Second']);
});

test('an outage is one incident with what waits and since when, and it is resolved', async () => {
  await start({ UNANSWERED_ALERT_MS: '1500' }, { telegramDownMs: 100, watchEveryMs: 100, pollAgeMs: 500 });
  sayTwice(CHAT);
  await goAwayBeforeAnswer('page', [CHAT]);
  await until('the incident is open', async () => (await openIncidents()).includes('telegram'));
  await pause(2_000);
  expect(await openIncidents()).toEqual(['telegram']);
  await world.telegram.comeBack();
  // The message may well be resolved before it could be sent: it says both in one.
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^Resolved: Telegram answers again/);
  expect(text).toMatch(
    /^Telegram has not answered .* 1 finished answer of 1 chat\. Waiting to be answered: 1 further message/m,
  );
  expect(await openIncidents()).toEqual([]);
});

/** The names of the incidents that are open and follow from no other one. */
async function openIncidents(): Promise<string[]> {
  const { book } = await createBookStore(world.peek).read();
  return [...book].filter(([, { isOpen, under }]) => isOpen && under === undefined).map(([name]) => name);
}

async function quietMs(chat: number): Promise<number> {
  return Number(await world.peek.hget(world.keys.chat(chatKey(chat)), 'quietUntilMs')) - Date.now();
}

/** The delays of all jobs are over. */
async function endDelays(): Promise<void> {
  for (const id of await world.peek.zrange(jobsIn(world.keys, 'delayed'), '0', '-1'))
    await world.peek.zadd(jobsIn(world.keys, 'delayed'), 'XX', 1, id);
  await world.peek.zadd(`${world.keys.queuePrefix}:turns:marker`, 0, '0');
}
