import { expect, test } from '@jest/globals';
import type { Lifecycle } from '../../../../shared/state/provider/provider.ts';
import { nextPeriodMs } from '../../../../shared/state/spending/limit.ts';
import { checkRules, conditionsOf, isIntended, isPolled, isWell } from '../../../../worker/watch/rules.ts';
import type { Snapshot } from '../../../../worker/watch/snapshot.ts';
import { LIMITS, NOW, ofPoll, ofShard, overdue, QUIET, snapshot } from '../../../fixture/snapshot.ts';

const DAY_MS = 24 * 3600_000;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

function found(now: Snapshot, before?: Snapshot, sinceMs = NOW - 9_000_000) {
  return conditionsOf({ now, before, sinceMs, limits: LIMITS });
}

const causesOf = (now: Snapshot, before?: Snapshot) => found(now, before).map(({ cause }) => cause);

test('a healthy flow raises no condition', () => {
  expect(found(snapshot())).toEqual([]);
  expect(found(ofShard({ jobsActive: 3, jobsWaiting: 9, unanswered: 12 }), ofShard({ jobsWaiting: 9 }))).toEqual([]);
});

test('overdue messages of all shards are one condition, which names the oldest and counts messages and chats', () => {
  const shards = [
    { ...QUIET, overdue: overdue(125_000, 2, 1, '7'), unanswered: 3 },
    { ...QUIET, shard: 1, overdue: overdue(135_400, 18, 17), unanswered: 20 },
  ];
  const [alert, ...others] = found(snapshot({ shards }));
  expect(others).toEqual([]);
  expect(alert).toMatchObject({
    cause: 'unanswered',
    messages: 20,
    chats: 18,
    sinceMs: NOW - 135_400,
    traceId: 'abc123',
  });
  expect(alert).not.toHaveProperty('key');
  expect(alert).toMatchObject({
    chat: '-100123.7',
    text: expect.stringMatching(/135 seconds; waiting in all: 23 messages/),
  });
});

test('waiting jobs are idle only if two checks in a row see the same one and no active job, or the incident is already open', () => {
  const idle = ofShard({ jobsWaiting: 5 });
  expect(found(idle)).toEqual([]);
  expect(found(idle, ofShard({ jobsWaiting: 5, jobsActive: 1 }))).toEqual([]);
  expect(found(idle, snapshot())).toEqual([]);
  const one = ofShard({ jobsWaiting: 1, nextJob: '1-0' });
  expect(found(one, ofShard({ jobsWaiting: 1, nextJob: '2-0' }))).toEqual([]);
  expect(found(one, one)).toMatchObject([{ cause: 'idle' }]);
  expect(found(idle, idle)).toMatchObject([{ cause: 'idle', text: expect.stringContaining('5 jobs') }]);
  expect(causesOf({ ...idle, open: new Set(['idle']) })).toEqual(['idle']);
  expect(found(ofShard({ jobsWaiting: 5, jobsActive: 1 }), idle)).toEqual([]);
});

test.each(['auth', 'billing', 'model'] as const)(
  'an endpoint that refuses us for %s is down at the second call, and not at one',
  (why) => {
    const failing = { sinceMs: NOW - 100, lastMs: NOW - 100, failures: 1, why, status: '401' };
    expect(found(snapshot({ provider: { failing: { ...failing, failures: 1 } } }))).toEqual([]);
    expect(found(snapshot({ provider: { failing: { ...failing, failures: 2 } } }))).toMatchObject([
      { cause: 'provider', level: why },
    ]);
  },
);

test.each<[string, Lifecycle, object[]]>([
  ['is active', { stage: 'active' }, []],
  ['is deprecated without a date', { stage: 'deprecated' }, []],
  ['retires in 31 days', { stage: 'deprecated', retiresAtMs: NOW + 31 * DAY_MS }, []],
  [
    'retires in 30 days',
    { stage: 'deprecated', retiresAtMs: NOW + 30 * DAY_MS },
    [{ cause: 'model-retires', key: `claude-1 ${dayOf(NOW + 30 * DAY_MS)}` }],
  ],
  [
    'should have been retired, and was not',
    { stage: 'deprecated', retiresAtMs: NOW - DAY_MS },
    [{ cause: 'model-retires', key: `claude-1 ${dayOf(NOW - DAY_MS)}` }],
  ],
  ['is retired', { stage: 'retired' }, [{ cause: 'model-retires', key: 'claude-1', level: 'retired' }]],
])('a model in use that %s', (_, life, conditions) => {
  const seen = found(snapshot({ models: new Map([['claude-1', life]]) }));
  expect(seen).toMatchObject(conditions);
  expect(seen).toHaveLength(conditions.length);
  expect(seen.every(isIntended)).toBe(true);
  expect(found(snapshot({ models: new Map([['claude-2', life]]) }))).toEqual([]);
});

