/** Reads a call as the API would, before anything is decided about the answer. */
import type { IncomingMessage } from 'node:http';
import { countTokens } from './counting.ts';
import { isObject, type MessagesRequest } from './request.ts';
import { firstViolation, overflowViolation } from './rules.ts';
import { type Grounds, type Refusal, type Violation, violation } from './violation.ts';

/** A body as read: parsed as far as it could be, counted, and with what is wrong with it. */
export interface Judgement {
  readonly body: MessagesRequest;
  readonly inputTokens: number;
  readonly violation?: Violation;
  /** Set when the request is sound, but too long for the window. */
  readonly window?: Violation;
}

interface Asked {
  readonly ratio: number;
  groundsFor(name: string): Grounds;
}

const UNREAD: MessagesRequest = { model: '', max_tokens: 0, messages: [] };
const TOO_LARGE = { rule: 18, status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' };

/** Whoever has no key, or no usable API version. The official client sends its key as a bearer token. */
export function refusalAtDoor({ headers }: IncomingMessage, apiKey?: string): Refusal | undefined {
  const key = String(headers['x-api-key'] || /^Bearer (\S+)/.exec(headers.authorization ?? '')?.[1] || '');
  const version = headers['anthropic-version'];
  if (key === '') return { status: 401, type: 'authentication_error', message: 'x-api-key header is required' };
  if (apiKey !== undefined && key !== apiKey)
    return { status: 401, type: 'authentication_error', message: 'invalid x-api-key' };
  if (/^\d{4}-\d{2}-\d{2}$/.test(String(version))) return undefined;
  const why = version === undefined ? 'header is required' : `"${version}" is not a valid version`;
  return { status: 400, type: 'invalid_request_error', message: `anthropic-version: ${why}` };
}

/** Judges a body; `bytes` is undefined when it was longer than the API reads. */
export function judge(bytes: Buffer | undefined, model: Asked): Judgement {
  if (bytes === undefined) return { body: UNREAD, inputTokens: 0, violation: TOO_LARGE };
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const why = `The request body is not valid JSON: ${error instanceof Error ? error.message : error}`;
    return { body: UNREAD, inputTokens: 0, violation: violation(17, why) };
  }
  return judgeBody(value, model);
}

/** Judges a body that was read as JSON. Nothing may change it any more. */
export function judgeBody(value: unknown, model: Asked): Judgement {
  const grounds = model.groundsFor(isObject(value) ? String(value.model) : '');
  const violation = firstViolation(value, grounds);
  // A malformed body is kept for the ledger as it came: whoever looks into it has been told by `violation`.
  const body = (isObject(value) ? value : UNREAD) as MessagesRequest;
  if (violation !== undefined) return { body, inputTokens: 0, violation };
  const inputTokens = countTokens(body, model.ratio);
  const { windowTokens } = grounds;
  return inputTokens > windowTokens
    ? { body, inputTokens, window: overflowViolation(inputTokens, windowTokens) }
    : { body, inputTokens };
}

/** Keys that are about an answer, and so are not taken where tokens are counted. */
const OF_ANSWER = ['max_tokens', 'stream', 'temperature', 'metadata'];

/** What `POST /v1/messages/count_tokens` says of a request, however large it is, or why it refuses it. */
export function countedTokens(bytes: Buffer | undefined, model: Asked): { input_tokens: number } | Refusal {
  const body = JSON.parse(bytes?.toString() || '{}') as Record<string, unknown>;
  const extra = OF_ANSWER.find((key) => key in body);
  if (extra !== undefined) return violation(25, `${extra}: Extra inputs are not permitted`);
  const { violation: found, inputTokens } = judgeBody({ ...body, max_tokens: 1 }, model);
  return found ?? { input_tokens: inputTokens };
}
