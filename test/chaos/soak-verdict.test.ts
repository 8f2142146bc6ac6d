import { expect, test } from '@jest/globals';
import { type EntryId, jobIdOf, keysOf, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { type Census, type Family, familyTeller, type Size } from './census.ts';
import type { Sample } from './sample.ts';
import { growing, type Use } from './soak-verdict.ts';

const CHATS = 3;
const BOT = 77;

const family = (name: string, purpose: Family['purpose'], lasts = true): Family => ({ name, purpose, lasts });

const size = (of: Family, keys: number, bytes: number, withoutTtl = 0): Size => ({
  family: of,
  keys,
  bytes,
  withoutTtl,
});

const ENTRIES = family('entries of the stream', 'under way');
const LOGS = family('logs of sessions', 'kept of a session');
const TURNS = family('turns', 'kept', false);
const QUEUE = family("queue's own", 'single');

/** After so many messages: 3,000 bytes of conversation and 1,000 of a turn each. */
const census = (settled: number, ...more: Size[]): Census => ({
  settled,
  sizes: [
    size(LOGS, CHATS, settled * 3_000, CHATS),
    size(TURNS, settled, settled * 1_000),
    size(ENTRIES, 1, 700, 1),
    size(QUEUE, 3, 280, 2),
    ...more,
  ],
});

const sample = (seconds: number, more: Partial<Sample> = {}): Sample => ({
  seconds,
  asked: 0,
  waiting: 0,
  settled: 0,
  gatewayMb: 200,
  gatewayHandles: 50,
  redisMb: 4,
  redisKeys: 100,
  unanswered: 0,
  ...more,
});

const SECONDS = [0, 10, 20, 30, 40, 50, 60, 70];

const use = (more: Partial<Use> = {}): Use => ({
  samples: SECONDS.map((seconds) => sample(seconds)),
  censuses: [census(0), census(100), census(500), census(1_000)],
  chats: CHATS,
  ...more,
});

/** The same run, but at its end Redis holds something else. */
const endingWith = (...sizes: Size[]): Use =>
  use({ censuses: [census(0), census(100), census(500), { settled: 1_000, sizes }] });

const KEPT = [size(LOGS, CHATS, 3_000_000, CHATS), size(TURNS, 1_000, 1_000_000)];

test('reports no growth when the same amount is kept for each message, with a TTL or in a session', () => {
  expect(growing(use())).toEqual([]);
});

test.each<[string, Use, RegExp]>([
  ['an entry remains', endingWith(...KEPT, size(ENTRIES, 1, 1_400, 1)), /entries of the stream: 1 keys of 1400 bytes/],
  ['a lane remains', endingWith(...KEPT, size(family('lanes', 'under way'), 1, 90, 1)), /lanes: 1 keys/],
  ['a turn has no TTL', endingWith(...KEPT, size(TURNS, 1, 500, 1)), /turns: 1 keys have no TTL/],
  ['a session that no chat uses has no TTL', endingWith(...KEPT, size(LOGS, 9, 900, CHATS + 1)), /4 keys have no TTL/],
  [
    'a key is of an unknown family',
    endingWith(...KEPT, size(family('x', 'unknown'), 1, 1)),
    /x: nobody knows this key/,
  ],
  [
    'too many bytes are kept for each message',
    use({ censuses: [census(0), census(100), census(500, size(LOGS, 1, 3e6)), census(1_000, size(LOGS, 1, 6e6))] }),
    /^10000 bytes are kept of a message/,
  ],
  [
    'later messages leave more bytes than earlier ones',
    use({ censuses: [census(0), census(100), census(500), census(1_000, size(LOGS, 1, 600_000))] }),
    /second half leaves 5200 bytes, and one of the first 4000/,
  ],
  ["the shard's own keys grow", endingWith(...KEPT, size(QUEUE, 1, 5_000_000)), /the shard itself have 5000000 bytes/],
  [
    'memory grows',
    use({ samples: SECONDS.map((seconds) => sample(seconds, { gatewayMb: 150 + 2 * seconds })) }),
    /memory \(MB\) went from 200.0 to 280.0/,
  ],
  [
    'handles grow',
    use({ samples: SECONDS.map((seconds) => sample(seconds, { gatewayHandles: 20 + seconds })) }),
    /handles went from 45.0 to 85.0/,
  ],
  ['fewer than two censuses were taken', use({ censuses: [census(0)] }), /was not looked at/],
])('reports a run in which %s', (_what, used, seen) => {
  expect(growing(used)).toEqual([expect.stringMatching(seen)]);
});

test('ignores memory growth while the gateway warms up', () => {
  const samples = SECONDS.map((seconds) => sample(seconds, { gatewayMb: seconds < 20 ? 90 : 200 }));
  expect(growing(use({ samples }))).toEqual([]);
});

test('familyTeller maps a key to its family', () => {
  const keys = keysOf(0);
  const familyOf = familyTeller(keys, BOT);
  expect(familyOf(keys.inbound).purpose).toBe('under way');
  expect(familyOf(keys.updates(BOT, 501)).name).toBe('updates seen');
  expect(familyOf(`${keys.lanePrefix}1001`).name).toBe('lane of a chat');
  expect(familyOf(`${keys.turnPrefix}1-0`)).toMatchObject({ name: 'turns', lasts: false });
  expect(familyOf(`${keys.queuePrefix}:${TURNS_QUEUE}:${jobIdOf('1-0' as EntryId)}:lock`).name).toBe('jobs');
  expect(familyOf('elsewhere').purpose).toBe('unknown');
});

const SPELLED = Object.entries(keysOf(0)).filter(([name]) => name !== 'queuePrefix');

test.each(SPELLED)('the key %s belongs to a known family', (_name, spelled) => {
  const key = typeof spelled === 'string' ? spelled : (spelled as (...given: unknown[]) => string)(BOT, BOT);
  expect(familyTeller(keysOf(0), BOT)(key).purpose).not.toBe('unknown');
});
