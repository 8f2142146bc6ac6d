/** The reason for a failure, as a stable code for spans, logs and alerts. Reactions depend on the failure's `kind` instead. */
export type FailureReason =
  | 'prompt_too_long'
  /** The request is larger than a rate limit, so waiting cannot help. The model's window is not the limit here. */
  | 'rate_below_size'
  | 'silent_overflow'
  /** Our own count of tokens or bytes exceeded the limit before the call. */
  | 'counted_too_long'
  | 'counted_too_large'
  | 'output_does_not_fit'
  | 'request_too_large'
  | 'media_rejected'
  | 'structure'
  /** No call was made: the request would break a rule of the API, because of a bug in the gateway. */
  | 'invalid_request'
  | 'thinking_signature'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'timeout'
  | 'cut_stream'
  | 'aborted'
  /** No call was made: the model's breaker is open. */
  | 'paused'
  /** No call was made: a budget is used up. */
  | `over_${'chat' | 'person' | 'total'}_budget`
  | 'authentication'
  | 'permission'
  | 'billing'
  /** The endpoint does not know the model, or does not offer it any longer. */
  | 'not_found'
  /** The endpoint knows the model, but does not let this account use it, or cannot use it together with tools. */
  | 'model_unusable'
  | 'refused'
  | 'bad_request'
  /** Thinking used up the allowed output before the first word. */
  | 'cut_before_text'
  | 'unknown';
