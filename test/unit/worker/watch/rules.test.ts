import { expect, test } from '@jest/globals';
import type { Lifecycle } from '../../../../shared/state/provider/provider.ts';
import { nextPeriodMs } from '../../../../shared/state/spending/limit.ts';
import { isReceiving, mayPing } from '../../../../worker/watch/dead-man.ts';
import { checkRules, conditionsOf, isHarmless } from '../../../../worker/watch/rules.ts';
import type { Snapshot } from '../../../../worker/watch/snapshot.ts';
import { LIMITS, NOW, ofPoll, ofShard, overdue, QUIET, snapshot } from '../../../fixture/snapshot.ts';

const DAY_MS = 24 * 3600_000;
const watchOf = (now: Snapshot, before?: Snapshot, sinceMs = NOW - 9_000_000) => ({
  now,
  before,
  sinceMs,
  limits: LIMITS,
});
const found = (...of: Parameters<typeof watchOf>) => conditionsOf(watchOf(...of));

const first = (agoMs: number) => snapshot({ poll: { receiver: 'poller', firstMs: NOW - agoMs } });
const failing = (why: 'auth' | 'billing' | 'model' | 'overloaded' | 'network', agoMs: number, failures: number) =>
  snapshot({ provider: { failing: { sinceMs: NOW - agoMs, lastMs: NOW - 100, failures, why, status: '401' } } });
const alerting = (agoMs: number) =>
  snapshot({
    alerting: { sentMs: [], failing: { sinceMs: NOW - agoMs, why: 'chat not found', tries: 7, retryAtMs: NOW } },
  });
const redis = (usedBytes: number, maxBytes: number, unwritten?: string) =>
  snapshot({ redis: { role: 'master', usedBytes, maxBytes, isOnDisk: true, ...(unwritten && { unwritten }) } });
const AWAY = { sinceMs: NOW - 31_000, why: 'unknown: Bad Gateway', answers: 3, chats: 2 };
const away = (agoMs: number) =>
  snapshot({ shards: [{ ...QUIET, unanswered: 5 }], telegram: { away: { ...AWAY, sinceMs: NOW - agoMs } } });
const IDLE = ofShard({ jobsWaiting: 5 });
const ONE = ofShard({ jobsWaiting: 1, nextJob: '1-0' });
const OVERNIGHT = ofPoll({ lastAnswerMs: NOW - 8 * 3600_000 });

const ofHook = (part: Parameters<typeof ofPoll>[0]) => ofPoll({ receiver: 'webhook', ...part });
const UNREACHED = expect.stringMatching(/2 minutes.*unreached/);
const SILENT = expect.stringMatching(/webhook has received nothing for 2 minutes.*undelivered/);
const REMOVED = expect.stringMatching(/removed or replaced our webhook 10 seconds ago/);
const NOT_FOUND = expect.stringMatching(/2 minutes.*chat not found/);
const [OF_MOST, DROPPED] = [
  expect.stringContaining('800 of 1000 at most'),
  expect.stringContaining('removed so far: 3'),
];
const IS_AWAY = {
  ...{ cause: 'telegram', messages: 3, chats: 2, sinceMs: AWAY.sinceMs },
  text: expect.stringMatching(
    /31 seconds \(unknown: Bad Gateway\)\. Waiting to be sent: 3 finished answers of 2 chats\. Waiting to be answered: 2 /,
  ),
};

