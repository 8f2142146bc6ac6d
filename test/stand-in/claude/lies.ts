/** Refusals that are not true, each met once in the wild: the same request is taken a moment later. */
import { error, GUARDRAILS, invalid, raw } from './guardrails.ts';
import type { Reaction } from './reaction.ts';

/** One-off refusals by name, whatever the request holds. */
export const LIES = {
  database: invalid('No connected db'),
  badRequest: invalid('Bad request'),
  bodyless: GUARDRAILS.bodyless(),
  page400: GUARDRAILS.page400(),
  page403: GUARDRAILS.page403(),
  moderation: GUARDRAILS.moderation(),
  contentPolicy: GUARDRAILS.openai(),
  teapot: raw(418, "I'm a teapot"),
  gone: raw(410, 'Gone'),
  unprocessable: GUARDRAILS.unprocessable('messages.0.content'),
  unavailableForLegalReasons: raw(451, 'Unavailable For Legal Reasons'),
  credit: invalid('Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.'),
  paymentRequired: error(402, 'billing_error', 'Payment required'),
  key: error(401, 'authentication_error', 'invalid x-api-key'),
  permission: error(403, 'permission_error', 'Your API key does not have permission to use the specified resource.'),
  notFound: error(404, 'not_found_error', 'model: claude-opus-5-5'),
  tooLarge: error(413, 'request_too_large', 'Request exceeds the maximum size'),
  signature: invalid('messages.1.content.0: Invalid `signature` in `thinking` block'),
  orphan: invalid('messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01'),
  picture: invalid(
    'messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
  ),
  tooLong: invalid('prompt is too long: 350000 tokens > 180000 maximum'),
  tooLongWithoutNumbers: invalid('Prompt is too long'),
  otherWindow: invalid(
    "This model's maximum context length is 8192 tokens. However, you requested 24576 tokens. Please reduce the length of the messages.",
  ),
  rateAsWindow: error(
    429,
    'rate_limit_error',
    'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45231. The input or output tokens must be reduced in order to run successfully.',
  ),
  noRoom: invalid(
    'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again',
  ),
  refusal: { do: 'answer', text: '', stopReason: 'refusal' },
  thoughtOnly: { do: 'answer', text: '', stopReason: 'max_tokens' },
  overloaded: error(529, 'overloaded_error', 'Overloaded'),
  broken: error(500, 'api_error', 'Internal server error'),
  cut: { do: 'cut', text: 'Half an ans' },
} as const satisfies Record<string, Reaction>;

export type Lie = keyof typeof LIES;
