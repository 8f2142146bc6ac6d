import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { PrivateRedis } from '../../shared/private-redis/server.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { createMediaStore, mediaId } from '../../worker/media/store.ts';
import { jpegPhoto } from '../fixture/files.ts';
import { freshRedis } from '../fixture/redis.ts';

const DAY_S = 24 * 60 * 60;
const keys = keysOf(0);

let server: PrivateRedis;
let redis: Redis;

beforeAll(async () => {
  server = await freshRedis();
  redis = connectRedis(server.url, 'patient');
});

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

beforeEach(() => redis.flushall());

test('load returns every byte as it was kept, binary files included', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
  const files = [bytes, await jpegPhoto(30, 20), Buffer.alloc(0), Buffer.alloc(5_000_000, 7)];
  const ids = await Promise.all(files.map((file) => store.keep(file)));
  expect(ids).toEqual(files.map(mediaId));
  const loaded = await store.load(ids);
  expect(files.map((file, at) => loaded.get(ids[at] ?? '')?.equals(file))).toEqual([true, true, true, true]);
});

test('a file kept twice is stored once, in its shard, and its TTL restarts', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(Buffer.from('a file'));
  await redis.expire(keys.media(id), 60);
  expect(await store.keep(Buffer.from('a file'))).toBe(id);
  expect(await redis.keys('*')).toEqual([`{sw:0}:media:${id}`]);
  expect(await redis.ttl(keys.media(id))).toBeGreaterThan(90 * DAY_S - 10);
  expect((await createMediaStore({ redis, keys: keysOf(1), retentionDays: 90 }).load([id])).size).toBe(0);
});

test('keeping for a time never cuts a longer one short, and reading leaves it as it is', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(Buffer.from('a file'), 60);
  expect((await store.read(id))?.toString()).toBe('a file');
  expect(await redis.ttl(keys.media(id))).toBeLessThanOrEqual(60);
  await store.keep(Buffer.from('a file'));
  await store.keep(Buffer.from('a file'), 60);
  expect(await redis.ttl(keys.media(id))).toBeGreaterThan(90 * DAY_S - 10);
  expect(await store.read('0'.repeat(64))).toBeUndefined();
});

test('load restarts the TTL of a file', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 2 });
  const id = await store.keep(Buffer.from('a file'));
  await redis.expire(keys.media(id), 60);
  await store.load([id]);
  const left = await redis.ttl(keys.media(id));
  expect(left).toBeGreaterThan(2 * DAY_S - 10);
  expect(left).toBeLessThanOrEqual(2 * DAY_S);
});

test('load omits missing files and invalid ids, and returns the rest', async () => {
  const store = createMediaStore({ redis, keys, retentionDays: 90 });
  const id = await store.keep(Buffer.from('a file'));
  await redis.set(keys.media('x'), 'not a file');
  const loaded = await store.load(['f'.repeat(64), 'x', '', id, id.toUpperCase(), `${id}\n`, id, '__proto__']);
  expect([...loaded]).toEqual([[id, Buffer.from('a file')]]);
  expect(await store.load([])).toEqual(new Map());
});

test('load throws WRONGTYPE when a key holds something other than a file', async () => {
  const id = mediaId(Buffer.from('a file'));
  await redis.rpush(keys.media(id), 'a list');
  await expect(createMediaStore({ redis, keys, retentionDays: 90 }).load([id])).rejects.toThrow('WRONGTYPE');
});
