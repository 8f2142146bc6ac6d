import { expect, test } from '@jest/globals';
import type { PollRecord } from '../../shared/heartbeat.ts';
import type { ChatKey, EntryId } from '../../shared/keys.ts';
import { conditionsOf, isPolled, resolvedBy, type ShardSnapshot, type Snapshot } from '../../worker/watch-rules.ts';

const NOW = 1_800_000_000_000;
const LIMITS = { unansweredMs: 120_000, pollAgeMs: 120_000 };
const QUIET: ShardSnapshot = { shard: 0, unanswered: 0, jobsWaiting: 0, jobsActive: 0 };
const POLLED: PollRecord = { firstMs: NOW - 9_000_000, lastAnswerMs: NOW - 50_000 };

function snapshot(part: Partial<Snapshot> = {}): Snapshot {
  return {
    nowMs: NOW,
    shards: [QUIET],
    poll: POLLED,
    memory: { usedBytes: 900, maxBytes: 0 },
    open: new Map(),
    ...part,
  };
}

const ofShard = (part: Partial<ShardSnapshot>) => snapshot({ shards: [{ ...QUIET, ...part }] });
const ofPoll = (part: Partial<PollRecord>) => snapshot({ poll: { ...POLLED, ...part } });

function found(now: Snapshot, before?: Snapshot, sinceMs = NOW - 9_000_000) {
  return conditionsOf({ now, before, sinceMs, limits: LIMITS });
}

const namesOf = (conditions: readonly { incident: string }[]) => conditions.map(({ incident }) => incident);

function waiting(ageMs: number): Partial<ShardSnapshot> {
  const acceptedMs = NOW - ageMs;
  const entry = `${acceptedMs}-3` as EntryId;
  return { unanswered: 4, oldest: { entry, chat: '-100123.7' as ChatKey, traceId: 'abc123', acceptedMs } };
}

test('a healthy flow has nothing to tell', () => {
  expect(found(snapshot())).toEqual([]);
  expect(found(ofShard({ jobsActive: 3, jobsWaiting: 9, ...waiting(120_000) }), ofShard({ jobsWaiting: 9 }))).toEqual(
    [],
  );
});

test('an unanswered message is told with its chat, its age, how many wait, and its trace', () => {
  const [alert, ...others] = found(ofShard({ shard: 2, ...waiting(135_400) }));
  expect(others).toEqual([]);
  expect(alert).toMatchObject({ incident: 'unanswered-2', by: 'telegram' });
  for (const needed of ['135 seconds', 'Chat -100123.7', '4 messages', 'Trace abc123'])
    expect(alert?.text).toContain(needed);
});

test('jobs that wait are idle only when two checks in a row see none active, or another process saw that', () => {
  const idle = ofShard({ jobsWaiting: 5 });
  expect(found(idle)).toEqual([]);
  expect(found(idle, ofShard({ jobsWaiting: 5, jobsActive: 1 }))).toEqual([]);
  expect(found(idle, snapshot())).toEqual([]);
  expect(found(idle, idle)).toEqual([
    expect.objectContaining({ incident: 'idle-0', text: expect.stringContaining('5 jobs') }),
  ]);
  expect(namesOf(found({ ...idle, open: new Map([['idle-0', NOW - 1]]) }))).toEqual(['idle-0']);
  expect(found(ofShard({ jobsWaiting: 5, jobsActive: 1 }), idle)).toEqual([]);
});

test('silence of the poller is told after two minutes, and never when nothing ever polled here', () => {
  expect(found(snapshot({ poll: undefined }))).toEqual([]);
  expect(found(ofPoll({ lastAnswerMs: NOW - 120_000 }))).toEqual([]);
  const [alert] = found(ofPoll({ lastAnswerMs: NOW - 121_000, otherKind: 'unreached' }));
  expect(alert).toMatchObject({ incident: 'no-poll', text: expect.stringMatching(/121 seconds.*unreached/) });
});

test('a poller that never got an answer is silent from its first try on', () => {
  expect(found(snapshot({ poll: { firstMs: NOW - 119_000 } }))).toEqual([]);
  expect(namesOf(found(snapshot({ poll: { firstMs: NOW - 121_000 } })))).toEqual(['no-poll']);
});

