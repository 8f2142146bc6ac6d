import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { lentRedis } from '../../fixture/lent-redis.ts';
import type { ListeningRedis } from '../../fixture/redis.ts';

let first: ListeningRedis;
let redis: Redis;

beforeEach(async () => {
  first = await lentRedis();
  redis = new Redis(first.url);
});
afterEach(() => redis.disconnect());

/** The process id of the server that the next test would get, with how much it holds. */
async function next(): Promise<{ pid: number; keys: number }> {
  const server = await lentRedis();
  const look = new Redis(server.url);
  const found = { pid: server.pid, keys: await look.dbsize() };
  look.disconnect();
  await server.stop();
  return found;
}

test('a server that was given back as it was is lent again, without data', async () => {
  await redis.set('key', 'value');
  redis.disconnect();
  await first.stop();
  expect(await next()).toEqual({ pid: first.pid, keys: 0 });
});

test.each<[string, () => Promise<unknown>]>([
  ['whose settings were changed', () => redis.config('SET', 'maxmemory', '100mb')],
  ['whose users were changed', () => redis.call('ACL', 'SETUSER', 'guest')],
  ['that was started again', () => first.restart()],
])('a server %s is lent to nobody else', async (_, change) => {
  await change();
  const { pid } = first;
  redis.disconnect();
  await first.stop();
  expect((await next()).pid).not.toBe(pid);
});

test('a server to which somebody is still connected is lent to nobody else', async () => {
  await redis.ping();
  await first.stop();
  expect((await next()).pid).not.toBe(first.pid);
});

test('a killed server is lent to nobody else', async () => {
  first.kill9();
  await first.stop();
  expect((await next()).keys).toBe(0);
});