const CASES: [what: string, found: object[], ...watch: Parameters<typeof watchOf>][] = [
  ['a healthy flow', [], snapshot()],
  ['a busy flow', [], ofShard({ jobsActive: 3, jobsWaiting: 9, unanswered: 12 }), ofShard({ jobsWaiting: 9 })],
  ['waiting jobs, seen once', [], IDLE],
  ['waiting jobs behind an active one', [], IDLE, ofShard({ jobsWaiting: 5, jobsActive: 1 })],
  ['waiting jobs that are new', [], IDLE, snapshot()],
  ['waiting jobs beside an active one', [], ofShard({ jobsWaiting: 5, jobsActive: 1 }), IDLE],
  ['another waiting job', [], ONE, ofShard({ jobsWaiting: 1, nextJob: '2-0' })],
  ['the same waiting job', [{ cause: 'idle' }], ONE, ONE],
  ['the same waiting jobs', [{ cause: 'idle', text: expect.stringContaining('5 jobs') }], IDLE, IDLE],
  ['waiting jobs of an open incident', [{ cause: 'idle' }], { ...IDLE, open: new Set(['idle']) }],
  ['one refusal of our key', [], failing('auth', 100, 1)],
  ['a second one', [{ cause: 'provider', level: 'auth' }], failing('auth', 100, 2)],
  ['two for billing', [{ cause: 'provider', level: 'billing' }], failing('billing', 100, 2)],
  ['two for the model', [{ cause: 'provider', level: 'model' }], failing('model', 100, 2)],
  ['an endpoint away for 34 s', [], failing('overloaded', 34_000, 4)],
  ['an endpoint away for 35 s', [{ cause: 'provider', level: 'overloaded' }], failing('overloaded', 35_000, 4)],
  ['one failure 35 s ago', [], failing('network', 35_000, 1)],
  ['an endpoint out of reach', [{ cause: 'provider', level: 'network' }], failing('network', 900_000, 4)],
  ['no receiver at all', [], snapshot({ poll: undefined })],
  ['no poll for two minutes', [], ofPoll({ lastAnswerMs: NOW - 120_000 })],
  [
    'no poll for longer',
    [{ cause: 'no-poll', text: UNREACHED }],
    ofPoll({ lastAnswerMs: NOW - 121_000, otherKind: 'unreached' }),
  ],
  ['a first poll two minutes ago', [], first(119_000)],
  ['a first poll before that', [{ cause: 'no-poll' }], first(121_000)],
  ['a night without a poll, in a new process', [], OVERNIGHT, undefined, NOW - 119_000],
  ['the same after two minutes', [{ cause: 'no-poll' }], OVERNIGHT, undefined, NOW - 121_000],
  ['the same, still open', [{ cause: 'no-poll' }], { ...OVERNIGHT, open: new Set(['no-poll']) }, undefined, NOW],
  [
    'a silent webhook',
    [{ cause: 'no-delivery', text: SILENT }],
    ofHook({ lastAnswerMs: NOW - 121_000, otherKind: 'undelivered' }),
  ],
  ['a removed webhook', [{ cause: 'conflict', text: REMOVED }], ofHook({ conflictMs: NOW - 10_000 })],
  ['a conflict', [{ cause: 'conflict' }], ofPoll({ conflictMs: NOW - 119_000 })],
  ['a conflict two minutes ago', [], ofPoll({ conflictMs: NOW - 120_000 })],
  ['a refused token', [{ cause: 'token' }], ofPoll({ unauthorizedMs: NOW - 40_000 })],
  ['a token that is taken again', [], ofPoll({ unauthorizedMs: NOW - 40_000, lastAnswerMs: NOW - 39_000 })],
  ['one two minutes ago', [], ofPoll({ unauthorizedMs: NOW - 120_000, lastAnswerMs: NOW - 119_999 })],
  ['alerts that fail', [], alerting(119_000)],
  ['alerts that fail for two minutes', [{ cause: 'alert-channel', text: NOT_FOUND }], alerting(120_000)],
  ['a Redis that is 80 % full', [], redis(800, 1_000)],
  ['a Redis that is fuller', [{ cause: 'memory' }], redis(801, 1_000)],
  ['a Redis without a limit', [], redis(10 ** 12, 0)],
  ['unwritten files', [{ cause: 'persistence', text: expect.stringContaining('aof_last') }], redis(1, 0, 'aof_last')],
  ['99 dead letters', [], ofShard({ deadLetters: 99 })],
  ['100 of them', [{ cause: 'dead-letters' }], ofShard({ deadLetters: 100 })],
  ['80 % of the most', [{ level: 'nearly full', text: OF_MOST }], ofShard({ deadLetters: 800 })],
  ['as many as there may be', [{ level: 'full', text: DROPPED }], ofShard({ deadLetters: 1_000, lettersDropped: 3 })],
  ['a Telegram away for 29 s', [], away(29_000)],
  ['a Telegram away for half a minute', [IS_AWAY], away(31_000)],
];

const NAMED = CASES.map(([what, expected, ...watch]) => [what, expected, watch] as const);

