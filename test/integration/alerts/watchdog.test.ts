import { expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { createLogger, type Logger } from '../../../shared/base/log.ts';
import { setUpWorker } from '../../../worker/adapters.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { CHAT, eachInWorld, hold, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { keptLog } from '../../fixture/log.ts';
import { rootOf, until } from '../../fixture/root.ts';
import { listener } from '../../fixture/watchdog.ts';
import { ask } from '../../fixture/whole-chat.ts';

const SHORT = {
  lockMs: 1_500,
  stalledCheckMs: 500,
  drainMs: 1_000,
  watchEveryMs: 100,
  alertEveryMs: 50,
  alertSettleMs: 0,
  deadManEveryMs: 50,
};

eachInWorld({ env: { UNANSWERED_ALERT_MS: '500', TURN_TIMEOUT_MS: '30000' } });

function produce(): void {
  const producer = startProducer(rootOf(world), { leaseLastsMs: 2_000, leaseRetryMs: 50, heartbeatEveryMs: 50 });
  cleanUps.push(() => producer.stop());
}

type WorkOptions = { env?: Record<string, string>; log?: Logger; pollAgeMs?: number };

async function work({ env = {}, log = createLogger('silent'), ...limits }: WorkOptions = {}): Promise<void> {
  const worker = await setUpWorker(rootOf(world, { env, log }), { ...SHORT, pollAgeMs: 60_000, ...limits });
  cleanUps.push(() => worker.stop());
}

/** Waits until five more looks were made, by whomever. */
async function moreChecks(): Promise<void> {
  const looks = async () =>
    Number(/^cmdstat_llen:calls=(\d+)/m.exec(String(await world.peek.call('INFO', 'commandstats')))?.[1] ?? 0);
  const from = await looks();
  await until('five looks', async () => (await looks()) >= from + 10 || undefined);
}

const alerts = () => world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
const alerted = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text);

test('two workers send one alert for an unanswered message, and one when it is answered', async () => {
  const answer = hold();
  produce();
  await Promise.all([work(), work()]);
  world.telegram.say(CHAT, 'is anybody there?');
  const { text } = await alerted(/waited too long/);
  answer();
  const outcome = await nextOutcome(world, CHAT);
  await alerted(/^Resolved/);
  expect(text).toMatch(
    /\n1 message of 1 chat since .*\nThe oldest message has waited \d+ seconds?\. Waiting in all: 1 message/,
  );
  expect(text).toMatch(/\nOldest message: \d+-\d+ of chat 1001\n/);
  expect(text).toContain(outcome.traceId);
  await moreChecks();
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
  const over = /^Resolved: messages are answered again/;
  await until('the end below it', () => alerts().length === 2 || undefined);
  expect(alerts()).toEqual([expect.stringMatching(over), expect.stringMatching(over)]);
  expect(alerts()[0]).toMatch(/\nThe oldest message has waited \d+ seconds?/);
});

test('alerts when a poller falls silent, and when it returns, but not before one started', async () => {
  // On a busy machine polls are seconds apart, and an incident that comes back stays open for minutes.
  await work({ pollAgeMs: 3_000 });
  await moreChecks();
  expect((await createBookStore(world.peek).read()).book.size).toBe(0);
  world.telegram.fail('getUpdates', { status: 500, description: 'Internal Server Error' }, 1_000);
  produce();
  const { text } = await alerted(/No poll has succeeded for \d+ seconds?.*unknown/);
  world.telegram.heal();
  world.telegram.say(CHAT, 'hello');
  await alerted(/^Resolved: messages are arriving again/);
  expect(text).toContain('24 hours');
});

test('alerts on a conflict of a real poll', async () => {
  const description = 'Conflict: terminated by other getUpdates request';
  world.telegram.fail('getUpdates', { status: 409, description }, 1);
  produce();
  await work();
  await alerted(/another program polls with the bot token/);
});

test('the dead-man is pinged while messages are answered, not before a poll or while an incident is open; no log has its URL', async () => {
  const outside = await listener();
  const { log, lines } = keptLog();
  await work({ env: { DEADMAN_URL: `${outside.url}/secret-word` }, log });
  await moreChecks();
  // Nobody polls.
  expect(outside.pings()).toBe(0);
  produce();
  world.telegram.say(CHAT, 'hello');
  const pinged = (from = outside.pings()) => until('a ping', () => outside.pings() > from || undefined);
  await pinged(0);
  const answer = hold();
  world.telegram.say(CHAT, 'hello again');
  await alerted(/waited too long/);
  const silentFrom = outside.pings();
  await moreChecks();
  // One may have been on its way when the incident was opened.
  expect(outside.pings() - silentFrom).toBeLessThanOrEqual(1);
  answer();
  await alerted(/^Resolved/);
  await pinged();
  await outside.stop();
  await until('failure', () => lines.find(({ msg, level }) => level === 20 && /ping failed/.test(msg)));
  expect(JSON.stringify(lines)).not.toContain('secret-word');
});

