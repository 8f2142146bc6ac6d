import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import Anthropic, {
  AnthropicError,
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
} from '@anthropic-ai/sdk';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { classify, classifyAnswer } from '../../../../../worker/model/errors/classify.ts';
import type { Failure, FailureKind } from '../../../../../worker/model/errors/failure.ts';
import * as failed from '../../../../../worker/model/errors/failure-patterns.ts';
import * as overflowed from '../../../../../worker/model/errors/overflow-patterns.ts';
import { plainText, sentencesOf } from '../../../../../worker/model/errors/plain-text.ts';
import { cpuMs, LINEAR_MS_MAX } from '../../../../fixture/texts.ts';

interface Row {
  provider: string;
  status: number | null;
  message: string;
  kind: FailureKind | 'none';
}

interface SdkCase {
  case: string;
  status: number;
  type: string | null;
  message: string | null;
  headers?: Record<string, string>;
  details?: object;
  expected: Partial<Failure>;
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../corpus/${file}`, import.meta.url), 'utf8'));
const expected = read('expected-failures.json') as {
  sdk: SdkCase[];
  counts: { message: string; expected: Partial<Failure> }[];
};

const rowsOf = (file: string) => read(file) as Row[];

const KINDS: readonly FailureKind[] = ['token', 'fit', 'wire', 'media', 'poison', 'unknown', 'transient', 'terminal'];
const OVERFLOWS: readonly string[] = ['token', 'fit', 'wire', 'media'];

/** The row as each of the shapes in which such an error can reach us. */
function shapesOf({ status, message }: Row): [string, unknown][] {
  if (status === null) {
    return [
      ['thrown', new Error(message)],
      ['plain text', message],
      ['object', { message }],
    ];
  }
  const type = status >= 500 ? 'api_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error';
  const body = { type: 'error', error: { type, message } };
  return [
    ['thrown', Object.assign(new Error(message), { status })],
    ['object', { status, message }],
    ['SDK error', APIError.generate(status, body, undefined, new Headers())],
    ['SDK error, body as text', APIError.generate(status, undefined, message, new Headers())],
  ];
}

function misjudged(rows: readonly Row[]): string[] {
  return rows.flatMap((row) =>
    shapesOf(row)
      .map(([shape, error]) => ({ shape, kind: classify(error).kind }))
      .filter(({ kind }) => (row.kind === 'none' ? OVERFLOWS.includes(kind) : kind !== row.kind))
      .map(({ shape, kind }) => `${row.kind} was taken for ${kind} (${shape}): ${row.status} ${row.message}`),
  );
}

const sdkError = (status: number, body: object | undefined, headers: Record<string, string> = {}) =>
  APIError.generate(status, body, undefined, new Headers(headers));
const body = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_body01' });
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);
const thrown = (status: number, message: string) => Object.assign(new Error(message), { status });

test('classifies every message of the corpus as its kind, in every shape', () => {
  expect(misjudged(rowsOf('provider-errors.json'))).toEqual([]);
});

test('classifies messages outside the corpus, in other wordings and languages', () => {
  const unseen = rowsOf('unseen-errors.json');
  const known = new Set(rowsOf('provider-errors.json').map((row) => row.message));
  expect(unseen.filter((row) => known.has(row.message))).toEqual([]);
  expect(unseen.filter((row) => OVERFLOWS.includes(row.kind)).length).toBeGreaterThanOrEqual(30);
  expect(unseen.filter((row) => !OVERFLOWS.includes(row.kind)).length).toBeGreaterThanOrEqual(30);
  expect(misjudged(unseen)).toEqual([]);
});

test('every rule matches the example beside it', () => {
  const tables = [...Object.values(overflowed), ...Object.values(failed)].filter((table) => Array.isArray(table));
  const silent = tables
    .flat()
    .filter((rule) => !overflowed.holds(rule, sentencesOf(plainText(rule.example)), plainText(rule.example)))
    .map((rule) => rule.example);
  expect(silent).toEqual([]);
});

test.each(expected.sdk)('classifies an SDK error: $case', ({ status, type, message, headers, details, expected }) => {
  const error = message === null ? undefined : { type: 'error', error: { type, message, details } };
  expect(classify(sdkError(status, error, headers))).toMatchObject(expected);
});

test.each<[string, unknown, Partial<Failure>]>([
  ['an abort of the SDK', new APIUserAbortError(), { kind: 'transient', reason: 'aborted' }],
  ['an abort signal', AbortSignal.abort().reason, { kind: 'transient', reason: 'aborted' }],
  ['a timeout', new APIConnectionTimeoutError(), { kind: 'transient', reason: 'timeout' }],
  ['a lost connection', new APIConnectionError({ message: 'Error' }), { kind: 'transient', reason: 'network' }],
  ['a cut stream', new AnthropicError('stream ended without producing a Message'), { reason: 'cut_stream' }],
  ['a cut socket', new AnthropicError('terminated', { cause: new TypeError('terminated') }), { reason: 'cut_stream' }],
  ['a TypeError of our own', new TypeError('Cannot read properties of null'), { kind: 'transient', reason: 'unknown' }],
  ['misuse of the SDK', new AnthropicError('Could not resolve the key.'), { kind: 'transient', reason: 'unknown' }],
])('classifies a call without an answer: %s', (_, error, failure) => {
  expect(classify(error)).toMatchObject(failure);
});

test.each<[string, Partial<Failure>]>([
  ['overloaded_error', { kind: 'transient', reason: 'overloaded' }],
  ['api_error', { kind: 'transient', reason: 'server_error' }],
  ['timeout_error', { kind: 'transient', reason: 'timeout' }],
  ['rate_limit_error', { kind: 'transient', reason: 'rate_limited' }],
  ['authentication_error', { kind: 'terminal', reason: 'authentication' }],
  ['permission_error', { kind: 'unknown', reason: 'permission' }],
  ['billing_error', { kind: 'terminal', reason: 'billing' }],
  ['not_found_error', { kind: 'terminal', reason: 'not_found' }],
  ['request_too_large', { kind: 'wire' }],
  ['invalid_request_error', { kind: 'unknown', reason: 'bad_request' }],
])('classifies an SSE error event of type %s without a status', (type, expected) => {
  const event = body(type, 'Sorry');
  for (const error of [event, JSON.stringify(event), new APIError(undefined, event, undefined, new Headers())]) {
    expect(classify(error)).toMatchObject({ ...expected, requestId: 'req_body01' });
  }
});

test.each(expected.counts)('reads the token counts in: $message', ({ message, expected }) => {
  const { kind, observedTokens, limitTokens, outputTokens } = classify(thrown(400, message));
  expect({ kind, observedTokens, limitTokens, outputTokens }).toEqual({
    observedTokens: undefined,
    limitTokens: undefined,
    outputTokens: undefined,
    ...expected,
  });
});

/** Headers of a response that was written at NOW. */
const dated = (headers: Record<string, string>) => ({ date: new Date(NOW).toUTCString(), ...headers });

const limit = (name: string, remaining: number, resetMs: number) => ({
  [`anthropic-ratelimit-${name}-remaining`]: String(remaining),
  [`anthropic-ratelimit-${name}-reset`]: new Date(resetMs).toISOString(),
});

test.each<[string, unknown, number]>([
  ['seconds', sdkError(429, undefined, { 'retry-after': '1.5' }), 1500],
  ['milliseconds', sdkError(529, undefined, { 'retry-after-ms': '250', 'retry-after': '9' }), 250],
  ['an HTTP date', sdkError(503, undefined, dated({ 'retry-after': new Date(NOW + 30_000).toUTCString() })), 30_000],
  ['a date in the past', sdkError(503, undefined, dated({ 'retry-after': new Date(NOW - 30_000).toUTCString() })), 0],
  ['a limit that is used up', sdkError(429, undefined, dated(limit('input-tokens', 0, NOW + 9_000))), 9_000],
  [
    'the last of two',
    sdkError(429, undefined, dated({ ...limit('requests', 0, NOW), ...limit('tokens', 0, NOW + 5_000) })),
    5_000,
  ],
  [
    'no limit that has room',
    sdkError(429, undefined, dated({ ...limit('requests', 3, NOW + 9_000), ...limit('tokens', 0, NOW) })),
    0,
  ],
  ['a plain header object', { status: 429, headers: { 'retry-after': '3' } }, 3000],
  ['words', thrown(429, 'Rate limit reached. Please try again in 1.971s'), 1971],
  ['words for minutes', thrown(429, 'Please try again in 6m0s.'), 360_000],
  ['a JSON field', thrown(429, '{"error":{"details":[{"retryDelay":"34.07s"}]}}'), 34_070],
])('reads retry-after as %s', (_, error, retryAfterMs) => {
  expect(classify(error)).toMatchObject({ kind: 'transient', retryAfterMs });
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
  for (const error of [...shapeless, hostile, proxy, circular, getter]) {
    expect(classify(error)).toEqual({ kind: 'transient', reason: 'unknown' });
  }
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
  fc.assert(
    fc.property(errors, (error) => {
      const failure = classify(error);
      expect(KINDS).toContain(failure.kind);
      for (const count of [failure.observedTokens, failure.limitTokens, failure.outputTokens, failure.retryAfterMs]) {
        expect(count === undefined || (Number.isFinite(count) && count >= 0)).toBe(true);
      }
    }),
    { numRuns: 1000 },
  );
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

test('a connection refused to fetch or to the SDK is a transient network failure', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const baseURL = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  await new Promise((resolve) => server.close(resolve));
  const client = new Anthropic({ apiKey: 'none', baseURL, maxRetries: 0 });
  const call = () => client.messages.create({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
  for (const refused of [() => fetch(baseURL), call]) {
    const error = await refused().then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(classify(error)).toEqual({ kind: 'transient', reason: 'network' });
  }
});

test('classifyAnswer finds a silent overflow and a refusal in an answer', () => {
  const answer = { stopReason: 'end_turn', isEmpty: true, outputTokens: 10, inputTokens: 100, windowTokens: 1000 };
  const overflow = { kind: 'token', reason: 'silent_overflow', limitTokens: 1000 };
  expect(classifyAnswer(answer)).toBeUndefined();
  expect(classifyAnswer({ ...answer, inputTokens: 1000 })).toBeUndefined();
  expect(classifyAnswer({ ...answer, inputTokens: 1001 })).toEqual({ ...overflow, observedTokens: 1001 });
  expect(classifyAnswer({ ...answer, stopReason: 'max_tokens', outputTokens: 0, inputTokens: 990 })).toEqual({
    ...overflow,
    observedTokens: 990,
  });
  expect(classifyAnswer({ ...answer, stopReason: 'max_tokens', outputTokens: 1, inputTokens: 999 })).toBeUndefined();
  expect(classifyAnswer({ ...answer, stopReason: 'model_context_window_exceeded', inputTokens: 1001 })).toBeUndefined();
  expect(classifyAnswer({ ...answer, stopReason: 'refusal' })).toEqual({ kind: 'refusal', reason: 'refused' });
  expect(classifyAnswer({ ...answer, stopReason: null, windowTokens: 0 })).toBeUndefined();
  expect(classifyAnswer({ ...answer, inputTokens: 1001, isEmpty: false })).toBeUndefined();
  expect(classifyAnswer({ ...answer, inputTokens: undefined })).toBeUndefined();
});

test.each([
  [400, 'Your request was blocked because an API key is included in the prompt.'],
  [400, 'Blocked by guardrail: topic "billing" is denied.'],
  [422, '{"metadata":{"flagged_input":"my billing address is at"}}'],
  [403, '{"detail":"unknown model of behaviour, access denied"}'],
])('a guardrail message that mentions keys, billing or models is unknown, not terminal: %i %s', (status, words) => {
  expect(classify(sdkError(status, body('invalid_request_error', words)))).toMatchObject({ kind: 'unknown' });
});
