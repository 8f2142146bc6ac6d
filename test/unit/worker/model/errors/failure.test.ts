import { expect, test } from '@jest/globals';
import { classify } from '../../../../../worker/model/errors/classify.ts';
import {
  type Failure,
  type FailureReason,
  isOfAccount,
  isOverBudget,
  providerTroubleOf,
} from '../../../../../worker/model/errors/failure.ts';

test('reads a failure wherever errors keep one, and no more than they say', () => {
  const failed = { kind: 'transient', reason: 'server_error', status: 503 };
  for (const key of 'error body response data detail details cause errors responseBody $metadata 0'.split(' '))
    expect(classify({ [key]: { status: 503 } })).toEqual(failed);
  for (const key of 'status statusCode status_code httpStatus httpStatusCode code'.split(' '))
    for (const status of [503, '503']) expect(classify({ [key]: status })).toEqual(failed);
  for (const key of 'message description reason msg'.split(' '))
    expect(classify({ [key]: 'prompt is too long' })).toEqual({ kind: 'token', reason: 'prompt_too_long' });
  for (const key of 'name type code error_code __type'.split(' '))
    expect(classify({ [key]: 'overloaded_error', message: 'Sorry' })).toMatchObject({ reason: 'overloaded' });
  for (const id of [{ requestID: 'r' }, { request_id: 'r' }, { requestID: '', headers: { 'request-id': 'r' } }])
    expect(classify({ status: 503, ...id })).toEqual({ ...failed, requestId: 'r' });
  expect(classify({ status: 400, message: 'messages.3.content.1: no' })).toHaveProperty('path', {
    message: 3,
    block: 1,
  });
  expect(classify({ status: 400, message: 'messages[3]: no' })).toHaveProperty('path', { message: 3 });
  expect(classify({ status: 599 })).toHaveProperty('status', 599);
  const said =
    'wait a bit:rate_limited·took too long:timeout·premature close:cut_stream·aborted:aborted·enotfound:network';
  for (const [words, reason] of `${said}·is down:server_error· :unknown`.split('·').map((each) => each.split(':')))
    expect(classify(words)).toEqual({ kind: 'transient', reason });
  expect(classify({ status: 600 })).toEqual({ kind: 'transient', reason: 'unknown' });
});

test.each<[object, Partial<Failure>]>([
  [{ headers: { 'anthropic-ratelimit-input-tokens-limit': '30000' } }, { rateTokens: 30_000 }],
  [{ headers: { 'anthropic-ratelimit-input-tokens-limit': '0' } }, {}],
  [{ message: 'rate limit of 30,000 input tokens per minute' }, { rateTokens: 30_000 }],
  [{ message: 'tokens per min (TPM): Limit 30000' }, { rateTokens: 30_000 }],
  [{ message: 'retry after ms: 250' }, { retryAfterMs: 250 }],
  [{ message: 'retry after: 3' }, { retryAfterMs: 3_000 }],
  [{ message: 'Your credit balance is too low, please try again later' }, {}],
  [{ message: 'wait 2h 3m 4s 5ms' }, { longWaitMs: 7_384_005 }],
  [{ headers: { 'retry-after': '3600' } }, { retryAfterMs: 3_600_000 }],
  [{ headers: { 'retry-after': 'Sun, 22 Nov 2026 10:00:00 GMT' } }, {}],
  [{ responseHeaders: { 'retry-after': 3 } }, { retryAfterMs: 3_000 }],
  [{ headers: { 'retry-after-ms': 'x', 'retry-after': 'soon' } }, {}],
])('reads in %j what a throttle states', (error, facts) => {
  expect(classify({ status: 429, ...error })).toEqual({
    kind: 'transient',
    reason: 'rate_limited',
    status: 429,
    ...facts,
  });
});

test.each<[string, string | undefined]>([
  ['overloaded rate_limited server_error', 'overloaded'],
  ['network timeout cut_stream', 'network'],
  ['authentication permission', 'auth'],
  ['billing', 'billing'],
  ['not_found', 'model'],
  ['structure paused over_chat_budget', undefined],
])('%s show that the endpoint has trouble: %s', (reasons, trouble) => {
  for (const reason of reasons.split(' ') as FailureReason[]) {
    expect(providerTroubleOf(reason)).toBe(trouble);
    expect(isOfAccount(reason)).toBe(trouble === 'auth' || trouble === 'billing');
    expect(isOverBudget(reason)).toBe(reason === 'over_chat_budget');
  }
  expect(isOverBudget(undefined)).toBe(false);
});
