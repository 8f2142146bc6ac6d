import { expect, test } from '@jest/globals';
import type { FailureReason } from '../../../../../shared/flow/failure.ts';
import {
  isOfAccount,
  isOverBudget,
  PROVIDER_SAID,
  providerTroubleOf,
} from '../../../../../worker/model/errors/failure.ts';

test.each<[string, string | undefined]>([
  ['overloaded rate_limited server_error', 'overloaded'],
  ['network timeout cut_stream', 'network'],
  ['authentication permission', 'auth'],
  ['billing', 'billing'],
  ['not_found model_unusable', 'model'],
  ['structure paused over_chat_budget', undefined],
])('%s show that the endpoint has trouble: %s', (reasons, trouble) => {
  for (const reason of reasons.split(' ') as FailureReason[]) {
    expect(providerTroubleOf(reason)).toBe(trouble);
    expect(isOfAccount(reason)).toBe(reason === 'authentication' || reason === 'billing');
    expect(isOverBudget(reason)).toBe(reason === 'over_chat_budget');
  }
  expect(isOverBudget(undefined)).toBe(false);
  if (trouble !== undefined)
    expect(Object.entries(PROVIDER_SAID)).toContainEqual([trouble, expect.stringMatching(/\w/)]);
});
