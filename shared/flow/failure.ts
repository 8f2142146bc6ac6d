/** A short stable code for spans, logs and alerts. The kind decides what to do, the reason says why. */
export type FailureReason =
  | 'prompt_too_long'
  /** A limit of rates that is smaller than the request: waiting cannot help, but it is no window. */
  | 'rate_below_size'
  | 'silent_overflow'
  /** Our own count said so before the call was made. */
  | 'counted_too_long'
  | 'counted_too_large'
  | 'output_does_not_fit'
  | 'request_too_large'
  | 'media_rejected'
  | 'structure'
  /** No call was made: the request breaks a rule of the API, which is a defect of ours. */
  | 'invalid_request'
  | 'thinking_signature'
  | 'rate_limited'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'timeout'
  | 'cut_stream'
  | 'aborted'
  /** No call was made: the endpoint is spared. */
  | 'paused'
  /** No call was made: a budget is used up. */
  | `over_${'chat' | 'person' | 'total'}_budget`
  | 'authentication'
  | 'permission'
  | 'billing'
  /** The endpoint does not know the model, or no more. */
  | 'not_found'
  /** The endpoint knows the model, and does not let this account use it, or not with tools. */
  | 'model_unusable'
  | 'refused'
  | 'bad_request'
  /** Thinking took all the output that was allowed. */
  | 'cut_before_text'
  | 'unknown';
