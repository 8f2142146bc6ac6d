import type { FailureReason } from './errors/failure.ts';

/** Why an endpoint does not answer, in an operator's categories. */
export type ProviderTrouble = 'overloaded' | 'network' | 'auth' | 'billing' | 'model';

/** The operator's text for each, after "the model endpoint". */
export const PROVIDER_SAID: Readonly<Record<ProviderTrouble, string>> = {
  overloaded: 'is overloaded or fails',
  network: 'cannot be reached, or breaks off',
  auth: 'does not accept our key',
  billing: 'refuses us for billing: the credit is used up',
  model: 'does not know the model',
};

const OF_REASON: Readonly<Partial<Record<FailureReason, ProviderTrouble>>> = {
  overloaded: 'overloaded',
  rate_limited: 'overloaded',
  server_error: 'overloaded',
  network: 'network',
  timeout: 'network',
  cut_stream: 'network',
  authentication: 'auth',
  permission: 'auth',
  billing: 'billing',
  not_found: 'model',
};

/** What a failure shows about the endpoint; `undefined` when it is about one request, or no call was made. */
export function providerTroubleOf(reason: FailureReason): ProviderTrouble | undefined {
  return OF_REASON[reason];
}
