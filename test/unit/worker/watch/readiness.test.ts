import { expect, test } from '@jest/globals';
import { serveHealth } from '../../../../shared/app/health.ts';
import { createLogger } from '../../../../shared/base/log.ts';
import { RefusedWritesError } from '../../../../shared/state/process/process.ts';
import type { Book } from '../../../../worker/alerts/book.ts';
import type { Incident } from '../../../../worker/alerts/incident.ts';
import {
  alertsCheck,
  providerCheck,
  readinessOf,
  redisCheck,
  telegramCheck,
  type WatchdogView,
} from '../../../../worker/watch/readiness.ts';
import type { Snapshot } from '../../../../worker/watch/snapshot.ts';
import { snapshot } from '../../../fixture/snapshot.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const SINCE = 'since 2026-11-22 12:00:00 UTC';

const redis = (more: object) =>
  snapshot({ redis: { role: 'master', usedBytes: 2 ** 21, maxBytes: 2 ** 30, isOnDisk: true, ...more } });
const poll = (more: object) =>
  telegramCheck({ nowMs: NOW, poll: { receiver: 'poller', firstMs: 0, lastAnswerMs: NOW - 50_000, ...more } });
const FAILING = { sinceMs: NOW, lastMs: NOW, failures: 3, why: 'auth', status: '401' } as const;

test.each<[string, ReturnType<typeof redisCheck>, ready: boolean, isDegraded: boolean | undefined, RegExp]>([
  ['Redis', redisCheck(redis({}), undefined), true, undefined, /^master, takes writes, 2 MB used of 1024 MB$/],
  ['Redis without writes', redisCheck(redis({}), NOW), false, undefined, new RegExp(`^takes no writes ${SINCE}$`)],
  ['files that are not written', redisCheck(redis({ unwritten: 'aof_last' }), undefined), true, true, /aof_last/],
  [
    'an endpoint',
    providerCheck({ provider: { lastAnswerMs: NOW } }),
    true,
    undefined,
    /^last answered 2026-11-22 12:00:00/,
  ],
  ['one that was not asked', providerCheck({ provider: {} }), true, undefined, /^not asked yet$/],
  [
    'one that fails',
    providerCheck({ provider: { lastAnswerMs: NOW, failing: FAILING } }),
    true,
    true,
    new RegExp(`^does not accept our API key ${SINCE}: 3 calls failed \\(status 401\\)$`),
  ],
  ['Telegram', poll({}), true, undefined, /^last answered 2026-11-22 11:59:10 UTC$/],
  ['a refused token', poll({ unauthorizedMs: NOW }), false, undefined, /^does not accept the bot token/],
  ['a token that is taken again', poll({ unauthorizedMs: NOW - 60_000 }), true, undefined, /^last answered/],
  ['a conflict', poll({ conflictMs: NOW - 1_000 }), true, true, /another process/],
  ['another failure', poll({ otherMs: NOW, otherKind: 'unreached' }), true, true, /unreached/],
  ['nobody', telegramCheck({ nowMs: NOW, poll: undefined }), true, undefined, /^nobody has received yet$/],
  ['alerts', alertsCheck({ alerting: { sentMs: [] } }), true, undefined, /^none was sent yet$/],
  [
    'alerts that cannot be sent',
    alertsCheck({
      alerting: { sentMs: [], failing: { sinceMs: NOW, why: 'gone: chat not found', tries: 3, retryAtMs: NOW } },
    }),
    true,
    true,
    new RegExp(`^cannot be sent ${SINCE} \\(gone: chat not found\\)$`),
  ],
])('of %s the check says %j', (_, check, ready, isDegraded, detail) => {
  expect(check).toEqual({ ready, ...(isDegraded && { isDegraded }), detail: expect.stringMatching(detail) });
});

test('readyz is 200 and degraded at yellow, and 503 at red and when Redis takes no writes', async () => {
  let now: Snapshot | undefined;
  let troubleMs: number | undefined;
  let book: Book = new Map();
  let blindMs: number | undefined;
  let refused: RefusedWritesError | undefined;
  const watching = {
    snapshot: () => now,
    book: () => book,
    refusedWrites: () => refused,
    troubles: { redis: { sinceMs: () => troubleMs }, watch: { sinceMs: () => blindMs } } as WatchdogView['troubles'],
  };
  const parts = readinessOf(watching, { staysReady: false });
  const health = await serveHealth({ host: '127.0.0.1', port: 0, log: createLogger('silent'), parts });
  const look = async () => {
    const response = await fetch(`http://127.0.0.1:${health.port}/readyz`);
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  const sound = snapshot({ nowMs: NOW });
  const incident = { cause: 'provider', isOpen: true, lastMs: NOW, latest: 'The endpoint fails.' } as Incident;
  expect(await look()).toEqual([200, 'ready']);
  now = sound;
  expect(await look()).toEqual([200, 'ready']);
  now = { ...sound, provider: { failing: FAILING } };
  expect(await look()).toEqual([200, 'degraded']);
  book = new Map([['provider', incident]]);
  expect(await look()).toEqual([503, 'not ready']);
  // Where Telegram delivers to a webhook, a balancer that kept it away would keep away what heals it.
  const installation = readinessOf(watching, { staysReady: true }).find(({ name }) => name === 'installation');
  expect(await installation?.check()).toMatchObject({ ready: true, isDegraded: true });
  book = new Map([['budget', { ...incident, cause: 'budget' }]]);
  expect(await look()).toEqual([200, 'degraded']);
  book = new Map();
  now = sound;
  blindMs = NOW;
  expect(await look()).toEqual([200, 'degraded']);
  troubleMs = NOW;
  expect(await look()).toEqual([503, 'not ready']);
  refused = new RefusedWritesError(new Error('NOREPLICAS'), [1], 2);
  expect(await look()).toEqual([200, 'degraded']);
  await health.stop();
});
