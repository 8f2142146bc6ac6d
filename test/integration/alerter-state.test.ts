import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PrivateRedis } from '../../shared/private-redis/server.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { startAlerter } from '../../worker/alerts/alerter.ts';
import type { AlertChannel } from '../../worker/alerts/channel.ts';
import { lentRedis } from '../fixture/lent-redis.ts';
import { keptLog } from '../fixture/log.ts';
import { until } from '../fixture/root.ts';

/** An alerter over a state that another version, or another clock, has written. */

let server: PrivateRedis;
let redis: ReturnType<typeof connectRedis>;
let keys: Keys;
const started: { stop(): Promise<void> }[] = [];

beforeEach(async () => {
  server = await lentRedis();
  redis = connectRedis(server.url, 'patient');
  keys = keysOf(0);
});

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop();
  redis.disconnect();
  await server.stop();
});

function chat() {
  const taken: string[] = [];
  const send: AlertChannel['send'] = async (text) => {
    taken.push(text);
    return { ok: true };
  };
  return { taken, channel: { name: 'telegram', send } };
}

function alerter(channel: AlertChannel): void {
  const channels = { chatId: 9001, telegram: () => channel, webhook: undefined, secondAfterMs: 300, retryMs: 20 };
  const { log } = keptLog();
  const own = connectRedis(server.url, 'impatient');
  started.push(startAlerter({ redis: own, keys, channels, log, everyMs: 10, takeOverMs: 1_000 }));
}

const allSent = () => until('an empty queue', async () => ((await redis.xlen(keys.notices)) === 0 ? true : undefined));

test('a notice that cannot be read says so, and keeps none behind it from being sent', async () => {
  const operator = chat();
  await redis.xadd(keys.notices, '*', 'notice', '{"text":');
  await redis.xadd(keys.notices, '*', 'wings', 'two');
  await redis.xadd(keys.notices, '*', 'notice', JSON.stringify({ incident: 'a', kind: 'sung', text: 'Sung.' }));
  await redis.xadd(
    keys.notices,
    '*',
    'notice',
    JSON.stringify({ incident: 'failed', kind: 'opened', text: 'Failed.' }),
  );
  alerter(operator.channel);
  await allSent();
  const unreadable = expect.stringMatching(/^An alert is not readable/);
  expect(operator.taken).toEqual([unreadable, unreadable, 'Sung.', 'Failed.']);
});

test("alerts go on when Redis' clock steps back by an hour: neither the rate nor a delay lasts as long as the step", async () => {
  const operator = chat();
  const aheadMs = Date.now() + 3600_000;
  const failing = { failingSinceMs: aheadMs - 7_200_000, why: 'unknown: 502', tries: 9, retryAtMs: aheadMs + 10 };
  await redis.hset(keys.alerting, {
    ...failing,
    sentMs: Array(30)
      .fill(aheadMs - 3_599_000)
      .join(','),
    atMs: aheadMs,
  });
  await redis.xadd(
    keys.notices,
    '*',
    'notice',
    JSON.stringify({ incident: 'failed', kind: 'opened', text: 'Failed.' }),
  );
  alerter(operator.channel);
  await allSent();
  expect(operator.taken).toHaveLength(1);
});
