import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { FencedError } from '../../../shared/state/change.ts';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendEnd,
  sendEvent,
  sendRefusal,
  sendStart,
  sendWords,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';

const PING_MS = 60;
/** A busy machine may need 300 ms for a first byte. */
const IDLE_MS = 800;
/** So many signs of life of one kind last longer than the silence that ends a call. */
const PINGS = 1 + Math.ceil(IDLE_MS / PING_MS);
/** About 400 tokens. */
const LONG = 'word '.repeat(400);

let endpoint: ScriptedEndpoint | undefined;
afterEach(() => endpoint?.close());

/** Asks something long; returns the result, and the usage that it is billed for. */
async function ask(
  script: Script,
  { idleMs = IDLE_MS, signal = new AbortController().signal, onText = () => {} } = {},
) {
  endpoint = await startEndpoint(script);
  const model = createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs, reach: () => {} });
  const messages = [{ role: 'user' as const, content: LONG }];
  const result = await model.send({ model: 'm', maxTokens: 100, system: '', messages, caches: false }, signal, onText);
  return { result, spent: result.ok ? result.answer.usage : result.billedUsage };
}

/** Sends a sign of life so many times, and then goes on. */
function ping(response: ServerResponse, times: number, then: () => void, send = () => sendEvent(response, 'ping')) {
  let sent = 0;
  const timer = setInterval(() => {
    send();
    sent += 1;
    if (sent < times) return;
    clearInterval(timer);
    then();
  }, PING_MS);
  response.once('close', () => clearInterval(timer));
}

test('pings before and after the start, and bytes that form no event, are signs of life', async () => {
  const { result } = await ask((response) => {
    const end = () => {
      sendWords(response, 'thought about it');
      sendEnd(response);
    };
    ping(response, PINGS, () => {
      sendStart(response);
      ping(response, PINGS, () => ping(response, PINGS, end, () => response.write(': still here\n')));
    });
  });
  expect(result).toMatchObject({ ok: true, answer: { text: 'thought about it' } });
});

const begin = (response: ServerResponse) =>
  sendStart(response, { input_tokens: 100, cache_read_input_tokens: 900, cache_creation_input_tokens: 50 });
const fail = (response: ServerResponse, type: string) =>
  sendEvent(response, 'error', { error: { type, message: 'Overloaded' } });

test.each<[string, (response: ServerResponse) => unknown, number]>([
  ['before the headers', () => {}, 490],
  ['after the headers', (r) => r.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(), 490],
  ['after a ping', (r) => sendEvent(r, 'ping'), 490],
  ['in the middle of an event', (r) => [begin(r), r.write('event: content_blo')], 1_050],
])('silence %s ends the call and its connection, and its input is billed', async (_when, start, inputTokens) => {
  const closed = Promise.withResolvers<void>();
  const { result, spent } = await ask((response) => {
    response.once('close', () => closed.resolve());
    start(response);
  });
  expect(result).toMatchObject({ ok: false, failure: { kind: 'transient', reason: 'timeout' } });
  expect(Math.abs((spent?.inputTokens ?? 0) - inputTokens)).toBeLessThan(50);
  await closed.promise;
});

test.each<[string, number, (response: ServerResponse) => void]>([
  ['is cut', 10_000, (response) => response.end()],
  ['falls silent', IDLE_MS, () => {}],
  ['fails in an event', 10_000, (response) => fail(response, 'api_error')],
])('an answer that %s is billed for its stated input and the output written so far', async (_how, idleMs, end) => {
  const script: Script = (response) => {
    begin(response);
    sendWords(response, LONG);
    end(response);
  };
  const { spent } = await ask(script, { idleMs });
  expect(spent).toMatchObject({ inputTokens: 1_050, cacheReadTokens: 900, cacheWriteTokens: 50 });
  expect(spent?.outputTokens).toBeGreaterThan(300);
  expect(spent?.outputTokens).toBeLessThan(1_000);
});

test('an abort ends the call while the stream pings; thinking and partial tool input written so far are billed', async () => {
  const closed = Promise.withResolvers<void>();
  const stop = new AbortController();
  const { result, spent } = await ask(
    (response) => {
      response.once('close', () => closed.resolve());
      sendStart(response);
      const deltas = [
        { type: 'thinking_delta', thinking: LONG },
        { type: 'input_json_delta', partial_json: LONG },
      ];
      for (const [index, delta] of deltas.entries()) {
        const block = { type: index === 0 ? 'thinking' : 'tool_use', id: 't', name: 'n' };
        sendEvent(response, 'content_block_start', { index, content_block: block });
        sendEvent(response, 'content_block_delta', { index, delta });
      }
      ping(response, 1_000, () => {});
      setTimeout(() => stop.abort(), PING_MS * 3);
    },
    { signal: stop.signal },
  );
  expect(result).toMatchObject({ ok: false, failure: { reason: 'aborted' }, billedUsage: { inputTokens: 100 } });
  expect(spent?.outputTokens).toBeGreaterThan(600);
  await closed.promise;
});

