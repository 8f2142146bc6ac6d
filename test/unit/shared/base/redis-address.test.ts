import { expect, test } from '@jest/globals';
import { redisAddressOf, socketPath, socketUrl } from '../../../../shared/base/redis-address.ts';
import { readSettings, type SettingsReading } from '../../../../shared/base/settings.ts';

function read(env: Record<string, string>): SettingsReading {
  return readSettings(env, 'tool');
}

function addressOf(env: Record<string, string>) {
  const reading = read(env);
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return redisAddressOf(reading.settings);
}

function problemsOf(nodes: string): string[] {
  const reading = read({ REDIS_CLUSTER_NODES: nodes });
  return reading.ok ? [] : reading.problems;
}

test('the Redis address is a server, a list of cluster nodes, or undefined if neither is set', () => {
  expect(addressOf({})).toBeUndefined();
  expect(addressOf({ REDIS_URL: 'redis://host:6379' })).toBe('redis://host:6379');
  expect(addressOf({ REDIS_CLUSTER_NODES: 'a.example.org:7000, 10.0.0.2:7001,[fd00::3]:7002' })).toEqual([
    'redis://a.example.org:7000',
    'redis://10.0.0.2:7001',
    'redis://[fd00::3]:7002',
  ]);
});

test('REDIS_URL may name a socket, by its whole path', () => {
  const url = 'unix:///run/redis/a%20b.sock';
  expect(addressOf({ REDIS_URL: url })).toBe(url);
  expect(socketPath(url)).toBe('/run/redis/a b.sock');
  expect(socketUrl('/run/redis/a b.sock')).toBe(url);
  const other = [
    'unix://host/redis.sock',
    'unix:redis.sock',
    'unix:///a?db=1',
    'unix:///a#b',
    'unix:///a%2Fb',
    'unix:///%zz',
  ];
  for (const bad of [...other, 'http://host', 'host:6379', '/run/redis.sock'])
    expect([bad, read({ REDIS_URL: bad })]).toMatchObject([
      bad,
      { ok: false, problems: [expect.stringMatching(/^REDIS_URL is malformed: expected redis:.* or unix:/)] },
    ]);
});

test('cluster nodes with TLS or a password are URLs and must share scheme, user and password', () => {
  const nodes = ['rediss://user:p%2Css@a:7000', 'rediss://user:p%2Css@b:7000/'];
  expect(addressOf({ REDIS_CLUSTER_NODES: nodes.join(',') })).toEqual(nodes);
  for (const other of ['b:7000', 'redis://user:p%2Css@b:7000', 'rediss://b:7000', 'rediss://user:other@b:7000'])
    expect([other, problemsOf(`${nodes[0]},${other}`)]).toEqual([other, [expect.stringMatching(/same scheme, user/)]]);
});

test.each([
  'localhost',
  'a:7000,',
  'a:7000;b:7000',
  'a:7000 b:7000',
  'a:0',
  'a:65536',
  ':7000',
  '[::1:7000',
  '[:::::]:7000',
  'http://a:7000',
  'redis://a',
  'redis://a:7000/1',
  'redis://a:7000?family=6',
  'redis://user:100%@a:7000',
  'redis://user:%ff@a:7000',
])('refuses %s as REDIS_CLUSTER_NODES and does not quote it', (nodes) => {
  const problems = problemsOf(nodes);
  expect(problems).toEqual([expect.stringMatching(/^REDIS_CLUSTER_NODES is malformed: expected nodes of a cluster/)]);
  expect(problems.join()).not.toContain(nodes);
});

test('refuses REDIS_URL together with REDIS_CLUSTER_NODES: only one can hold the data', () => {
  expect(read({ REDIS_URL: 'redis://a:6379', REDIS_CLUSTER_NODES: 'a:7000' })).toMatchObject({
    ok: false,
    problems: ['REDIS_URL and REDIS_CLUSTER_NODES are set: only one of them can hold the data'],
  });
});

test('warns about one shard on a cluster: it cannot be spread later', () => {
  const reading = (shards: string) => read({ REDIS_CLUSTER_NODES: 'a:7000', SHARDS: shards });
  expect(reading('1')).toMatchObject({ ok: true, warnings: [expect.stringMatching(/^SHARDS is 1, so all data/)] });
  expect(reading('6')).toMatchObject({ ok: true, warnings: [] });
  expect(read({ REDIS_URL: 'redis://a:6379' })).toMatchObject({ ok: true, warnings: [] });
});

const SENTINELS = { REDIS_SENTINELS: 'a:26379, b:26379', REDIS_SENTINEL_MASTER: 'Main.1' };

test('the Redis address can be a master behind sentinels, each with its own scheme and credentials', () => {
  const sentinels = ['redis://a:26379', 'redis://b:26379'];
  expect(addressOf(SENTINELS)).toEqual({ sentinels, master: 'redis://Main.1' });
  const guarded = {
    REDIS_SENTINELS: 'rediss://:watcher@a:26379',
    REDIS_SENTINEL_MASTER: 'rediss://user:p%2Css@main',
  };
  expect(addressOf(guarded)).toEqual({
    sentinels: [guarded.REDIS_SENTINELS],
    master: guarded.REDIS_SENTINEL_MASTER,
  });
});

test.each<[Record<string, string>, RegExp]>([
  [{ ...SENTINELS, REDIS_SENTINELS: 'a' }, /^REDIS_SENTINELS is malformed: expected sentinels/],
  [
    { ...SENTINELS, REDIS_SENTINELS: 'a:1,redis://:secret@b:2' },
    /^REDIS_SENTINELS is malformed: all must have the same/,
  ],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'a b' }, /^REDIS_SENTINEL_MASTER is malformed: expected the name/],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'main:6379' }, /^REDIS_SENTINEL_MASTER is malformed: expected the name/],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'redis://:100%@main' }, /^REDIS_SENTINEL_MASTER is malformed: expected/],
  [{ REDIS_SENTINELS: 'a:26379' }, /^REDIS_SENTINEL_MASTER is required: the name/],
  [{ REDIS_SENTINEL_MASTER: 'main' }, /^REDIS_SENTINELS is required: where the sentinels are/],
  [{ ...SENTINELS, REDIS_URL: 'redis://a' }, /^REDIS_URL and REDIS_SENTINELS are set: only one/],
  [
    { ...SENTINELS, REDIS_URL: 'redis://a', REDIS_CLUSTER_NODES: 'a:1' },
    /^REDIS_URL and REDIS_SENTINELS and REDIS_CLUSTER_NODES are set: only one/,
  ],
])('%j is refused with one problem, which quotes no secret', (env, problem) => {
  const reading = read(env);
  expect(reading).toMatchObject({ ok: false, problems: [expect.stringMatching(problem)] });
  expect(JSON.stringify(reading)).not.toContain('secret');
});

test('REDIS_ACCEPT takes volatile and unlimited, in any order, and nothing else', () => {
  const accepted = (env: Record<string, string>) => {
    const reading = read(env);
    return reading.ok ? reading.settings.REDIS_ACCEPT : reading.problems;
  };
  expect(accepted({})).toEqual([]);
  expect(accepted({ REDIS_ACCEPT: 'unlimited, volatile' })).toEqual(['unlimited', 'volatile']);
  expect(accepted({ REDIS_ACCEPT: 'volatile,evicting' })).toEqual([
    'REDIS_ACCEPT is malformed: expected volatile or unlimited, or both, comma separated',
  ]);
});