const OFTEN = { watchEveryMs: 100, alertEveryMs: 50, deadManEveryMs: 50 };

/** Waits for the next heartbeat of the worker: it shows itself before each look. */
async function nextHeartbeat(): Promise<void> {
  const newest = async () => Number((await world.peek.zrange(world.keys.workers, '0', '0', 'WITHSCORES'))[1]);
  const before = await newest();
  await until('a heartbeat', async () => (await newest()) > before || undefined);
}

test('an answer that is being written is not overdue, nor is what waits behind it; one that fell silent is', async () => {
  await start({ UNANSWERED_ALERT_MS: '2000' }, { ...OFTEN, progressEveryMs: 50 });
  const silent = { do: 'silent', text: 'And then' } as const;
  const text = 'A long answer. '.repeat(200);
  world.claude.react(({ pendingText }) =>
    pendingText === 'long' ? { do: 'answer', text, everyMs: 100 } : pendingText === 'short' ? silent : undefined,
  );
  const beganMs = performance.now();
  world.telegram.say(CHAT, 'long');
  await ask('short');
  expect(performance.now() - beganMs).toBeGreaterThan(4_000);
  expect(alerts()).toEqual([]);
  await alerted(/waited too long/);
});

test('a poller whose updates cannot be stored is no sign of life: it pages and ends the pings; other chats are answered', async () => {
  const outside = await listener();
  await start({ DEADMAN_URL: outside.url, UNANSWERED_ALERT_MS: '60000' }, { ...OFTEN, pollAgeMs: 12_000 });
  await until('a ping', () => outside.pings() > 0 || undefined);
  await ask('fine');
  // No command reads a list as a string.
  const ids = Array.from({ length: 20 }, (_, id) => world.keys.written(world.telegram.botId, CHAT + 1, id));
  await Promise.all(ids.map((key) => world.peek.lpush(key, 'no string')));
  world.telegram.say(CHAT + 1, 'cannot be stored');
  expect(await ask('behind it', 2)).toMatchObject({ outcome: 'answered' });
  await alerted(/^For \d+ seconds?, messages have arrived that cannot be stored/m);
  const before = outside.pings();
  for (let nth = 0; nth < 5; nth += 1) await nextHeartbeat();
  expect(outside.pings() - before).toBeLessThanOrEqual(1);
  await world.peek.del(...ids);
  await alerted(/^Resolved: messages are arriving again/);
  expect(await nextOutcome(world, CHAT + 1)).toMatchObject({ outcome: 'answered' });
});

test('beyond the cap the oldest letters go, counted, and none while no alert of that can be sent', async () => {
  // Telegram's own word: a server error would be an outage, in which nobody counts tries.
  const refusal = { status: 400, description: 'Bad Request: not enough rights to send text messages to the chat' };
  world.telegram.fail('sendMessage', refusal, 1_000, ({ chat_id }) => chat_id === ALERT_CHAT);
  const fail = (nth: number) => world.peek.xadd(world.keys.dead, `1-${nth}`, 'entry', `${nth}-0`, 'record', '{}');
  const letters = async () => (await world.peek.xrange(world.keys.dead, '-', '+')).map(([id]) => id);
  for (let nth = 1; nth <= 8; nth += 1) await fail(nth);
  await start({ DEAD_LETTERS_MAX: '5' }, { watchEveryMs: 50, alertEveryMs: 20, alertRetryMs: 20 });
  const tries = async () => Number(await world.peek.hget(world.keys.alerting, 'tries'));
  await until('three tries', async () => (await tries()) >= 3 || undefined);
  // Further checks see the full pile.
  await fail(9);
  const before = await tries();
  await until('two more', async () => (await tries()) >= before + 2 || undefined);
  expect(await letters()).toHaveLength(9);
  world.telegram.heal();
  await until('the cap', async () => (await letters()).length === 5 || undefined);
  expect(alerts().some((text) => text.includes('removes the oldest'))).toBe(true);
  expect(await letters()).toEqual(['1-5', '1-6', '1-7', '1-8', '1-9']);
  expect(await world.peek.hget(world.keys.counts, 'lettersDropped')).toBe('4');
});
