import { expect, test } from '@jest/globals';
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

const SOUND = snapshot({ nowMs: NOW });
const opened = (cause: Incident['cause']) => ({
  now: SOUND,
  book: new Map([[cause, { cause, isOpen: true, lastMs: NOW, latest: 'It fails.' } as Incident]]),
});
const REFUSED = new RefusedWritesError(new Error('NOREPLICAS'), [1], 2);

/** What a watchdog has seen. */
interface Seen {
  now?: Snapshot;
  book?: Book;
  troubleMs?: number;
  blindMs?: number;
  refused?: RefusedWritesError;
  staysReady?: boolean;
}

test.each<[string, Seen, [part: string, isReady: boolean][]]>([
  ['nothing was seen yet', {}, []],
  ['all is well', { now: SOUND }, []],
  ['the endpoint fails', { now: { ...SOUND, provider: { failing: FAILING } } }, [['provider', true]]],
  ['an incident pages', opened('provider'), [['installation', false]]],
  // A balancer that kept Telegram away would keep away what heals it.
  ['an incident pages where Telegram delivers', { ...opened('provider'), staysReady: true }, [['installation', true]]],
  ['an incident needs attention', opened('failed'), [['installation', true]]],
  ['the watchdog fails', { now: SOUND, blindMs: NOW }, [['watchdog', true]]],
  ['Redis takes no writes', { now: SOUND, troubleMs: NOW }, [['redis server', false]]],
  ['some shards take no writes', { now: SOUND, troubleMs: NOW, refused: REFUSED }, [['redis server', true]]],
])('where %s, /readyz names the parts in trouble, ready or not: %#', async (_, seen, expected) => {
  const { now, book = new Map(), troubleMs, blindMs, refused, staysReady = false } = seen;
  const troubles = { redis: { sinceMs: () => troubleMs }, watch: { sinceMs: () => blindMs } };
  const view = { snapshot: () => now, book: () => book, refusedWrites: () => refused, troubles };
  const parts = readinessOf(view as WatchdogView, { staysReady });
  const checked = await Promise.all(parts.map(async ({ name, check }) => ({ name, ...(await check()) })));
  const found = checked.filter(({ ready, isDegraded }) => !ready || isDegraded === true);
  expect(found.map(({ name, ready }) => [name, ready])).toEqual(expected);
});
