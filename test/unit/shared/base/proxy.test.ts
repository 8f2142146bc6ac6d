import { expect, test } from '@jest/globals';
import { proxyOf } from '../../../../shared/base/proxy.ts';

test('this machine and the hosts of NO_PROXY are reached without the proxy', () => {
  const loopback = 'localhost,127.0.0.1,::1,[::1]';
  const HTTPS_PROXY = 'http://proxy:3128';
  expect(proxyOf({ HTTPS_PROXY })).toEqual({ HTTPS_PROXY, NO_PROXY: loopback });
  expect(proxyOf({ HTTPS_PROXY, NO_PROXY: 'redis.internal' })).toEqual({
    HTTPS_PROXY,
    NO_PROXY: `redis.internal,${loopback}`,
  });
  expect(proxyOf({ HTTPS_PROXY, NODE_USE_ENV_PROXY: '0' })).toBeUndefined();
  expect(proxyOf({ NO_PROXY: 'redis.internal' })).toBeUndefined();
});
