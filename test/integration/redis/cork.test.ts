import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { eachWithRedis, redis } from '../../fixture/each-redis.ts';

eachWithRedis();

const socketOf = (connection: unknown): Duplex => (connection as { stream: Duplex }).stream;

test('the commands of one tick are one write to the socket, also of a new connection; each gets its reply', async () => {
  await redis.ping();
  const before = socketOf(redis);
  for (const isNew of [false, true]) {
    if (isNew) {
      redis.disconnect(true);
      await once(redis, 'ready');
      expect(socketOf(redis)).not.toBe(before);
    }
    await nextTick();
    const socket = socketOf(redis);
    const replies = Promise.all([redis.set('a', 1), redis.get('a'), redis.del('a')]);
    expect(socket.writableCorked).toBe(1);
    expect(socket.writableLength).toBeGreaterThan('set a 1 get a del a'.length);
    await nextTick();
    expect(socket.writableCorked).toBe(0);
    expect(await replies).toEqual(['OK', '1', 1]);
  }
  // What is held back when a connection is closed in order is sent before it closes.
  expect(await Promise.all([redis.set('last', 'word'), redis.quit()])).toEqual(['OK', 'OK']);
});
