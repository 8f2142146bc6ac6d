import { expect, test } from '@jest/globals';
import { keysOf, type SessionId } from '../../../../shared/redis/keys.ts';
import { sessionState } from '../../../../shared/state/session/session.ts';
import { forgetLimit, learnLimit, limitFrom } from '../../../../worker/recovery/learnt-limit.ts';

type Refused = Partial<Parameters<typeof limitFrom>[0]['failure']> & { sent?: number; operator?: number };
const sized = (observedTokens: number): Refused => ({ observedTokens, limitTokens: 5_999 });
test.each<[string, Refused[], number, object]>([
  ['is stored if stated for this request', [sized(1_000), sized(6_000)], 5_999, { sessionTokens: 5_999 }],
  ['is 1,000 tokens or more', [{ limitTokens: 1_000, reason: 'bad_request' }], 1_000, { sessionTokens: 1_000 }],
  ['is a guess otherwise', [{ limitTokens: 6_000 }, sized(999), sized(6_001)], 1_800, { sessionTokens: 5_000 }],
  ['is a guess above half of the known one', [{ sent: 9_000 }], 8_100, { sessionTokens: 8_100 }],
  ['stays the same', [{ sent: 1_999 }, { reason: 'bad_request' }, { sent: 9_000, limitTokens: 10_000 }], 10_000, {}],
  ['is a rate, and not stored', [{ sent: 6_000, limitTokens: 5_000, reason: 'rate_below_size' }], 5_000, {}],
  ["does not override the operator's", [{ operator: 4_000, limitTokens: 4_000 }], 4_000, {}],
  ["contradicts the operator's", [{ operator: 4_000, limitTokens: 3_999 }], 3_999, { contradictingTokens: 3_999 }],
  ['is a guess and contradicts no operator', [{ operator: 4_000, limitTokens: 999 }], 1_800, {}],
])('the window that a refusal shows %s', (_, refusals, limitTokens, more) => {
  const limits = refusals.map(({ sent = 2_000, operator, ...numbers }) => {
    const call = { limitTokens: 10_000, sentTokens: sent, askedOutputTokens: 1_000 };
    return limitFrom({ ...call, failure: { reason: 'prompt_too_long', ...numbers } }, 10_000, operator);
  });
  expect(limits).toStrictEqual(refusals.map(() => ({ limitTokens, ...more })));
});

test('a learnt window is stored for a day, the known one for the rest of its day, until more was taken', () => {
  const chat = { keys: keysOf(0), session: 's' as SessionId, limit: { tokens: 9_000, untilMs: 5, of: 'm e' } };
  const settings = { MODEL: 'm', ANTHROPIC_BASE_URL: 'e', CONTEXT_WINDOW_TOKENS: undefined };
  const { learnWindow, forgetWindow } = sessionState(chat.keys, chat.session);
  const learnt = { tokens: 8_000, untilMs: expect.closeTo(Date.now() + 24 * 3_600_000, -5) as never, of: 'm e' };
  expect(learnLimit(chat, settings, { sessionTokens: 8_000 }, chat.limit)).toEqual([learnWindow(learnt)]);
  expect(learnLimit(chat, settings, {}, chat.limit)).toEqual([learnWindow(chat.limit)]);
  expect(forgetLimit(chat, settings, 9_001)).toEqual([forgetWindow()]);
  expect([...learnLimit(chat, settings, {}), ...forgetLimit(chat, settings, 9_000)]).toEqual([]);
  expect(forgetLimit(chat, { ...settings, MODEL: 'other' }, 9_001)).toEqual([]);
});
