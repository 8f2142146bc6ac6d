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

test.each<[string, () => unknown]>([
  ['whose settings were changed', () => redis.config('SET', 'maxmemory', '100mb')],
  ['whose users were changed', () => redis.call('ACL', 'SETUSER', 'guest')],
  ['that was started again', () => first.restart()],
  ['that was killed', () => first.kill9()],
  ['to which somebody is still connected', () => redis.ping()],
])('a server %s is lent to nobody else', async (what, change) => {
  await change();
  const { pid } = first;
  if (!what.includes('connected')) redis.disconnect();
  await first.stop();
  expect((await next()).pid).not.toBe(pid);
});
