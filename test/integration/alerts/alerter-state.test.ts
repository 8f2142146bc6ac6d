import { expect, test } from '@jest/globals';
import { deliveryTurn } from '../../../shared/state/incident/delivery.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { alerter, alertOf, allSent, chat, eachWithAlerter, entered } from '../../fixture/each-alerter.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { until } from '../../fixture/root.ts';

/** An alerter over a state that another version, or another clock, has written. */

eachWithAlerter();

test('what the channels have and cannot be read is sent again, and an incident of version 0.3 keeps its occurrences', async () => {
  const operator = chat();
  await entered(alertOf(1));
  const {
    occurrences: _,
    occurrencesMore: __,
    ...incident
  } = JSON.parse((await redis.hget(keys.incidents, 'incident:tool-server:1')) ?? '');
  const before = { ...incident, unnamed: ['Second.'], unnamedMore: 0, named: ['First.'] };
  await redis.hset(keys.incidents, 'incident:tool-server:1', JSON.stringify(before));
  await redis.hset(keys.incidents, 'delivered:tool-server:1', '{"opening":');
  alerter(operator);
  await allSent();
  expect(operator.taken).toEqual([expect.stringMatching(/First\.\nSecond\.$/)]);
  expect((await createBookStore(redis).read()).delivered.get('tool-server:1')).toMatchObject({ stage: 1, copied: 1 });
});

test('a process whose turn was taken over records nothing: the next one knows better', async () => {
  await entered(alertOf(1));
  const turn = deliveryTurn(redis);
  await turn.begin('frozen', 5);
  await until('the next turn', () => turn.begin('next', 60_000));
  await turn.end('frozen', [['tool-server:1', '{}']], { sentMs: [] });
  expect(await redis.hexists(keys.incidents, 'delivered:tool-server:1')).toBe(0);
  await turn.end('next', [['tool-server:1', '{}']], { sentMs: [] });
  expect(await redis.hexists(keys.incidents, 'delivered:tool-server:1')).toBe(1);
});

test("alerts go on when Redis' clock steps back by an hour: neither the rate nor a delay lasts as long as the step", async () => {
  const operator = chat();
  const aheadMs = Date.now() + 3600_000;
  const failing = { failingSinceMs: aheadMs - 7_200_000, why: 'unknown: 502', tries: 9, retryAtMs: aheadMs + 10 };
  const sentMs = String(Array(30).fill(aheadMs - 90_000));
  await redis.hset(keys.alerting, { ...failing, sentMs, atMs: aheadMs });
  await entered(alertOf(1));
  alerter(operator);
  await allSent();
  expect(operator.taken).toHaveLength(1);
});
