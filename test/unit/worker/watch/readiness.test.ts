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
  type Watching,
} from '../../../../worker/watch/readiness.ts';
import type { Snapshot } from '../../../../worker/watch/snapshot.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');

const SOUND: Snapshot = {
  nowMs: NOW,
  shards: [],
  poll: { receiver: 'poller', firstMs: NOW - 9_000_000, lastAnswerMs: NOW - 50_000 },
  models: new Map(),
  telegram: {},
  provider: { lastAnswerMs: NOW - 1_000 },
  alerting: { sentMs: [] },
  redis: { role: 'master', usedBytes: 2 ** 21, maxBytes: 2 ** 30, isOnDisk: true },
  spent: [],
  newest: [],
  open: new Set(),
};

test('redisCheck states role and memory; it is not ready without writes, and degraded with unwritten files', () => {
  expect(redisCheck(SOUND, undefined)).toEqual({ ready: true, detail: 'master, takes writes, 2 MB used of 1024 MB' });
  expect(redisCheck(SOUND, NOW)).toEqual({ ready: false, detail: 'takes no writes since 2026-11-22 12:00:00 UTC' });
  const unwritten = { ...SOUND, redis: { ...SOUND.redis, unwritten: 'aof_last_write_status' } };
  expect(redisCheck(unwritten, undefined)).toMatchObject({
    isDegraded: true,
    detail: expect.stringMatching(/aof_last/),
  });
});

test('providerCheck stays ready while the endpoint fails, and states the kind of failure and its start', () => {
  expect(providerCheck(SOUND)).toEqual({ ready: true, detail: 'last answered 2026-11-22 11:59:59 UTC' });
  expect(providerCheck({ provider: {} })).toEqual({ ready: true, detail: 'not asked yet' });
  const failing = { sinceMs: NOW, lastMs: NOW, failures: 3, why: 'auth', status: '401' } as const;
  expect(providerCheck({ provider: { lastAnswerMs: NOW, failing } })).toEqual({
    ready: true,
    isDegraded: true,
    detail: 'does not accept our key since 2026-11-22 12:00:00 UTC: 3 calls failed (status 401)',
  });
});

test('telegramCheck reports a refused token as not ready, a conflict or other failure as degraded', () => {
  const of = (poll: object) =>
    telegramCheck({ nowMs: NOW, poll: { ...SOUND.poll, receiver: 'poller', firstMs: 0, ...poll } });
  expect(of({})).toEqual({ ready: true, detail: 'last answered 2026-11-22 11:59:10 UTC' });
  expect(of({ unauthorizedMs: NOW })).toMatchObject({
    ready: false,
    detail: expect.stringMatching(/^does not accept the bot token/),
  });
  expect(of({ unauthorizedMs: NOW - 60_000 })).toMatchObject({ ready: true });
  expect(of({ conflictMs: NOW - 1_000 })).toMatchObject({
    isDegraded: true,
    detail: expect.stringMatching(/another process/),
  });
  expect(of({ otherMs: NOW, otherKind: 'unreached' })).toMatchObject({
    isDegraded: true,
    detail: expect.stringMatching(/unreached/),
  });
  expect(telegramCheck({ nowMs: NOW, poll: undefined })).toEqual({ ready: true, detail: 'nobody has received yet' });
});

test('alertsCheck is degraded with the reason while alerts cannot be sent', () => {
  expect(alertsCheck(SOUND)).toEqual({ ready: true, detail: 'none was sent yet' });
  const failing = { sinceMs: NOW, why: 'gone: chat not found', tries: 3, retryAtMs: NOW };
  expect(alertsCheck({ alerting: { sentMs: [], failing } })).toEqual({
    ready: true,
    isDegraded: true,
    detail: 'cannot be sent since 2026-11-22 12:00:00 UTC (gone: chat not found)',
  });
});

test('readyz is 200 and degraded at yellow, and 503 at red and when Redis takes no writes', async () => {
  const failing = { sinceMs: NOW, lastMs: NOW, failures: 3, why: 'overloaded', status: '529' } as const;
  let now: Snapshot | undefined;
  let troubleMs: number | undefined;
  let book: Book = new Map();
  let blindMs: number | undefined;
  let refused: RefusedWritesError | undefined;
  const watching = {
    snapshot: () => now,
    book: () => book,
    refusedWrites: () => refused,
    troubles: { redis: { sinceMs: () => troubleMs }, watch: { sinceMs: () => blindMs } } as Watching['troubles'],
  };
  const parts = readinessOf(watching, { staysReady: false });
  const health = await serveHealth({ host: '127.0.0.1', port: 0, log: createLogger('silent'), parts });
  const look = async () => {
    const response = await fetch(`http://127.0.0.1:${health.port}/readyz`);
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  expect(await look()).toEqual([200, 'ready']);
  now = SOUND;
  expect(await look()).toEqual([200, 'ready']);
  now = { ...SOUND, provider: { failing } };
  expect(await look()).toEqual([200, 'degraded']);
  const incident = { cause: 'provider', isOpen: true, lastMs: NOW, latest: 'The endpoint fails.' } as Incident;
  book = new Map([['provider', incident]]);
  expect(await look()).toEqual([503, 'not ready']);
  book = new Map([['budget', { ...incident, cause: 'budget' }]]);
  expect(await look()).toEqual([200, 'degraded']);
  book = new Map();
  now = SOUND;
  blindMs = NOW;
  expect(await look()).toEqual([200, 'degraded']);
  troubleMs = NOW;
  expect(await look()).toEqual([503, 'not ready']);
  refused = new RefusedWritesError(new Error('NOREPLICAS'), [1], 2);
  expect(await look()).toEqual([200, 'degraded']);
  await health.stop();
});
