import { expect, test } from '@jest/globals';
import { isOurHost } from '../../../../shared/app/health.ts';

const NAMES = new Set(['bot.example.org', 'spillway']);

// A client that is no browser names none.
test.each([
  undefined,
  ...'localhost:8080 LocalHost. 127.0.0.1:8080 [::1]:8080 10.1.2.3 Bot.Example.org:443 spillway:8080'.split(' '),
])('the host %j is ours', (host) => {
  expect(isOurHost(host, NAMES)).toBe(true);
});

const FOREIGN =
  'evil.example·evil.example:8080·localhost.evil.example·bot.example.org.evil.example·localhost@evil.example·127.0.0.1.evil.example·xbot.example.org·spillway2··:8080·a b';

test.each(FOREIGN.split('·'))('the host %j is not ours', (host) => {
  expect(isOurHost(host, NAMES)).toBe(false);
});
