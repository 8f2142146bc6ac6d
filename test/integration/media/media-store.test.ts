import { expect, test } from '@jest/globals';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { createMediaStore, mediaId } from '../../../worker/media/store.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { jpegPhoto } from '../../fixture/files.ts';

const DAY_S = 24 * 60 * 60;
const CHAT = chatKey(-1001, 7);

eachWithRedis();

const store = (retentionDays = 90, of = keys) => createMediaStore({ redis, keys: of, retentionDays });
const lastsS = (id: string) => redis.ttl(keys.media(id, CHAT));

test('load returns every byte as it was kept, once however often it is kept, and in its shard alone', async () => {
  const files = [
    Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256)),
    await jpegPhoto(30, 20),
    Buffer.alloc(0),
  ];
  const ids = await Promise.all([...files, ...files].map((file) => store().keep(CHAT, file)));
  expect(ids).toEqual([...files, ...files].map(mediaId));
  const loaded = await store().load(CHAT, ids);
  expect(files.map((file, at) => loaded.get(ids[at] ?? '')?.equals(file))).toEqual([true, true, true]);
  expect(await redis.keys('*')).toHaveLength(files.length);
  expect((await store(90, keysOf(1)).load(CHAT, ids)).size).toBe(0);
});

test('to keep or to load a file restarts its time and never cuts a longer one short; to read it leaves it', async () => {
  const id = await store().keep(CHAT, Buffer.from('a file'), 60);
  expect((await store().read(CHAT, id))?.toString()).toBe('a file');
  expect(await lastsS(id)).toBeLessThanOrEqual(60);
  await store(2).load(CHAT, [id]);
  expect(await lastsS(id)).toBeGreaterThan(2 * DAY_S - 10);
  expect(await lastsS(id)).toBeLessThanOrEqual(2 * DAY_S);
  await store().keep(CHAT, Buffer.from('a file'));
  await store().keep(CHAT, Buffer.from('a file'), 60);
  expect(await lastsS(id)).toBeGreaterThan(90 * DAY_S - 10);
});

test('load omits missing files and invalid ids, returns the rest, and throws where a key holds something else', async () => {
  const id = await store().keep(CHAT, Buffer.from('a file'));
  await redis.set(keys.media('x', CHAT), 'not a file');
  const loaded = await store().load(CHAT, ['f'.repeat(64), 'x', '', id, id.toUpperCase(), `${id}\n`, id, '__proto__']);
  expect([...loaded]).toEqual([[id, Buffer.from('a file')]]);
  expect(await store().load(CHAT, [])).toEqual(new Map());
  await redis.del(keys.media(id, CHAT));
  expect(await store().read(CHAT, id)).toBeUndefined();
  await redis.rpush(keys.media(id, CHAT), 'a list');
  await expect(store().load(CHAT, [id])).rejects.toThrow('WRONGTYPE');
});

test('erase takes all of a chat, in pieces, and nothing of another chat that has the same file', async () => {
  const neighbour = chatKey(-1001, 70);
  const id = await store().keep(neighbour, Buffer.from('file 0'));
  for (let n = 0; n < 2_500; n++) await store().keep(CHAT, Buffer.from(`file ${n}`));
  await store().erase(CHAT);
  await store().erase(CHAT);
  expect(await redis.keys('*')).toEqual([keys.media(id, neighbour)]);
});

test('a supergroup reads and erases what it had as a group, and the group that is no more reads nothing new', async () => {
  const [before, after] = [chatKey(-5), chatKey(-1005)];
  const old = await store().keep(before, Buffer.from('of the group'));
  await redis.hset(keys.chat(after), 'movedFrom', before);
  const fresh = await store().keep(after, Buffer.from('of the supergroup'));
  expect([...(await store().load(after, [old, fresh])).keys()]).toEqual([old, fresh]);
  expect((await store().load(before, [fresh])).size).toBe(0);
  await store().erase(after);
  expect((await store().load(after, [old, fresh])).size).toBe(0);
});
