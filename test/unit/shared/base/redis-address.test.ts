import { expect, test } from '@jest/globals';
import { redisAddressOf, socketPath, socketUrl } from '../../../../shared/base/redis-address.ts';
import { problemsOf, settingsOf, warningsOf } from '../../../fixture/settings.ts';

type Env = Record<string, string>;

const SOCKET = 'unix:///run/redis/a%20b.sock';
const NODES = ['rediss://user:p%2Css@a:7000', 'rediss://user:p%2Css@b:7000/'];
const SENTINELS = { REDIS_SENTINELS: 'a:26379, b:26379', REDIS_SENTINEL_MASTER: 'Main.1' };
const GUARDED = {
  REDIS_SENTINELS: 'rediss://:watcher@a:26379',
  REDIS_SENTINEL_MASTER: 'rediss://user:p%2Css@main',
};

test.each<[Env, unknown]>([
  [{}, undefined],
  [{ REDIS_URL: 'redis://host:6379' }, 'redis://host:6379'],
  [{ REDIS_URL: SOCKET }, SOCKET],
  [
    { REDIS_CLUSTER_NODES: 'a.example.org:7000, 10.0.0.2:7001,[fd00::3]:7002' },
    ['redis://a.example.org:7000', 'redis://10.0.0.2:7001', 'redis://[fd00::3]:7002'],
  ],
  [{ REDIS_CLUSTER_NODES: NODES.join(',') }, NODES],
  [SENTINELS, { sentinels: ['redis://a:26379', 'redis://b:26379'], master: 'redis://Main.1' }],
  [GUARDED, { sentinels: [GUARDED.REDIS_SENTINELS], master: GUARDED.REDIS_SENTINEL_MASTER }],
])('%j is the address %j', (env, address) => {
  expect(redisAddressOf(settingsOf(env, 'tool'))).toEqual(address);
});

test('a socket is named by its whole path', () => {
  expect(socketPath(SOCKET)).toBe('/run/redis/a b.sock');
  expect(socketUrl('/run/redis/a b.sock')).toBe(SOCKET);
});

const BAD_URLS =
  'unix://host/redis.sock unix:redis.sock unix:///a?db=1 unix:///a#b unix:///a%2Fb unix:///%zz http://host host:6379 /run/redis.sock';
const BAD_NODES =
  'localhost·a:7000,·a:7000;b:7000·a:7000 b:7000·a:0·a:65536·:7000·[::1:7000·[:::::]:7000·http://a:7000·redis://a·redis://a:7000/1·redis://a:7000?family=6·redis://user:100%@a:7000·redis://user:%ff@a:7000';
const UNEQUAL = 'b:7000 redis://user:p%2Css@b:7000 rediss://b:7000 rediss://user:other@b:7000';

test.each<[Env, RegExp]>([
  ...BAD_URLS.split(' ').map((REDIS_URL): [Env, RegExp] => [
    { REDIS_URL },
    /^REDIS_URL is malformed: expected redis:.* or unix:/,
  ]),
  ...BAD_NODES.split('·').map((REDIS_CLUSTER_NODES): [Env, RegExp] => [
    { REDIS_CLUSTER_NODES },
    /^REDIS_CLUSTER_NODES is malformed: expected nodes of a cluster/,
  ]),
  ...UNEQUAL.split(' ').map((other): [Env, RegExp] => [
    { REDIS_CLUSTER_NODES: `${NODES[0]},${other}` },
    /same scheme, user/,
  ]),
  [{ ...SENTINELS, REDIS_SENTINELS: 'a' }, /^REDIS_SENTINELS is malformed: expected sentinels/],
  [{ ...SENTINELS, REDIS_SENTINELS: 'a:1,redis://:word@b:2' }, /^REDIS_SENTINELS is malformed: all must have the same/],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'a b' }, /^REDIS_SENTINEL_MASTER is malformed: expected the name/],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'main:6379' }, /^REDIS_SENTINEL_MASTER is malformed: expected the name/],
  [{ ...SENTINELS, REDIS_SENTINEL_MASTER: 'redis://:100%@main' }, /^REDIS_SENTINEL_MASTER is malformed: expected/],
  [{ REDIS_SENTINELS: 'a:26379' }, /^REDIS_SENTINEL_MASTER is required: the name/],
  [{ REDIS_SENTINEL_MASTER: 'main' }, /^REDIS_SENTINELS is required: where the sentinels are/],
  [{ REDIS_URL: 'redis://a:6379', REDIS_CLUSTER_NODES: 'a:7000' }, /^REDIS_URL and REDIS_CLUSTER_NODES are set: only/],
  [{ ...SENTINELS, REDIS_URL: 'redis://a' }, /^REDIS_URL and REDIS_SENTINELS are set: only one/],
  [
    { ...SENTINELS, REDIS_URL: 'redis://a', REDIS_CLUSTER_NODES: 'a:1' },
    /^REDIS_URL and REDIS_SENTINELS and REDIS_CLUSTER_NODES are set: only one/,
  ],
  [{ REDIS_ACCEPT: 'volatile,evicting' }, /^REDIS_ACCEPT is malformed: expected volatile or unlimited, or both, comma/],
])('%j is refused with one problem, which quotes no value', (env, problem) => {
  const problems = problemsOf(env, 'tool');
  expect(problems).toEqual([expect.stringMatching(problem)]);
  for (const value of Object.values(env)) if (value.length > 4) expect(problems[0]).not.toContain(value);
});

test('warns about one shard on a cluster: it cannot be spread later', () => {
  const warnings = (env: Env) => warningsOf(env, 'tool');
  const nodes = { REDIS_CLUSTER_NODES: 'a:7000' };
  expect(warnings({ ...nodes, SHARDS: '1' })).toEqual([expect.stringMatching(/^SHARDS is 1, so all data/)]);
  expect([warnings({ ...nodes, SHARDS: '6' }), warnings({ REDIS_URL: 'redis://a:6379' })]).toEqual([[], []]);
});

test('REDIS_ACCEPT takes volatile and unlimited, in any order', () => {
  const accepted = (env: Env) => settingsOf(env, 'tool').REDIS_ACCEPT;
  expect([accepted({}), accepted({ REDIS_ACCEPT: 'unlimited, volatile' })]).toEqual([[], ['unlimited', 'volatile']]);
});
