import { expect, test } from '@jest/globals';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { createMediaStore, mediaId } from '../../../worker/media/store.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { jpegPhoto } from '../../fixture/files.ts';

const DAY_S = 24 * 60 * 60;
const CHAT = chatKey(-1001, 7);

eachWithRedis();

test('load returns every byte as it was kept, binary files included', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
  const files = [bytes, await jpegPhoto(30, 20), Buffer.alloc(0), Buffer.alloc(5_000_000, 7)];
  const ids = await Promise.all(files.map((file) => store.keep(CHAT, file)));
  expect(ids).toEqual(files.map(mediaId));
  const loaded = await store.load(CHAT, ids);
  expect(files.map((file, at) => loaded.get(ids[at] ?? '')?.equals(file))).toEqual([true, true, true, true]);
});

test('a file kept twice is stored once, in its shard, and its TTL restarts', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(CHAT, Buffer.from('a file'));
  await redis.expire(keys.media(id, CHAT), 60);
  expect(await store.keep(CHAT, Buffer.from('a file'))).toBe(id);
  expect(await redis.keys('*')).toEqual([keys.media(id, CHAT)]);
  expect(await redis.ttl(keys.media(id, CHAT))).toBeGreaterThan(90 * DAY_S - 10);
  expect((await createMediaStore({ redis, keys: keysOf(1), retentionDays: 90 }).load(CHAT, [id])).size).toBe(0);
});

test('keeping for a time never cuts a longer one short, and reading leaves it as it is', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(CHAT, Buffer.from('a file'), 60);
  expect((await store.read(CHAT, id))?.toString()).toBe('a file');
  expect(await redis.ttl(keys.media(id, CHAT))).toBeLessThanOrEqual(60);
  await store.keep(CHAT, Buffer.from('a file'));
  await store.keep(CHAT, Buffer.from('a file'), 60);
  expect(await redis.ttl(keys.media(id, CHAT))).toBeGreaterThan(90 * DAY_S - 10);
  expect(await store.read(CHAT, '0'.repeat(64))).toBeUndefined();
});

test('load restarts the TTL of a file', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 2 });
  const id = await store.keep(CHAT, Buffer.from('a file'));
  await redis.expire(keys.media(id, CHAT), 60);
  await store.load(CHAT, [id]);
  const left = await redis.ttl(keys.media(id, CHAT));
  expect(left).toBeGreaterThan(2 * DAY_S - 10);
  expect(left).toBeLessThanOrEqual(2 * DAY_S);
});

test('load omits missing files and invalid ids, and returns the rest', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(CHAT, Buffer.from('a file'));
  await redis.set(keys.media('x', CHAT), 'not a file');
  const loaded = await store.load(CHAT, ['f'.repeat(64), 'x', '', id, id.toUpperCase(), `${id}\n`, id, '__proto__']);
  expect([...loaded]).toEqual([[id, Buffer.from('a file')]]);
  expect(await store.load(CHAT, [])).toEqual(new Map());
});

test('load throws WRONGTYPE when a key holds something other than a file', async () => {
  const id = mediaId(Buffer.from('a file'));
  await redis.rpush(keys.media(id, CHAT), 'a list');
  await expect(createMediaStore({ redis, keys, retentionDays: 90 }).load(CHAT, [id])).rejects.toThrow('WRONGTYPE');
});

test('a chat reads only what is its own, also where it knows the hash', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(CHAT, Buffer.from('a file'));
  for (const other of [chatKey(-1001), chatKey(-1001, 8), chatKey(-100), chatKey(66)]) {
    expect((await store.load(other, [id])).size).toBe(0);
    expect(await store.read(other, id)).toBeUndefined();
  }
});

test('erase takes all of a chat, in pieces, and nothing of another chat that has the same file', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const neighbour = chatKey(-1001, 70);
  const id = await store.keep(neighbour, Buffer.from('file 0'));
  for (let n = 0; n < 2_500; n++) await store.keep(CHAT, Buffer.from(`file ${n}`));
  await store.erase(CHAT);
  await store.erase(CHAT);
  expect(await redis.keys('*')).toEqual([keys.media(id, neighbour)]);
});

test('a supergroup reads and erases what it had as a group, and the group that is no more reads nothing new', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const [before, after] = [chatKey(-5), chatKey(-1005)];
  const old = await store.keep(before, Buffer.from('of the group'));
  await redis.hset(keys.chat(after), 'movedFrom', before);
  const fresh = await store.keep(after, Buffer.from('of the supergroup'));
  expect([...(await store.load(after, [old, fresh])).keys()]).toEqual([old, fresh]);
  expect((await store.load(before, [fresh])).size).toBe(0);
  await store.erase(after);
  expect((await store.load(after, [old, fresh])).size).toBe(0);
});