test('a call that is stopped before the headers is billed for its input as we count it', async () => {
  const { spent } = await ask(() => {}, { signal: AbortSignal.timeout(PING_MS) });
  expect(spent?.inputTokens).toBeGreaterThan(350);
  expect(spent?.outputTokens).toBe(0);
});

test('what the reader of the text throws ends the call, and comes out as itself', async () => {
  const fenced = new FencedError();
  const onText = (): never => {
    throw fenced;
  };
  const script: Script = (response) => {
    sendStart(response);
    sendWords(response, 'Once');
  };
  await expect(ask(script, { onText })).rejects.toBe(fenced);
});

test('reads the usage of an answer: cache reads, cache writes by lifetime, and thinking tokens', async () => {
  const { spent } = await ask((response) => {
    sendStart(response, {
      input_tokens: 10,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 12, ephemeral_1h_input_tokens: 18 },
      output_tokens: 1,
    });
    sendWords(response, 'fine');
    sendEnd(response, { output_tokens: 40, output_tokens_details: { thinking_tokens: 33 } });
  });
  expect(spent).toMatchObject({ inputTokens: 60, outputTokens: 40, cacheReadTokens: 20 });
  expect(spent).toMatchObject({ cacheWriteTokens: 30, cacheWrite1hTokens: 18, thinkingTokens: 33 });
});

const OVERFLOW = 'prompt is too long: 210000 tokens > 200000 maximum';
const body = (response: ServerResponse, type: string, text: string) =>
  void response.writeHead(200, { 'content-type': type }).end(text);
const json = (response: ServerResponse, value: unknown) => body(response, 'application/json', JSON.stringify(value));

test.each<[string, Script, string]>([
  ['a refusal', (r) => sendRefusal(r, 400, 'invalid_request_error', 'no'), 'unknown/bad_request'],
  ['an overload', (r) => sendRefusal(r, 529, 'overloaded_error', 'Overloaded'), 'transient/overloaded'],
  ['an error as the first event', (r) => fail(r, 'overloaded_error'), 'transient/overloaded'],
  ['a connection that died', (r) => void r.destroy(), 'transient/network'],
  ['a login page', (r) => body(r, 'text/html', '<!doctype html><form>Sign in</form>'), 'transient/server_error'],
  ['an empty body', (r) => body(r, 'text/event-stream', ''), 'transient/cut_stream'],
  ['JSON that is null', (r) => json(r, null), 'transient/server_error'],
  ['a long JSON that is cut', (r) => json(r, { data: 'x'.repeat(100_000) }), 'transient/server_error'],
  ['an error with a status of 200', (r) => json(r, { error: { type: 'overloaded_error' } }), 'transient/overloaded'],
  ['an overflow with a status of 200', (r) => json(r, { error: { message: OVERFLOW } }), 'token/prompt_too_long'],
  ['a message, not streamed,', (r) => json(r, { content: [], message: OVERFLOW }), 'transient/server_error'],
  ['an answer of another API', (r) => json(r, { message: { message: OVERFLOW } }), 'transient/server_error'],
  ['a detail that says too little', (r) => json(r, { detail: 'Something' }), 'transient/server_error'],
])(
  '%s is returned as a failure, nothing is thrown, and only a stream that began is billed',
  async (_what, script, failure) => {
    const { result, spent } = await ask(script, { idleMs: 5_000 });
    expect(result.ok ? 'an answer' : `${result.failure.kind}/${result.failure.reason}`).toBe(failure);
    expect(spent === undefined).toBe(failure !== 'transient/cut_stream');
  },
);

test.each<[string, (response: ServerResponse) => unknown, string]>([
  ['an error event', (r) => [fail(r, 'overloaded_error'), r.end()], 'overloaded'],
  ['an event that is not JSON', (r) => r.end('event: content_block_delta\ndata: {"type": oops\n\n'), 'unknown'],
])('%s after the start is a failure that may pass, and is billed', async (_what, end, reason) => {
  const { result, spent } = await ask((response) => {
    begin(response);
    end(response);
  });
  expect(result).toMatchObject({ ok: false, failure: { kind: 'transient', reason } });
  expect(spent?.inputTokens).toBe(1_050);
});
