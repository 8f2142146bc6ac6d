import { expect, test } from '@jest/globals';
import { readSettings } from '../../../../shared/base/settings.ts';

const SET = {
  TELEGRAM_BOT_TOKEN: '123:abc',
  TELEGRAM_ALLOWED_IDS: '1',
  TELEGRAM_ALERT_CHAT_ID: 'none',
  ANTHROPIC_API_KEY: 'key',
};
const TOO_SHORT = 'TURN_MAX_MS is too short: expected at least TURN_TIMEOUT_MS';

function read(env: Record<string, string>): readonly string[] | number {
  const reading = readSettings({ ...SET, ...env }, 'gateway');
  return reading.ok ? reading.settings.TURN_MAX_MS : reading.problems;
}

test('refuses a TURN_MAX_MS that is shorter than TURN_TIMEOUT_MS', () => {
  expect(read({ TURN_MAX_MS: '299999' })).toEqual([TOO_SHORT]);
  expect(read({ TURN_MAX_MS: '1000', TURN_TIMEOUT_MS: '1001' })).toEqual([TOO_SHORT]);
  expect(read({ TURN_MAX_MS: '1000', TURN_TIMEOUT_MS: '1000' })).toBe(1_000);
  expect(read({ TURN_MAX_MS: 'soon' })).toEqual([expect.stringMatching(/^TURN_MAX_MS is malformed: expected /)]);
});

test('the default of TURN_MAX_MS grows with TURN_TIMEOUT_MS', () => {
  expect(read({})).toBe(1_800_000);
  expect(read({ TURN_TIMEOUT_MS: '3600000' })).toBe(3_600_000);
});
