import { expect, test } from '@jest/globals';
import { type Role, readConfig } from '../../../../shared/base/config.ts';
import { alertFormat } from '../../../../shared/base/setting.ts';

const GATEWAY = {
  TELEGRAM_BOT_TOKEN: '123456:AAE-good_token',
  TELEGRAM_ALLOWED_IDS: '1001,-1002',
  TELEGRAM_ALERT_CHAT_ID: '9001',
  ANTHROPIC_API_KEY: 'sk-ant-good',
};

function problemsOf(env: Record<string, string>, role: Role = 'gateway'): string[] {
  const reading = readConfig(env, role);
  return reading.ok ? [] : reading.problems;
}

test.each<[string, Record<string, string>, string[]]>([
  ['a URL alone', { TRANSCRIPTION_BASE_URL: 'https://example.org/v1' }, ['TRANSCRIPTION_MODEL']],
  ['a model alone', { TRANSCRIPTION_MODEL: 'whisper-1' }, ['TRANSCRIPTION_BASE_URL']],
  ['a key alone', { TRANSCRIPTION_API_KEY: 'k' }, ['TRANSCRIPTION_BASE_URL', 'TRANSCRIPTION_MODEL']],
  ['a URL and a model', { TRANSCRIPTION_BASE_URL: 'http://127.0.0.1:9/v1', TRANSCRIPTION_MODEL: 'whisper-1' }, []],
])('for speech, %s lacks what is named', (_, over, missing) => {
  const problems = problemsOf({ ...GATEWAY, ...over });
  expect(problems).toEqual(missing.map((name) => expect.stringMatching(new RegExp(`^${name} is required: `))));
  expect(problemsOf({ ...GATEWAY, ...over }, 'producer')).toEqual([]);
});

test.each([
  ['TRANSCRIPTION_BASE_URL', 'https://user:word@example.org/v1'],
  ['TRANSCRIPTION_BASE_URL', 'example.org/v1'],
  ['TRANSCRIPTION_API_KEY', 'two words'],
  ['TRANSCRIPTION_API_KEY', 'schüssel'],
])('a malformed %s is reported by name, without its value: %s', (name, value) => {
  const voice = { TRANSCRIPTION_BASE_URL: 'https://example.org/v1', TRANSCRIPTION_MODEL: 'whisper-1' };
  const problems = problemsOf({ ...GATEWAY, ...voice, [name]: value });
  expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} is malformed: expected`))]);
  expect(problems.join()).not.toContain(value);
});

const PAGERDUTY = 'https://events.eu.pagerduty.com/v2/enqueue';

test.each<[string, Record<string, string>]>([
  ['by the host', { ALERT_WEBHOOK_URL: PAGERDUTY }],
  ['by the host, whatever was chosen', { ALERT_WEBHOOK_URL: PAGERDUTY, ALERT_WEBHOOK_FORMAT: 'slack' }],
  ['as chosen', { ALERT_WEBHOOK_URL: 'https://pages.example/v2', ALERT_WEBHOOK_FORMAT: 'pagerduty' }],
])('PagerDuty, %s, needs a key where alerts are sent', (_, set) => {
  expect(problemsOf({ ...GATEWAY, ...set })).toEqual([expect.stringMatching(/^ALERT_WEBHOOK_KEY is required: /)]);
  expect(problemsOf({ ...GATEWAY, ...set, ALERT_WEBHOOK_KEY: 'k' })).toEqual([]);
  expect(problemsOf({ ...GATEWAY, ...set }, 'producer')).toEqual([]);
});

test.each([
  ['https://hooks.slack.com/services/x', 'pagerduty', 'slack'],
  ['https://events.pagerduty.com/v2/enqueue', 'alertmanager', 'pagerduty'],
  ['https://events.pagerduty.com.example.org/', 'auto', 'slack'],
  ['https://chat.example.org/hooks/x', 'auto', 'slack'],
  ['https://am.example.org/x', 'alertmanager', 'alertmanager'],
] as const)('%s, with %s chosen, takes the format %s', (url, chosen, format) => {
  expect(alertFormat(url, chosen)).toBe(format);
});