test.each(['overloaded', 'network'] as const)(
  'an endpoint that is %s is down after several failures over 35 seconds, until a call goes through',
  (why) => {
    const failing = { sinceMs: NOW - 35_000, lastMs: NOW - 9_000, failures: 4, why, status: '529' };
    const ofFailing = (part: object) => causesOf(snapshot({ provider: { failing: { ...failing, ...part } } }));
    expect(ofFailing({})).toEqual(['provider']);
    expect(ofFailing({ sinceMs: NOW - 34_000 })).toEqual([]);
    expect(ofFailing({ failures: 1 })).toEqual([]);
    expect(ofFailing({ lastMs: NOW - 901_000 })).toEqual(['provider']);
  },
);

test('no-poll is raised after two minutes without a poll, and never if nothing ever polled here', () => {
  expect(found(snapshot({ poll: undefined }))).toEqual([]);
  expect(found(ofPoll({ lastAnswerMs: NOW - 120_000 }))).toEqual([]);
  const [alert] = found(ofPoll({ lastAnswerMs: NOW - 121_000, otherKind: 'unreached' }));
  expect(alert).toMatchObject({ cause: 'no-poll', text: expect.stringMatching(/121 seconds.*unreached/) });
});

test('no-poll counts from the first try of a poller that never got an answer', () => {
  expect(found(snapshot({ poll: { receiver: 'poller', firstMs: NOW - 119_000 } }))).toEqual([]);
  expect(causesOf(snapshot({ poll: { receiver: 'poller', firstMs: NOW - 121_000 } }))).toEqual(['no-poll']);
});

test('a new process waits two minutes before it raises no-poll, but keeps one that is already open', () => {
  const overnight = ofPoll({ lastAnswerMs: NOW - 8 * 3600_000 });
  expect(found(overnight, undefined, NOW - 119_000)).toEqual([]);
  expect(found(overnight, undefined, NOW - 121_000)).toMatchObject([{ cause: 'no-poll' }]);
  expect(found({ ...overnight, open: new Set(['no-poll']) }, undefined, NOW)).toMatchObject([{ cause: 'no-poll' }]);
});

test('a silent webhook raises no-delivery and a removed one a conflict, each with its own text', () => {
  const [silent] = found(ofPoll({ receiver: 'webhook', lastAnswerMs: NOW - 121_000, otherKind: 'undelivered' }));
  expect(silent).toMatchObject({
    cause: 'no-delivery',
    text: expect.stringMatching(/webhook shows no sign of life for 121 seconds.*undelivered/),
  });
  const [taken] = found(ofPoll({ receiver: 'webhook', conflictMs: NOW - 10_000 }));
  expect(taken).toMatchObject({ cause: 'conflict', text: expect.stringMatching(/webhook was removed.*10 seconds/) });
});

test('a conflict counts for two minutes', () => {
  expect(causesOf(ofPoll({ conflictMs: NOW - 119_000 }))).toEqual(['conflict']);
  expect(found(ofPoll({ conflictMs: NOW - 120_000 }))).toEqual([]);
});

test('a refused token raises a condition until a later call is answered', () => {
  expect(causesOf(ofPoll({ unauthorizedMs: NOW - 40_000 }))).toEqual(['token']);
  expect(found(ofPoll({ unauthorizedMs: NOW - 40_000, lastAnswerMs: NOW - 39_000 }))).toEqual([]);
  expect(found(ofPoll({ unauthorizedMs: NOW - 120_000, lastAnswerMs: NOW - 119_999 }))).toEqual([]);
});

test('alert-channel is raised when alerts have failed for two minutes', () => {
  const failing = { sinceMs: NOW - 120_000, why: 'gone: chat not found', tries: 7, retryAtMs: NOW };
  const alerting = (sinceMs: number) => snapshot({ alerting: { sentMs: [], failing: { ...failing, sinceMs } } });
  expect(found(alerting(NOW - 119_000))).toEqual([]);
  expect(found(alerting(NOW - 120_000))).toMatchObject([
    { cause: 'alert-channel', text: expect.stringMatching(/120 seconds.*chat not found/) },
  ]);
});

test('memory is raised above 80 % of a limit only, and persistence whenever files are not written', () => {
  const of = (usedBytes: number, maxBytes: number) =>
    causesOf(snapshot({ redis: { role: 'master', usedBytes, maxBytes, isOnDisk: true } }));
  expect(of(800, 1_000)).toEqual([]);
  expect(of(801, 1_000)).toEqual(['memory']);
  expect(of(10 ** 12, 0)).toEqual([]);
  const redis = { role: 'master', usedBytes: 1, maxBytes: 0, isOnDisk: true, unwritten: 'aof_last_write_status' };
  expect(found(snapshot({ redis }))).toMatchObject([
    { cause: 'persistence', text: expect.stringContaining('aof_last') },
  ]);
});

