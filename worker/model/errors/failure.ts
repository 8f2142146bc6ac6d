import type { FailureReason } from '../../../shared/flow/failure.ts';
import type { ProviderTrouble } from '../../../shared/state/provider/provider.ts';
/** The kind of a failure, which decides most of the reaction (`docs/recovery.md`). */
export type FailureKind =
  | 'token'
  | 'fit'
  | 'wire'
  | 'media'
  | 'poison'
  /** An answer that was cut before its first word. */
  | 'output'
  /** The model declined. */
  | 'refusal'
  /** A 4xx whose cause is uncertain: the history, the message, the fixed parts or the endpoint. */
  | 'unknown'
  | 'transient'
  /** The model cannot be used here, but another model may be usable. */
  | 'model'
  /** The key is not accepted, or the credit is used up. */
  | 'terminal';

/** The facts about a failed model call. A field is absent if the error does not state it. */
export interface Failure {
  kind: FailureKind;
  reason: FailureReason;
  status?: number;
  /** The size of the request by the provider's count or, before a call, by our own; for `fit` the size of the input alone. */
  observedTokens?: number;
  /** The window or rate limit that the request exceeds, as stated or as assumed; never an output limit. */
  limitTokens?: number;
  /** The `max_tokens` part of a request that does not fit. */
  outputTokens?: number;
  path?: { message: number; block?: number };
  /** The rule that the request breaks; only for `invalid_request`. */
  rule?: string;
  /** The tool that the error names, if the error is about one of the request's tools. */
  tool?: string;
  /** The stated limit of input tokens per minute; only for `rate_limited`. */
  rateTokens?: number;
  /** The wait that the provider asks for, an hour at most; only for `transient`. */
  retryAfterMs?: number;
  /** A wait of more than an hour that the provider asks for. Such a wait is not obeyed, and the operator is alerted. */
  longWaitMs?: number;
  /** The used-up budget and the time at which it resets; only for a reason `over_…`. */
  budget?: { whose: 'chat' | 'person' | 'total'; period: 'day' | 'month'; againMs: number };
  requestId?: string;
  /** Set if the fallback model declined the same request, too. */
  isSeconded?: true;
}

/** The kind and the reason of a failure. */
export type FailureClass = Pick<Failure, 'kind' | 'reason'>;

/** Whether a failure is about the key or the credit, so that neither the request nor the history is the cause. */
export function isOfAccount(reason: FailureReason): boolean {
  return reason === 'authentication' || reason === 'billing';
}

/** Whether a failure means that a budget is used up. */
export function isOverBudget(reason: string | undefined): boolean {
  return reason?.startsWith('over_') === true;
}

/** The text for operators about each trouble, which follows the words "the model endpoint". */
export const PROVIDER_SAID: Readonly<Record<ProviderTrouble, string>> = {
  overloaded: 'is overloaded or failing',
  network: 'cannot be reached, or drops connections',
  auth: 'does not accept our API key',
  billing: 'refuses us because the credit is used up',
  model: 'does not know the model, or does not let us use it',
};

const REASONS: Readonly<Record<ProviderTrouble, readonly FailureReason[]>> = {
  overloaded: ['overloaded', 'rate_limited', 'server_error'],
  network: ['network', 'timeout', 'cut_stream'],
  auth: ['authentication', 'permission'],
  billing: ['billing'],
  model: ['not_found', 'model_unusable'],
};

/** The endpoint's trouble behind a failure; `undefined` if the failure is about one request, or no call was made. */
export function providerTroubleOf(reason: FailureReason): ProviderTrouble | undefined {
  return (Object.keys(REASONS) as ProviderTrouble[]).find((trouble) => REASONS[trouble].includes(reason));
}
