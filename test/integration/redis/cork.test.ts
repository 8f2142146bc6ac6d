import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { PrivateRedis } from '../../../shared/private-redis/server.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { lentRedis } from '../../fixture/lent-redis.ts';

let server: PrivateRedis;
let redis: Redis;

beforeEach(async () => {
  server = await lentRedis();
  redis = connectRedis(server.url, 'patient');
  await redis.ping();
});

afterEach(async () => {
  redis.disconnect();
  await server.stop();
});

const socketOf = (connection: Redis): Duplex => (connection as unknown as { stream: Duplex }).stream;

async function expectOneWrite(): Promise<void> {
  await nextTick();
  const socket = socketOf(redis);
  const replies = Promise.all([redis.set('a', 1), redis.get('a'), redis.del('a')]);
  const held = { corks: socket.writableCorked, bytes: socket.writableLength };
  expect(held.corks).toBe(1);
  expect(held.bytes).toBeGreaterThan('set a 1 get a del a'.length);
  await nextTick();
  expect(socket.writableCorked).toBe(0);
  expect(await replies).toEqual(['OK', '1', 1]);
}

test('the commands of one tick are one write to the socket, and each gets its reply', async () => {
  await expectOneWrite();
});

test('so are they on the socket of a new connection', async () => {
  const before = socketOf(redis);
  redis.disconnect(true);
  await once(redis, 'ready');
  expect(socketOf(redis)).not.toBe(before);
  await expectOneWrite();
});

test('what was held back when a connection is closed in order is sent before it closes', async () => {
  const stored = redis.set('last', 'word');
  const closed = redis.quit();
  expect([await stored, await closed]).toEqual(['OK', 'OK']);
});