test.each([
  [499, undefined, undefined],
  [500, '50 %', 'half used up: 50 %, $5.00 of $10.00'],
  [799, '50 %', '79 %'],
  [800, '80 %', 'nearly used up: 80 %'],
  [999, '80 %', '99 %'],
  [1_000, '80 %', 'until 2027-01-16, 00:00 UTC'],
  [1_730, '80 %', '173 %, $17.30 of $10.00'],
])('of a budget of which %d thousandths are spent the operator is notified at level %s', (share, level, words) => {
  const limit = { setting: 'TOTAL_DAILY_USD', whose: 'total', period: 'day', unit: 'usd', max: 10e9 } as const;
  const spent = { limit, spent: share * 1e7, isUsedUp: share >= 1_000, againMs: nextPeriodMs('day', NOW) };
  const conditions = found(snapshot({ spent: [spent] }));
  expect(conditions.map(({ cause, key }) => `${cause}:${key}`)).toEqual([
    ...(level === undefined ? [] : ['budget:TOTAL_DAILY_USD']),
    ...(share >= 1_000 ? ['over-budget:TOTAL_DAILY_USD'] : []),
  ]);
  expect(conditions[0]?.level).toBe(level);
  if (words !== undefined) expect(conditions.at(-1)?.text).toContain(words);
  expect(conditions.map(isIntended)).toEqual([true, false].slice(0, conditions.length));
});

test('dead-letters is raised from 100', () => {
  expect(causesOf(ofShard({ deadLetters: 99 }))).toEqual([]);
  expect(causesOf(ofShard({ deadLetters: 100 }))).toEqual(['dead-letters']);
});

test('isPolled is true only if Telegram answered a poll in the last two minutes', () => {
  const polled = (now: Snapshot) => isPolled({ now, before: undefined, sinceMs: NOW, limits: LIMITS });
  expect(polled(snapshot())).toBe(true);
  expect(polled(ofPoll({ lastAnswerMs: NOW - 120_000 }))).toBe(false);
  expect(polled(snapshot({ poll: undefined }))).toBe(false);
  expect(polled(snapshot({ poll: { receiver: 'poller', firstMs: NOW } }))).toBe(false);
});

test('dead letters warn at 80 % of what a shard may have, and say when the oldest go', () => {
  const at = (deadLetters: number) => found(ofShard({ deadLetters, lettersDropped: 3 }))[0];
  expect(at(799)?.level).toBeUndefined();
  expect(at(800)).toMatchObject({ level: 'nearly full', text: expect.stringContaining('800 of at most 1000') });
  expect(at(1_000)).toMatchObject({ level: 'full', text: expect.stringContaining('3 so far') });
  const few = { ...LIMITS, deadLettersMax: 10 };
  const [warned] = conditionsOf({ now: ofShard({ deadLetters: 8 }), before: undefined, sinceMs: 0, limits: few });
  expect(warned).toMatchObject({ cause: 'dead-letters', level: 'nearly full' });
});

test('a Telegram that is away for half a minute is an incident, with what waits for it', () => {
  const away = { sinceMs: NOW - 31_000, why: 'unknown: Bad Gateway', answers: 3, chats: 2 };
  const shards = [{ ...QUIET, unanswered: 5 }];
  const [telegram] = found(snapshot({ shards, telegram: { away } }));
  expect(telegram).toMatchObject({ cause: 'telegram', messages: 3, chats: 2, sinceMs: away.sinceMs });
  expect(telegram?.text).toMatch(
    /31 seconds \(unknown: Bad Gateway\)\. Waiting: 3 finished answers of 2 chats, and 2 /,
  );
  expect(causesOf(snapshot({ telegram: { away: { ...away, sinceMs: NOW - 29_000 } } }))).toEqual([]);
});

/** A snapshot of which one part cannot be read. */
const without = (part: keyof Snapshot, rest: Partial<Snapshot> = {}) =>
  Object.defineProperty(snapshot(rest), part, {
    get: () => {
      throw new TypeError(`no ${part}`);
    },
  });

test.each<[keyof Snapshot, string[]]>([
  ['provider', ['provider']],
  ['telegram', ['telegram']],
  ['poll', ['no-poll', 'no-delivery', 'conflict', 'token']],
  ['redis', ['memory', 'persistence']],
  ['alerting', ['alert-channel']],
])('a rule that throws for want of %s keeps no other from being checked', (part, blind) => {
  const now = without(part, { shards: [{ ...QUIET, overdue: overdue(125_000, 2, 1), deadLetters: 100 }] });
  const watch = { now, before: undefined, sinceMs: 0, limits: LIMITS };
  const { conditions, failures } = checkRules(watch);
  expect(conditions.map(({ cause }) => cause)).toEqual(['unanswered', 'dead-letters']);
  expect(failures.map(({ what }) => what)).toEqual(blind);
  const [watcher] = conditionsOf(watch).filter(({ cause }) => cause === 'watcher');
  for (const cause of blind) expect(watcher?.text).toContain(cause);
});

test('all is well only where everything was checked, nothing holds but a pause, and nothing else is overdue', () => {
  const well = (now: Snapshot) => {
    const watch = { now, before: undefined, sinceMs: NOW - 9_000_000, limits: LIMITS };
    return isWell(watch, checkRules(watch));
  };
  const resting = { messages: 5, chats: 1 };
  expect(well(snapshot())).toBe(true);
  expect(well(ofShard({ resting }))).toBe(true);
  expect(well(ofShard({ resting, overdue: overdue(70_000, 1, 1) }))).toBe(false);
  expect(well(without('provider'))).toBe(false);
  expect(well(snapshot({ poll: undefined }))).toBe(false);
});
