import { expect, test } from '@jest/globals';
import { SESSION_MS, tokenOf } from '../../../../worker/console/login.ts';

const NOW = 1_800_000_000_000;
const token = tokenOf('an-operator-token-of-32-characters');
const other = tokenOf('an-operator-token-of-32-characterz');

test('a session holds until its end, in every process with the same token, and never with another one', () => {
  const session = token.session(NOW);
  const again = tokenOf('an-operator-token-of-32-characters');
  expect([NOW, NOW + SESSION_MS - 1, NOW + SESSION_MS].map((at) => again.isSession(session, at))).toEqual([
    true,
    true,
    false,
  ]);
  expect(other.isSession(session, NOW)).toBe(false);
});

test('a session whose end was moved, or that is no session, is refused', () => {
  const [, signature] = token.session(NOW).split('.');
  for (const forged of [`${NOW + 2 * SESSION_MS}.${signature}`, '', '.', 'x.y', `${NOW}.`, undefined])
    expect([forged, token.isSession(forged, NOW)]).toEqual([forged, false]);
});

test('a form key belongs to one session of one token', () => {
  const [one, two] = [token.session(NOW), token.session(NOW + 1)];
  expect(token.isFormKey(one, token.formKey(one))).toBe(true);
  expect(token.isFormKey(two, token.formKey(one))).toBe(false);
  expect(token.isFormKey(one, other.formKey(one))).toBe(false);
  expect(token.isFormKey(one, '')).toBe(false);
});

test('neither a session nor a form key contains the token', () => {
  const session = token.session(NOW);
  expect(session + token.formKey(session)).not.toContain('operator');
  expect(token.isGiven('an-operator-token-of-32-characters')).toBe(true);
  expect(token.isGiven('an-operator-token-of-32-character')).toBe(false);
});
