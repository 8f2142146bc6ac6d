import { expect, test } from '@jest/globals';
import { startProducer } from '../../../producer/producer.ts';
import { createLogger, type Logger } from '../../../shared/base/log.ts';
import { setUpWorker } from '../../../worker/adapters.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { eachInWorld, hold, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { keptLog } from '../../fixture/log.ts';
import { rootOf, until } from '../../fixture/root.ts';
import { atEnd, eachEnds, listener } from '../../fixture/watchdog.ts';

const CHAT = 1001;
const SHORT = {
  lockMs: 1_500,
  stalledCheckMs: 500,
  drainMs: 1_000,
  watchEveryMs: 100,
  alertEveryMs: 50,
  alertSettleMs: 0,
  deadManEveryMs: 50,
};

const REFUSED_KEY = { do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' } as const;

eachEnds();
eachInWorld({ env: { UNANSWERED_ALERT_MS: '500', TURN_TIMEOUT_MS: '30000' } });

function produce(): void {
  atEnd(startProducer(rootOf(world), { leaseLastsMs: 2_000, leaseRetryMs: 50, heartbeatEveryMs: 50 }));
}

type WorkOptions = { env?: Record<string, string>; log?: Logger; pollAgeMs?: number };

async function work({ env = {}, log = createLogger('silent'), ...limits }: WorkOptions = {}): Promise<void> {
  atEnd(await setUpWorker(rootOf(world, { env, log }), { ...SHORT, pollAgeMs: 60_000, ...limits }));
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
  const { text } = await alerted(/unanswered/);
  answer();
  const outcome = await nextOutcome(world, CHAT);
  await alerted(/^Resolved/);
  expect(text).toMatch(
    /\n1 message of 1 chat since .*\nThe oldest message has waited \d+ seconds?; waiting in all: 1 message/,
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

test('a key that is not accepted causes one alert for 12 messages, and its end states their number', async () => {
  let isRefused = true;
  world.claude.react(() => (isRefused ? REFUSED_KEY : undefined));
  produce();
  // A busy machine answers some of them late, which is another alert.
  await work({ env: { UNANSWERED_ALERT_MS: '60000' } });
  const chats = Array.from({ length: 12 }, (_, n) => CHAT + n);
  for (const chat of chats) world.telegram.say(chat, 'hello');
  for (const chat of chats) await nextOutcome(world, chat);
  await alerted(/does not accept our key/);
  isRefused = false;
  world.telegram.say(CHAT, 'and now?');
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^Resolved: the model endpoint/);
  expect(text).toContain('12 messages failed and wait to be replayed.');
  expect(alerts().filter((alert) => /does not accept our key/.test(alert))).toHaveLength(1);
});

test('alerts when a poller falls silent, and when it returns, but not before one started', async () => {
  await work({ pollAgeMs: 700 });
  await moreChecks();
  expect((await createBookStore(world.peek).read()).book.size).toBe(0);
  world.telegram.fail('getUpdates', { status: 500, description: 'Internal Server Error' }, 3);
  produce();
  const { text } = await alerted(/No poll has succeeded for \d+ seconds?.*unknown/);
  world.telegram.say(CHAT, 'hello');
  await alerted(/^Resolved: Telegram is polled again/);
  expect(text).toContain('24 hours');
});

test('alerts on a conflict of a real poll', async () => {
  const description = 'Conflict: terminated by other getUpdates request';
  world.telegram.fail('getUpdates', { status: 409, description }, 1);
  produce();
  await work();
  await alerted(/another process polls with the same token/);
});

test('the dead-man is pinged while messages are answered, not while an incident is open; no log has its URL', async () => {
  const outside = await listener();
  const { log, lines } = keptLog();
  await work({ env: { DEADMAN_URL: `${outside.url}/secret-word` }, log });
  expect(await world.peek.hget(world.keys.poll, 'lastAnswerMs')).toBeNull();
  produce();
  world.telegram.say(CHAT, 'hello');
  const pinged = (from = outside.pings()) => until('a ping', () => outside.pings() > from || undefined);
  await pinged(0);
  const answer = hold();
  world.telegram.say(CHAT, 'hello again');
  await alerted(/unanswered/);
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
