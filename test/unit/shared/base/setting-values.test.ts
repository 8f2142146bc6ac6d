import { expect, test } from '@jest/globals';
import { GATEWAY, problemsOf, settingsOf } from '../../../fixture/settings.ts';

/** All that webhook and speech need beside the rest, so that each of their values can be judged alone. */
const ALL = {
  ...GATEWAY,
  TELEGRAM_WEBHOOK_URL: 'https://example.org/hook',
  TELEGRAM_WEBHOOK_SECRET: 'a_webhook_secret_of_some_length_1234',
  TRANSCRIPTION_BASE_URL: 'https://example.org/v1',
  TRANSCRIPTION_MODEL: 'whisper-1',
};
const taken = (name: string, value: string) => settingsOf({ ...ALL, [name]: value })[name as 'TZ'] as unknown;

const LONG = 'x'.repeat(32);
const SECRET = 'as `openssl rand -hex 32` makes them';
const DIFFERENT = `expected 8 different characters or more, ${SECRET}`;
const LENGTH = `expected 32 to 256 characters without spaces, ${SECRET}`;
const HOSTS = 'expected names of hosts without ports, comma separated';
const DOLLARS = 'expected dollars, such as 25 or 0.5; 0 is no limit';
const NUMBERS = ['0', '-1', '+1', '1.5', 'abc', '1e3', '0x10', '01', '1_000', ' 5', '5 ', '9'.repeat(16), '٣'];
const MONEY = '-1 1e9 ten $5 1,5 .5 5. NaN Infinity 1234567 0.0000001'.split(' ');

test.each<[string, string[], string | RegExp]>([
  ['MAX_OUTPUT_TOKENS', NUMBERS, /expected .*positive integer/],
  ['TURN_TIMEOUT_MS', NUMBERS, /expected .*(?:positive integer|milliseconds)/],
  ['CHAT_MONTHLY_USD', MONEY, DOLLARS],
  ['SHARDS', ['257'], 'expected at most 256'],
  ['WORKER_CONCURRENCY', ['1001'], 'expected at most 1000'],
  // A timer would end every turn at once.
  ['TURN_TIMEOUT_MS', ['2147483648'], /expected/],
  ['TURN_MAX_MS', ['soon'], /expected /],
  ['HTTP_PORT', ['65536', '-1', '80.5', 'http', '999999'], /expected/],
  [
    'TELEGRAM_ALLOWED_IDS',
    ['1001,', ',', '1001;1002', '@bob', '1e3', '**', 'everyone', '12345678901234567'],
    /expected/,
  ],
  [
    'TELEGRAM_WEBHOOK_URL',
    [
      'http://example.org/hook',
      'http://127.0.0.1.example.org/hook',
      'http://localhost.example.org/hook',
      'https://example.org/healthz',
      'https://example.org/readyz?a=b',
      'https://user:word@example.org/hook',
      'example.org/hook',
      'ftp://example.org/hook',
    ],
    /expected/,
  ],
  [
    'TELEGRAM_WEBHOOK_SECRET',
    ['a', 'x'.repeat(31), 'x'.repeat(257), `${LONG} b`, `${LONG}.`, `${LONG}=`, `${LONG}ä`, `${LONG}\n`],
    `expected 32 to 256 characters of A-Z, a-z, 0-9, _ and -, ${SECRET}`,
  ],
  ['OPERATOR_TOKEN', [LONG], DIFFERENT],
  [
    'OPERATOR_TOKEN',
    ['short-but-varied', 'abcdefghi'.repeat(3), `${'abcdefghi'.repeat(4)} y`, 'abcdefghi'.repeat(29)],
    LENGTH,
  ],
  ['HTTP_ALLOWED_HOSTS', ['spillway:8080', '*', '*.example.org', 'https://bot.example.org', 'a b'], HOSTS],
  ['LOG_LEVEL', ['verbose'], /fatal, error, warn, info, debug, trace.* silent/],
  ['LOG_CONTENT', ['verbose'], /true.* false/],
  ['TRANSCRIPTION_BASE_URL', ['https://user:word@example.org/v1', 'example.org/v1'], /expected/],
  ['TRANSCRIPTION_API_KEY', ['two words', 'schüssel'], /expected/],
])('%s refuses each of %j with one problem, which says what is expected and quotes nothing', (name, values, words) => {
  const problem = typeof words === 'string' ? `${name} is malformed: ${words}` : expect.stringMatching(words);
  for (const value of values) {
    const problems = problemsOf({ ...ALL, [name]: value });
    expect([value, problems]).toEqual([value, [problem]]);
    expect(problems[0]).toMatch(new RegExp(`^${name} `));
    if (value.length > 3) expect(problems[0]).not.toContain(value);
  }
});

