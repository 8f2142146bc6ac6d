import { expect, test } from '@jest/globals';
import { isOurHost } from '../../../../shared/app/health.ts';

const NAMES = new Set(['bot.example.org', 'spillway']);

test.each<[string | undefined, string]>([
  [undefined, 'of a client that is no browser'],
  ['localhost:8080', 'loopback'],
  ['LocalHost.', 'loopback, with a dot'],
  ['127.0.0.1:8080', 'an address'],
  ['[::1]:8080', 'an address'],
  ['10.1.2.3', 'an address'],
  ['Bot.Example.org:443', 'a name of ours'],
  ['spillway:8080', 'a name of ours'],
])('%j is ours: %s', (host) => {
  expect(isOurHost(host, NAMES)).toBe(true);
});

test.each([
  'evil.example',
  'evil.example:8080',
  'localhost.evil.example',
  'bot.example.org.evil.example',
  'localhost@evil.example',
  '127.0.0.1.evil.example',
  'xbot.example.org',
  'spillway2',
  '',
  ':8080',
  'a b',
])('%j is not ours', (host) => {
  expect(isOurHost(host, NAMES)).toBe(false);
});