test.each(NAMED)('of %s the conditions are %j', (_, expected, watch) => {
  const conditions = found(...watch);
  expect(conditions).toMatchObject(expected);
  expect(conditions).toHaveLength(expected.length);
});

test('overdue messages of all shards are one condition, which names the oldest and counts messages and chats', () => {
  const shards = [
    { ...QUIET, overdue: overdue(125_000, 2, 1, '7'), unanswered: 3 },
    { ...QUIET, shard: 1, overdue: overdue(135_400, 18, 17), unanswered: 20 },
  ];
  const [alert, ...others] = found(snapshot({ shards }));
  expect(others).toEqual([]);
  expect(alert).toMatchObject({
    ...{ cause: 'unanswered', messages: 20, chats: 18, sinceMs: NOW - 135_400, traceId: 'abc123', chat: '-100123.7' },
    text: expect.stringMatching(/2 minutes\. Waiting in all: 23 messages/),
  });
  expect(alert).not.toHaveProperty('key');
});

test('dead letters warn at 80 % of what a shard may have', () => {
  expect(found(ofShard({ deadLetters: 799 }))).toEqual([expect.not.objectContaining({ level: expect.anything() })]);
  const watch = { ...watchOf(ofShard({ deadLetters: 8 })), limits: { ...LIMITS, deadLettersMax: 10 } };
  expect(conditionsOf(watch)).toMatchObject([{ cause: 'dead-letters', level: 'nearly full' }]);
});

const retires = (inDays: number) => ({ stage: 'deprecated', retiresAtMs: NOW + inDays * DAY_MS }) as const;
const key = (inDays: number) => `claude-1 ${new Date(NOW + inDays * DAY_MS).toISOString().slice(0, 10)}`;

test.each<[string, Lifecycle, object[]]>([
  ['is active', { stage: 'active' }, []],
  ['is deprecated without a date', { stage: 'deprecated' }, []],
  ['retires in 31 days', retires(31), []],
  ['retires in 30 days', retires(30), [{ cause: 'model-retires', key: key(30) }]],
  ['should have been retired, and was not', retires(-1), [{ cause: 'model-retires', key: key(-1) }]],
  ['is retired', { stage: 'retired' }, [{ cause: 'model-retires', key: 'claude-1', level: 'retired' }]],
])('a model in use that %s', (_, life, conditions) => {
  const seen = found(snapshot({ models: new Map([['claude-1', life]]) }));
  expect(seen).toMatchObject(conditions);
  expect(seen).toHaveLength(conditions.length);
  expect(seen.every(isHarmless)).toBe(true);
  expect(found(snapshot({ models: new Map([['claude-2', life]]) }))).toEqual([]);
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
  expect(conditions.map(isHarmless)).toEqual([true, false].slice(0, conditions.length));
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
  const watch = watchOf(without(part, { shards: [{ ...QUIET, overdue: overdue(125_000, 2, 1), deadLetters: 100 }] }));
  const { conditions, failures } = checkRules(watch);
  expect(conditions.map(({ cause }) => cause)).toEqual(['unanswered', 'dead-letters']);
  expect(failures.map(({ what }) => what)).toEqual(blind);
  const [watcher] = conditionsOf(watch).filter(({ cause }) => cause === 'watcher');
  for (const cause of blind) expect(watcher?.text).toContain(cause);
  const alone = watchOf(without(part));
  expect(mayPing(alone, checkRules(alone))).toBe(false);
});

const resting = { messages: 5, chats: 1 };

test.each<[string, isReceiving: boolean, isWell: boolean, Snapshot]>([
  ['a healthy flow', true, true, snapshot()],
  ['a paused chat', true, true, ofShard({ resting })],
  ['a paused chat beside a stuck one', true, false, ofShard({ resting, overdue: overdue(70_000, 1, 1) })],
  ['no answer to a poll for two minutes', false, false, ofPoll({ lastAnswerMs: NOW - 120_000 })],
  ['no receiver', false, false, snapshot({ poll: undefined })],
  ['a first poll without an answer', false, false, first(0)],
])('of %s: whether Telegram is polled is %s, and whether all is well is %s', (_, polled, well, now) => {
  const watch = watchOf(now);
  expect([isReceiving(watch), mayPing(watch, checkRules(watch))]).toEqual([polled, well]);
});
