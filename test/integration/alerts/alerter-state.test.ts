import { expect, test } from '@jest/globals';
import { alerter, allSent, chat, eachWithAlerter } from '../../fixture/each-alerter.ts';
import { keys, redis } from '../../fixture/each-redis.ts';

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
