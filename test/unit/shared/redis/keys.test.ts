import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  chatKey,
  type EntryId,
  fieldOfUpdate,
  jobIdOf,
  keysOf,
  parseChatKey,
  type SessionId,
  shardOf,
  summonsKey,
} from '../../../../shared/redis/keys.ts';
import { forAll } from '../../../fixture/texts.ts';

const chatIds = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -1_999_999_999_999, max: 9_999_999_999 }));
const topicIds = fc.option(fc.integer({ min: 1 }), { nil: undefined });

test('parseChatKey returns the chat and the topic that chatKey was given', () => {
  expect(chatKey(-100_123)).toBe('-100123');
  expect(chatKey(-100_123, 7)).toBe('-100123.7');
  forAll([chatIds, topicIds], (chatId, topicId) => {
    const chat = chatKey(chatId, topicId);
    expect(parseChatKey(chat)).toEqual({ chat, chatId, ...(topicId !== undefined && { topicId }) });
  });
});

test.each([
  ['1001@-100123', { chat: '1001@-100123', chatId: 1001, summonedTo: -100_123 }],
  ['01@02', { chat: summonsKey(1, 2), chatId: 1, summonedTo: 2 }],
  ['007', { chat: '7', chatId: 7 }],
  ['7.09', { chat: '7.9', chatId: 7, topicId: 9 }],
  ...'1@ @1 1@2@3 1@2.3 1.2@3 1@x 1@9007199254740993'.split(' ').map((text) => [text, undefined] as const),
  ...'·-·1.·.1·1.2.3·1.-2·+1·1e3· 1·1 ·9007199254740993·1\n·{1}·*'.split('·').map((text) => [text, undefined] as const),
])('parseChatKey reads %j, as an operator may type it, as %j', (text, parsed) => {
  expect(parseChatKey(text)).toEqual(parsed);
});

// On another shard its session and lane would not be found.
test.each([
  [1001, 1, 1, 807],
  [123_456_789, 0, 1, 556],
  [7_654_321_098, 0, 1, 868],
  [-1_001_234_567_890, 0, 2, 74],
  [0, 1, 0, 63],
])('the shard of chat %d is pinned: %d of 2, %d of 7, %d of 1,000', (chatId, ...shards) => {
  expect([2, 7, 1_000].map((count) => shardOf(chatId, count))).toEqual(shards);
});

test('every chat has one shard in range, and chats are spread evenly over 8 shards', () => {
  forAll([chatIds, fc.integer({ min: 1, max: 10_000 })], (chatId, shards) => {
    const shard = shardOf(chatId, shards);
    expect(Number.isInteger(shard) && shard >= 0 && shard < shards).toBe(true);
    expect(shardOf(chatId, 1)).toBe(0);
  });
  for (const first of [1_001, 5_000_000_000, -1_001_234_560_000]) {
    const counts = new Array<number>(8).fill(0);
    for (let i = 0; i < 8_000; i++) {
      const shard = shardOf(first + i, 8);
      counts[shard] = (counts[shard] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(700);
    expect(Math.max(...counts)).toBeLessThan(1_300);
  }
});

/** Every key of a shard, with arguments that could clash. */
function allKeysOf(shard: number): string[] {
  const keys = keysOf(shard);
  const chat = chatKey(-100, 7);
  const [entry, session] = ['1-0' as EntryId, 's-1' as SessionId];
  const built = [keys.lane(chat), keys.chat(chat), keys.turn(entry), keys.session(session), keys.log(session)];
  const more = [keys.archive(session), keys.admitted('a'), keys.updates(1, 2), keys.follows(1, 2, 3)];
  const others = [keys.written(1, 2, 3), keys.media('s-1', chat), keys.blob('s-1', chat), keys.poller(1)];
  // What all shards have in common is not of a shard.
  const common = new Set<unknown>(Object.values(keysOf(shard + 1)));
  const fixed = Object.entries(keys).flatMap(([name, key]) =>
    typeof key === 'string' && !name.endsWith('Prefix') && !(key && common.has(key)) ? [key] : [],
  );
  return [...fixed, ...built, ...more, ...others];
}

test('all keys of a shard hash to one cluster slot, where a script is atomic, and no two shards share a key', () => {
  for (const shard of [0, 1, 42]) {
    for (const key of allKeysOf(shard)) expect(key).toMatch(new RegExp(`^\\{sw:${shard}\\}:[^{}]+$`));
  }
  const all = [0, 1, 42].flatMap(allKeysOf);
  expect(new Set(all).size).toBe(all.length);
});

test('a key prefix followed by an id is the key that the code builds for that id', () => {
  const keys = keysOf(3);
  expect(`${keys.lanePrefix}5.6`).toBe(keys.lane(chatKey(5, 6)));
  expect(`${keys.chatPrefix}5.6`).toBe(keys.chat(chatKey(5, 6)));
  expect(`${keys.turnPrefix}17-0`).toBe(keys.turn('17-0' as EntryId));
});

test('every update of every bot has a place of its own', () => {
  const { updates } = keysOf(0);
  const places = [1, 2, 12].flatMap((bot) =>
    Array.from({ length: 600 }, (_, update) => `${updates(bot, update)} ${fieldOfUpdate(update)}`),
  );
  expect(new Set(places).size).toBe(places.length);
});

test('every entry has a job id that BullMQ accepts, and no two entries share one', () => {
  const part = fc.oneof(fc.nat(), fc.nat(2));
  const entries = fc.tuple(part, part).map(([ms, n]) => `${ms}-${n}` as EntryId);
  forAll([entries, entries], (a, b) => {
    expect(jobIdOf(a)).not.toContain(':');
    expect(`${Number.parseInt(jobIdOf(a), 10)}`).not.toBe(jobIdOf(a));
    expect(jobIdOf(a) === jobIdOf(b)).toBe(a === b);
  });
});
