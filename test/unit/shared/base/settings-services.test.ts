import { expect, test } from '@jest/globals';
import { type Role, readSettings } from '../../../../shared/base/settings.ts';

const GATEWAY = {
  TELEGRAM_BOT_TOKEN: '123456:AAE-good_token',
  TELEGRAM_ALLOWED_IDS: '1001,-1002',
  TELEGRAM_ALERT_CHAT_ID: '9001',
  ANTHROPIC_API_KEY: 'sk-ant-good',
};

function problemsOf(env: Record<string, string>, role: Role = 'gateway'): string[] {
  const reading = readSettings(env, role);
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