test.each<[string, string, unknown]>([
  ['MAX_OUTPUT_TOKENS', '7', 7],
  ['SHARDS', '256', 256],
  ['WORKER_CONCURRENCY', '1000', 1_000],
  ['TURN_TIMEOUT_MS', '2147483647', 2_147_483_647],
  ['HTTP_PORT', '0', 0],
  ['HTTP_PORT', '65535', 65_535],
  ['TELEGRAM_ALLOWED_IDS', ' 5 , -6 ', new Set([5, -6])],
  ['TELEGRAM_ALERT_CHAT_ID', 'none', undefined],
  ['TELEGRAM_ALERT_CHAT_ID', '-100200', -100_200],
  ['TELEGRAM_WEBHOOK_URL', 'https://Example.org:443', 'https://example.org/'],
  ...['http://127.0.0.1:8080/hook', 'http://localhost/hook', 'http://[::1]:8080/a?b=c'].map(
    (url): [string, string, string] => ['TELEGRAM_WEBHOOK_URL', url, url],
  ),
  ...[LONG, 'A-z_09xy'.repeat(4), 'x'.repeat(256)].map((secret): [string, string, string] => [
    'TELEGRAM_WEBHOOK_SECRET',
    secret,
    secret,
  ]),
  ['OPERATOR_TOKEN', '', undefined],
  ['OPERATOR_TOKEN', '0123456789abcdef'.repeat(2), '0123456789abcdef'.repeat(2)],
  ['HTTP_ALLOWED_HOSTS', '', []],
  ['HTTP_ALLOWED_HOSTS', 'spillway, Bot.example.org', ['spillway', 'Bot.example.org']],
  ['HTTP_HOST', '0.0.0.0', '0.0.0.0'],
  ['LOG_LEVEL', 'silent', 'silent'],
  ['LOG_CONTENT', 'true', true],
])('%s takes %j', (name, value, expected) => {
  expect(taken(name, value)).toEqual(expected);
});

test('without an alert chat the problem says that it may be none', () => {
  expect(problemsOf({ ...GATEWAY, TELEGRAM_ALERT_CHAT_ID: '' })).toEqual([expect.stringMatching(/or none$/)]);
});

test.each<[Record<string, string>, number | undefined]>([
  [{}, 1_800_000],
  [{ TURN_TIMEOUT_MS: '3600000' }, 3_600_000],
  [{ TURN_MAX_MS: '1000', TURN_TIMEOUT_MS: '1000' }, 1_000],
  [{ TURN_MAX_MS: '299999' }, undefined],
  [{ TURN_MAX_MS: '1000', TURN_TIMEOUT_MS: '1001' }, undefined],
])('with %j a turn may take %d ms in all, by default no less than TURN_TIMEOUT_MS', (env, expected) => {
  if (expected !== undefined) expect(settingsOf({ ...GATEWAY, ...env }).TURN_MAX_MS).toBe(expected);
  else
    expect(problemsOf({ ...GATEWAY, ...env })).toEqual(['TURN_MAX_MS is too short: expected at least TURN_TIMEOUT_MS']);
});
