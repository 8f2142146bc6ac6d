import { expect, test } from '@jest/globals';
import { readSettings, type Settings } from '../../../../shared/base/settings.ts';

const GATEWAY = {
  TELEGRAM_BOT_TOKEN: '123:abc',
  TELEGRAM_ALLOWED_IDS: '1',
  TELEGRAM_ALERT_CHAT_ID: '1',
  ANTHROPIC_API_KEY: 'key',
  TELEGRAM_WEBHOOK_URL: 'https://example.org/hook',
  TELEGRAM_WEBHOOK_SECRET: 'a_webhook_secret_of_some_length_1234',
};

function problemsOf(env: Record<string, string>): string[] {
  const reading = readSettings({ ...GATEWAY, ...env }, 'gateway');
  return reading.ok ? [] : reading.problems;
}

function settingsOf(env: Record<string, string>): Settings {
  const reading = readSettings({ ...GATEWAY, ...env }, 'gateway');
  if (!reading.ok) throw new Error(reading.problems.join('\n'));
  return reading.settings;
}

test('TELEGRAM_WEBHOOK_SECRET takes 32 to 256 characters of A-Z, a-z, 0-9, _ and -, and says how to make them', () => {
  const long = 'x'.repeat(32);
  const problemsWith = (secret: string) => problemsOf({ TELEGRAM_WEBHOOK_SECRET: secret });
  for (const secret of [long, 'A-z_09xy'.repeat(4), 'x'.repeat(256)]) expect(problemsWith(secret)).toEqual([]);
  for (const secret of [
    'a',
    'x'.repeat(31),
    'x'.repeat(257),
    `${long} b`,
    `${long}.`,
    `${long}=`,
    `${long}ä`,
    `${long}\n`,
  ])
    expect([secret, problemsWith(secret)]).toEqual([
      secret,
      [
        'TELEGRAM_WEBHOOK_SECRET is malformed: expected 32 to 256 characters of A-Z, a-z, 0-9, _ and -, as `openssl rand -hex 32` makes them',
      ],
    ]);
});

test('OPERATOR_TOKEN is off unless set, and a short one or one with spaces is refused without being quoted', () => {
  expect(settingsOf({}).OPERATOR_TOKEN).toBeUndefined();
  const varied = '0123456789abcdef'.repeat(2);
  expect(settingsOf({ OPERATOR_TOKEN: varied }).OPERATOR_TOKEN).toBe(varied);
  expect(problemsOf({ OPERATOR_TOKEN: 'x'.repeat(32) })).toEqual([
    'OPERATOR_TOKEN is malformed: expected 8 different characters or more, as `openssl rand -hex 32` makes them',
  ]);
  for (const value of ['short-but-varied', 'abcdefghi'.repeat(3), `${'abcdefghi'.repeat(4)} y`, 'abcdefghi'.repeat(29)])
    expect([value, problemsOf({ OPERATOR_TOKEN: value })]).toEqual([
      value,
      [
        'OPERATOR_TOKEN is malformed: expected 32 to 256 characters without spaces, as `openssl rand -hex 32` makes them',
      ],
    ]);
});

test('HTTP_ALLOWED_HOSTS takes names of hosts, and no ports, patterns or URLs', () => {
  expect(settingsOf({}).HTTP_ALLOWED_HOSTS).toEqual([]);
  expect(settingsOf({ HTTP_ALLOWED_HOSTS: 'spillway, Bot.example.org' }).HTTP_ALLOWED_HOSTS).toEqual([
    'spillway',
    'Bot.example.org',
  ]);
  for (const value of ['spillway:8080', '*', '*.example.org', 'https://bot.example.org', 'a b'])
    expect([value, problemsOf({ HTTP_ALLOWED_HOSTS: value })]).toEqual([
      value,
      ['HTTP_ALLOWED_HOSTS is malformed: expected names of hosts without ports, comma separated'],
    ]);
});

test('the gateway listens on 127.0.0.1 unless HTTP_HOST says otherwise', () => {
  expect(settingsOf({}).HTTP_HOST).toBe('127.0.0.1');
  expect(settingsOf({ HTTP_HOST: '0.0.0.0' }).HTTP_HOST).toBe('0.0.0.0');
});
