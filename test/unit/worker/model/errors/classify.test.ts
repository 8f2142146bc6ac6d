import { readFileSync } from 'node:fs';
import {
  AnthropicError,
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
} from '@anthropic-ai/sdk';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { classify, classifyAnswer, wordingOf } from '../../../../../worker/model/errors/classify.ts';
import { readEvidence } from '../../../../../worker/model/errors/evidence.ts';
import type { Failure, FailureKind } from '../../../../../worker/model/errors/failure.ts';
import { WORDINGS } from '../../../../../worker/model/errors/wordings.ts';
import { cpuMs, forCases, LINEAR_MS_MAX } from '../../../../fixture/texts.ts';

/** A message of a provider or a proxy, and its kind; `none` stands for every kind but those of a size. */
interface Row {
  provider: string;
  status: number | null;
  message: string;
  kind: FailureKind | 'none';
}

/** An error as it is, or as a response from which the SDK makes one, and all that it must be read as. */
interface Case {
  case: string;
  error?: unknown;
  sdk?: { status: number; body?: object; headers?: Record<string, string> };
  requestBytes?: number;
  expected: Failure;
}

const corpus = (file: string): string =>
  readFileSync(new URL(`../../../../corpus/${file}`, import.meta.url), 'utf8').trim();
const PROVIDER_ERRORS: readonly Row[] = JSON.parse(corpus('provider-errors.json'));
const UNSEEN_ERRORS: readonly Row[] = JSON.parse(corpus('unseen-errors.json'));
const CASES = corpus('classified.jsonl')
  .split('\n')
  .map((line): Case => JSON.parse(line));
const SIZES: readonly string[] = ['token', 'fit', 'wire', 'media'];

const ofSdk = ({ status, body, headers }: NonNullable<Case['sdk']>) =>
  APIError.generate(status, body && { type: 'error', error: body }, undefined, new Headers(headers));

/** The row as each of the shapes in which such an error can reach us. */
function shapesOf({ status, message }: Row): Readonly<Record<string, unknown>> {
  const object = { ...(status !== null && { status }), message };
  const shapes = { thrown: Object.assign(new Error(message), object), object };
  if (status === null) return { ...shapes, text: message };
  const type = status >= 500 ? 'api_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  const plain = APIError.generate(status, undefined, message, new Headers());
  return { ...shapes, 'SDK error': ofSdk({ status, body: { type, message } }), 'SDK error, body as text': plain };
}

test.each([
  ['of the corpus', PROVIDER_ERRORS],
  ['outside the corpus, in other wordings and languages', UNSEEN_ERRORS],
])('classifies every message %s as its kind, in every shape', (_, rows) => {
  const misjudged = rows.flatMap((row) =>
    Object.entries(shapesOf(row))
      .map(([shape, error]) => ({ shape, kind: classify(error).kind }))
      .filter(({ kind }) => (row.kind === 'none' ? SIZES.includes(kind) : kind !== row.kind))
      .map(({ shape, kind }) => `${row.kind} was taken for ${kind} (${shape}): ${row.status} ${row.message}`),
  );
  expect(misjudged).toEqual([]);
});

test('the messages outside the corpus are other ones, and many of them', () => {
  const known = new Set(PROVIDER_ERRORS.map((row) => row.message));
  expect(UNSEEN_ERRORS.filter((row) => known.has(row.message))).toEqual([]);
  expect(UNSEEN_ERRORS.filter((row) => SIZES.includes(row.kind)).length).toBeGreaterThanOrEqual(30);
  expect(UNSEEN_ERRORS.filter((row) => !SIZES.includes(row.kind)).length).toBeGreaterThanOrEqual(30);
});

test('every row of the table decides the example beside it', () => {
  const others = WORDINGS.filter((row) => wordingOf(readEvidence(row.example)) !== row);
  expect(others.map(({ example }) => example)).toEqual([]);
  expect(WORDINGS.filter(({ source }) => source === '')).toEqual([]);
});

const NAMED_CASES = CASES.map((each): [string, Case] => [JSON.stringify(each.sdk ?? each.error).slice(0, 150), each]);

test.each(NAMED_CASES)('reads all of %s', (_, { error, sdk, requestBytes, expected }) => {
  const options = requestBytes === undefined ? {} : { requestBytes };
  expect(classify(sdk ? ofSdk(sdk) : error, options)).toEqual(expected);
  if (typeof error === 'string') expect(classify({ cause: new Error(error) })).toEqual(expected);
  else if (sdk === undefined) expect(classify(JSON.stringify(error))).toMatchObject({ kind: expected.kind });
});