test('a gateway that was off for a night gets its time to poll, and does not close what another has opened', () => {
  const overnight = ofPoll({ lastAnswerMs: NOW - 8 * 3600_000 });
  expect(found(overnight, undefined, NOW - 119_000)).toEqual([]);
  expect(namesOf(found(overnight, undefined, NOW - 121_000))).toEqual(['no-poll']);
  const opened = { ...overnight, open: new Map([['no-poll', NOW - 1_000]]) };
  expect(namesOf(found(opened, undefined, NOW))).toEqual(['no-poll']);
});

test('a webhook that shows no sign of life, or was taken away, is told in words of its own', () => {
  const [silent] = found(ofPoll({ receiver: 'webhook', lastAnswerMs: NOW - 121_000, otherKind: 'undelivered' }));
  expect(silent).toMatchObject({
    incident: 'no-delivery',
    by: 'telegram',
    text: expect.stringMatching(/webhook shows no sign of life for 121 seconds.*undelivered/),
  });
  const [taken] = found(ofPoll({ receiver: 'webhook', conflictMs: NOW - 10_000 }));
  expect(taken).toMatchObject({ incident: 'conflict', text: expect.stringMatching(/webhook was removed.*10 seconds/) });
  const open = new Map([['no-delivery', NOW - 5_000]]);
  expect(resolvedBy([], snapshot({ open }))).toEqual([
    { incident: 'no-delivery', by: 'telegram', text: expect.stringMatching(/^Resolved: the webhook receives/) },
  ]);
});

test('a conflict counts for two minutes', () => {
  expect(namesOf(found(ofPoll({ conflictMs: NOW - 119_000 })))).toEqual(['conflict']);
  expect(found(ofPoll({ conflictMs: NOW - 120_000 }))).toEqual([]);
});

test('a token that is not accepted goes to the log, since Telegram cannot carry it, until one is accepted', () => {
  expect(found(ofPoll({ unauthorizedMs: NOW - 40_000 }))).toEqual([
    expect.objectContaining({ incident: 'token', by: 'log' }),
  ]);
  expect(found(ofPoll({ unauthorizedMs: NOW - 40_000, lastAnswerMs: NOW - 39_000 }))).toEqual([]);
  expect(found(ofPoll({ unauthorizedMs: NOW - 120_000, lastAnswerMs: NOW - 119_999 }))).toEqual([]);
});

test('alerts that wait for two minutes go to the log', () => {
  expect(found(ofShard({ oldestAlertMs: NOW - 120_000 }))).toEqual([]);
  expect(found(ofShard({ oldestAlertMs: NOW - 121_000 }))).toEqual([
    expect.objectContaining({ incident: 'alerts-0', by: 'log', text: expect.stringContaining('121 seconds') }),
  ]);
});

test('memory counts only when it is limited, from 80 % on', () => {
  const of = (usedBytes: number, maxBytes: number) => namesOf(found(snapshot({ memory: { usedBytes, maxBytes } })));
  expect(of(800, 1_000)).toEqual([]);
  expect(of(801, 1_000)).toEqual(['memory']);
  expect(of(10 ** 12, 0)).toEqual([]);
});

test('an incident is over when its condition is, whoever opened it; one of an unknown kind is left alone', () => {
  const open = new Map([
    ['unanswered-0', NOW - 90_000],
    ['unanswered-7', NOW - 30_000],
    ['token', NOW - 1_000],
    ['invented-by-a-newer-version', NOW - 1_000],
  ]);
  const now = { ...ofShard(waiting(200_000)), open };
  expect(resolvedBy(found(now), now)).toEqual([
    { incident: 'unanswered-7', by: 'telegram', text: expect.stringMatching(/^Resolved: .*30 seconds/) },
    { incident: 'token', by: 'log', text: expect.stringMatching(/^Resolved: /) },
  ]);
});

test('messages are taken only when Telegram was polled with success a short while ago', () => {
  const polled = (now: Snapshot) => isPolled({ now, before: undefined, sinceMs: NOW, limits: LIMITS });
  expect(polled(snapshot())).toBe(true);
  expect(polled(ofPoll({ lastAnswerMs: NOW - 120_000 }))).toBe(false);
  expect(polled(snapshot({ poll: undefined }))).toBe(false);
  expect(polled(snapshot({ poll: { firstMs: NOW } }))).toBe(false);
});
