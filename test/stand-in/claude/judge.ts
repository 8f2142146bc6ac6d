/** Reads a call as the API would, before anything is decided about the answer. */
import type { IncomingMessage } from 'node:http';
import { countTokens } from './counting.ts';
import { isObject, type MessagesRequest } from './request.ts';
import { bodyViolation, firstViolation, unreadableViolation, windowViolation } from './rules.ts';
import type { Grounds, Violation } from './violation.ts';

/** A call refused at the door, before its body means anything. */
export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
}

/** A body as read: parsed as far as it could be, counted, and with what is wrong with it. */
export interface Judgement {
  readonly body: MessagesRequest;
  readonly inputTokens: number;
  readonly violation?: Violation;
  /** Set when the request is sound, but too long for the window. */
  readonly window?: Violation;
}

const UNREAD: MessagesRequest = { model: '', max_tokens: 0, messages: [] };

/**
 * Who may not come in at all: no key, or no usable API version. The key comes as `x-api-key`, or as a bearer token:
 * the official client sends it so since its version 1. Without an `apiKey` every key is accepted.
 */
export function refusalAtDoor({ headers }: IncomingMessage, apiKey?: string): Refusal | undefined {
  const version = headers['anthropic-version'];
  const key = String(headers['x-api-key'] || /^Bearer (\S+)/.exec(headers.authorization ?? '')?.[1] || '');
  if (key === '') return { status: 401, type: 'authentication_error', message: 'x-api-key header is required' };
  if (apiKey !== undefined && key !== apiKey) {
    return { status: 401, type: 'authentication_error', message: 'invalid x-api-key' };
  }
  if (version === undefined) {
    return { status: 400, type: 'invalid_request_error', message: 'anthropic-version: header is required' };
  }
  return /^\d{4}-\d{2}-\d{2}$/.test(String(version))
    ? undefined
    : { status: 400, type: 'invalid_request_error', message: `anthropic-version: "${version}" is not a valid version` };
}

/** Judges a body; `bytes` is undefined when it was longer than the API reads. */
export function judge(bytes: Buffer | undefined, groundsFor: (model: string) => Grounds, ratio: number): Judgement {
  if (bytes === undefined) return { body: UNREAD, inputTokens: 0, violation: bodyViolation() };
  const parsed = parse(bytes);
  if ('violation' in parsed) return { body: UNREAD, inputTokens: 0, violation: parsed.violation };
  return judgeBody(parsed.value, groundsFor, ratio);
}

/** Judges a body that was read as JSON. Nothing may change it any more. */
export function judgeBody(value: unknown, groundsFor: (model: string) => Grounds, ratio: number): Judgement {
  const grounds = groundsFor(isObject(value) ? String(value.model) : '');
  const violation = firstViolation(value, grounds);
  // A malformed body is kept for the ledger as it came: whoever looks into it has been told by `violation`.
  const body = (isObject(value) ? value : UNREAD) as MessagesRequest;
  if (violation !== undefined) return { body, inputTokens: 0, violation };
  const inputTokens = countTokens(body, ratio);
  const window = windowViolation(inputTokens, body.max_tokens, grounds);
  return { body, inputTokens, ...(window && { window }) };
}

function parse(bytes: Buffer): { value: unknown } | { violation: Violation } {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch (error) {
    return { violation: unreadableViolation(error instanceof Error ? error.message : String(error)) };
  }
}