test.each<[unknown, Failure['reason']]>([
  [new APIUserAbortError(), 'aborted'],
  [AbortSignal.abort().reason, 'aborted'],
  [new APIConnectionTimeoutError(), 'timeout'],
  [new APIConnectionError({ message: 'Error' }), 'network'],
  [new AnthropicError('stream ended without producing a Message'), 'cut_stream'],
  [new AnthropicError('terminated', { cause: new TypeError('terminated') }), 'cut_stream'],
  [new TypeError('Cannot read properties of null'), 'unknown'],
  [new AnthropicError('Could not resolve the key.'), 'unknown'],
])('%s is a call without an answer: %s', (error, reason) => {
  expect(classify(error)).toEqual({ kind: 'transient', reason });
});

test('reads a failure wherever errors keep one', () => {
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
});

test('an unreadable error is transient', () => {
  const no = (): never => {
    throw new Error('no');
  };
  const hostile = new Proxy({}, { get: no, getPrototypeOf: no, ownKeys: no });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const circular: Record<string, unknown> = {};
  circular.cause = circular;
  const getter = Object.defineProperty(new Error(), 'message', { get: no });
  const shapeless = [null, undefined, '', 0, 42, Number.NaN, true, Symbol('x'), 9n, {}, [], () => 0];
  for (const error of [...shapeless, hostile, proxy, circular, getter])
    expect(classify(error)).toEqual({ kind: 'transient', reason: 'unknown' });
  expect(classify({ message: 'prompt is too long', status: hostile, headers: hostile, cause: proxy }).kind).toBe(
    'token',
  );
});

test('classify never throws and always returns a known kind with finite counts', () => {
  const words = fc.constantFrom(...'prompt token 413 exceeds 200000 { "error": image retry \\u00 i'.split(' '));
  const texts = fc
    .array(fc.oneof(words, fc.string({ unit: 'binary' })), { maxLength: 60 })
    .map((parts) => parts.join(' '));
  const errors = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
    texts,
    fc.dictionary(fc.constantFrom('message', 'status', 'headers', 'error', 'cause'), fc.oneof(texts, fc.anything())),
  );
  const kinds = new Set(WORDINGS.map(({ kind }) => kind));
  forCases(1000, [errors], (error) => {
    const failure = classify(error);
    expect(kinds).toContain(failure.kind);
    for (const count of [failure.observedTokens, failure.limitTokens, failure.outputTokens, failure.retryAfterMs])
      expect(count === undefined || (Number.isFinite(count) && count >= 0)).toBe(true);
  });
});

test.each(
  'prompt exceeds ·a·1·1,·1234567 > ·\\·"error":{· ·\n·. ·\ufdfa·messages.1.content.2.image·wait 1h2m3s try again ·input and max tokens ·limit: 12 tpm requested: '.split(
    '·',
  ),
)('classify takes linear time on a megabyte of %j', (unit) => {
  const error = new Error(unit.repeat(Math.ceil(2 ** 20 / unit.length)));
  const start = cpuMs();
  classify(error);
  expect(cpuMs() - start).toBeLessThan(LINEAR_MS_MAX);
});

test('classifyAnswer finds a silent overflow and a refusal in an answer', () => {
  const answer = { stopReason: 'end_turn', isEmpty: true, outputTokens: 10, inputTokens: 100, windowTokens: 1000 };
  const cut = { ...answer, stopReason: 'max_tokens', outputTokens: 0 };
  const full = { ...answer, stopReason: 'model_context_window_exceeded' };
  const overflow = { kind: 'token', reason: 'silent_overflow' };
  const sized = (observedTokens: number) => ({ ...overflow, observedTokens, limitTokens: 1000 });
  for (const [given, expected] of [
    [answer, undefined],
    [{ ...answer, inputTokens: 1000 }, undefined],
    [{ ...answer, inputTokens: 1001 }, sized(1001)],
    [{ ...answer, inputTokens: 1001, isEmpty: false }, undefined],
    [{ ...answer, inputTokens: undefined }, undefined],
    [{ ...cut, inputTokens: 990 }, sized(990)],
    [{ ...cut, inputTokens: 989 }, undefined],
    [{ ...cut, inputTokens: 999, outputTokens: 1 }, undefined],
    [{ ...cut, stopReason: 'end_turn', inputTokens: 999 }, undefined],
    [{ ...full, isEmpty: false, inputTokens: 1001 }, undefined],
    [full, overflow],
    [{ ...full, inputTokens: 1001 }, sized(1001)],
    [
      { ...answer, stopReason: 'refusal' },
      { kind: 'refusal', reason: 'refused' },
    ],
    [{ ...answer, stopReason: null, windowTokens: 0 }, undefined],
  ] as const)
    expect(classifyAnswer(given)).toEqual(expected);
});
