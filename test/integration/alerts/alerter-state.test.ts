import { expect, test } from '@jest/globals';
import { noticeQueue, type Owed } from '../../../shared/state/incident/notices.ts';
import {
  alerter,
  alertOf,
  allPaid,
  allSent,
  awayGround,
  chat,
  eachWithAlerter,
  over,
  told,
} from '../../fixture/each-alerter.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';

/** An alerter over a state that another version, or another clock, has written. */

eachWithAlerter();

const notice = (of: object) => redis.xadd(keys.notices, '*', 'notice', JSON.stringify(of));

test('a notice that cannot be read says so, and keeps none behind it from being sent', async () => {
  const operator = chat();
  await redis.xadd(keys.notices, '*', 'notice', '{"text":');
  await redis.xadd(keys.notices, '*', 'wings', 'two');
  await notice({ incident: 'a', kind: 'sung', text: 'Sung.' });
  await notice({ incident: 'failed', kind: 'opened', text: 'Failed.' });
  alerter(operator);
  await allSent();
  const unreadable = expect.stringMatching(/^An alert is not readable/m);
  expect(operator.taken).toEqual([unreadable, unreadable, 'Sung.', 'Failed.']);
});

test("alerts go on when Redis' clock steps back by an hour: neither the rate nor a delay lasts as long as the step", async () => {
  const operator = chat();
  const aheadMs = Date.now() + 3600_000;
  const failing = { failingSinceMs: aheadMs - 7_200_000, why: 'unknown: 502', tries: 9, retryAtMs: aheadMs + 10 };
  const sentMs = String(Array(30).fill(aheadMs - 3_599_000));
  await redis.hset(keys.alerting, { ...failing, sentMs, atMs: aheadMs });
  await notice({ incident: 'failed', kind: 'opened', text: 'Failed.' });
  alerter(operator);
  await allSent();
  expect(operator.taken).toHaveLength(1);
});

const WEEK_MS = 7 * 24 * 3600_000;

test('what the tool did not take for a week, and what cannot be read, is given up and logged', async () => {
  const { receiver, channels } = await awayGround('pagerduty');
  const { log, lines } = keptLog();
  const atMs = Date.now() - WEEK_MS - 1_000;
  const facts = { severity: 'page', isOver: true, isNew: false, what: '', text: '', words: '', openedMs: atMs };
  await redis.hset(keys.owed, 'second old', JSON.stringify({ key: 'old', incident: 'failed', atMs, ...facts }));
  await redis.hset(keys.owed, 'second odd', '{"key":');
  alerter(channels, log);
  await allPaid();
  expect(receiver.requests).toEqual([]);
  expect(lines.filter(({ msg }) => /given up/.test(msg))).toHaveLength(2);
});

test('an opening under another key, as after a step of the clock, ends when the incident does', async () => {
  const { receiver, channels, back } = await awayGround('pagerduty');
  alerter(channels);
  await told(alertOf(1));
  const incident = JSON.parse(String(await redis.hget(keys.incidents, 'incident:tool-server:1'))) as {
    openedMs: number;
  };
  const stepped = JSON.stringify({ ...incident, openedMs: incident.openedMs - 3600_000 });
  await redis.hset(keys.incidents, 'incident:tool-server:1', stepped);
  await back();
  await told(over(1));
  await allPaid();
  expect(receiver.incidents()).toEqual([expect.objectContaining({ isOpen: false, openings: 1 })]);
});

test('a notice of an earlier version opens and ends as well: it is its own opening', async () => {
  const { receiver, channels, back } = await awayGround('pagerduty');
  alerter(channels);
  const notice = (of: object) =>
    redis.xadd(keys.notices, '*', 'notice', JSON.stringify({ incident: 'provider', ...of }));
  await notice({ incident: 'provider', kind: 'opened', text: 'No call goes through.' });
  await allSent();
  expect(receiver.incidents()[0]?.bodies[0]).toMatchObject({ payload: { severity: 'critical', class: 'provider' } });
  await back();
  await notice({ incident: 'provider', kind: 'resolved', text: 'Resolved.', update: 'Resolved.' });
  await allSent();
  await allPaid();
  expect(receiver.incidents()[0]).toMatchObject({ isOpen: false });
});

test('frozen while it tells what is owed: a later text for the same opening stays', async () => {
  const queue = noticeQueue(redis);
  const record = { sentMs: [] };
  const nothing = { ids: [], record, messages: new Map() };
  const owes = (text: string): Owed => ({ to: 'a key', text });
  await queue.putBack('a', { ...nothing, owed: [owes('it grew')] });
  const taken = await queue.take('a', 1_000, 10);
  await queue.putBack('b', { ...nothing, owed: [owes('it is over')] });
  await queue.putBack('a', { ...nothing, ...(taken?.owed && { paid: taken.owed }) });
  expect((await queue.take('c', 1_000, 10))?.owed).toEqual(owes('it is over'));
});
