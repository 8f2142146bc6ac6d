import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../worker/model/claude.ts';
import type { ModelRequest, ModelResult, Usage } from '../../worker/model/model.ts';
import {
  type Script,
  type ScriptedEndpoint,
  sendAnswer,
  sendEnd,
  sendEvent,
  sendRefusal,
  sendStart,
  sendWords,
  startEndpoint,
} from '../fixture/scripted-endpoint.ts';

const IDLE_MS = 300;
const PING_MS = 60;
const MODEL = 'claude-opus-5-5';

let endpoint: ScriptedEndpoint | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

async function connect(script: Script, idleMs = IDLE_MS) {
  endpoint = await startEndpoint(script);
  return createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs, reach: () => {} });
}

function request(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: MODEL,
    maxTokens: 100,
    system: '',
    messages: [{ role: 'user', content: 'Hello there' }],
    caches: false,
    ...more,
  };
}

const forEver = () => new AbortController().signal;

/** Pings until so many were sent, and then goes on. */
function ping(response: ServerResponse, times: number, then: () => void = () => {}): void {
  let sent = 0;
  const timer = setInterval(() => {
    sendEvent(response, 'ping');
    sent += 1;
    if (sent < times) return;
    clearInterval(timer);
    then();
  }, PING_MS);
  response.once('close', () => clearInterval(timer));
}

/** Resolves when the server sees that its connection is gone. */
function closing(): { closed: Promise<void>; watch: (response: ServerResponse) => void } {
  let tell = (): void => {};
  const closed = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { closed, watch: (response) => void response.once('close', () => tell()) };
}

test('a stream that only pings for several idle times is not cut off, before its beginning and after', async () => {
  const model = await connect((response) => {
    ping(response, 12, () => {
      sendStart(response);
      ping(response, 12, () => {
        sendWords(response, 'thought about it');
        sendEnd(response);
      });
    });
  });
  const result = await model.send(request(), forEver());
  expect(result).toMatchObject({ ok: true, answer: { text: 'thought about it' } });
});

test('bytes that make no event are no silence either', async () => {
  const model = await connect((response) => {
    sendStart(response);
    let left = 12;
    const timer = setInterval(() => {
      response.write(': still here\n');
      left -= 1;
      if (left > 0) return;
      clearInterval(timer);
      sendWords(response, 'slow');
      sendEnd(response);
    }, PING_MS);
  });
  expect(await model.send(request(), forEver())).toMatchObject({ ok: true, answer: { text: 'slow' } });
});

test.each<[string, (response: ServerResponse) => void]>([
  ['before the headers', () => {}],
  ['after the headers', (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()],
  ['after a ping', (response) => sendEvent(response, 'ping')],
  [
    'in the middle of an event',
    (response) => {
      sendStart(response);
      response.write('event: content_blo');
    },
  ],
])('silence %s ends the call and its connection', async (_when, begin) => {
  const { closed, watch } = closing();
  const model = await connect((response) => {
    watch(response);
    begin(response);
  });
  const result = await model.send(request(), forEver());
  expect(result).toMatchObject({ ok: false, failure: { kind: 'transient', reason: 'timeout' } });
  await closed;
});

test('an abort ends the call and its connection while it pings', async () => {
  const { closed, watch } = closing();
  const stop = new AbortController();
  const model = await connect((response) => {
    watch(response);
    sendStart(response);
    ping(response, 1_000);
    setTimeout(() => stop.abort(), PING_MS * 3);
  });
  expect(await model.send(request(), stop.signal)).toMatchObject({ ok: false, failure: { reason: 'aborted' } });
  await closed;
});

const LOGIN = '<!doctype html><html><body><form>Please sign in</form></body></html>';

test.each<[string, Script, string, string]>([
  [
    'a login page',
    (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end(LOGIN),
    'transient',
    'server_error',
  ],
  [
    'an empty body',
    (r) => void r.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
    'transient',
    'cut_stream',
  ],
  ['JSON that is no message', (r) => json(r, { status: 'ok' }), 'transient', 'server_error'],
  ['JSON that is null', (r) => json(r, null), 'transient', 'server_error'],
  ['a long JSON that is cut', (r) => json(r, { data: 'x'.repeat(100_000) }), 'transient', 'server_error'],
  [
    'an error with a status of 200',
    (r) => json(r, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    'transient',
    'overloaded',
  ],
  [
    'an overflow with a status of 200',
    (r) => json(r, { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } }),
    'token',
    'prompt_too_long',
  ],
  [
    'an error event',
    (r) => {
      sendStart(r);
      sendEvent(r, 'error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
      r.end();
    },
    'transient',
    'overloaded',
  ],
  [
    'a stream without its end',
    (r) => {
      sendStart(r);
      sendWords(r, 'half a');
      r.end();
    },
    'transient',
    'cut_stream',
  ],
  [
    'an event that is no JSON',
    (r) => {
      sendStart(r);
      r.end('event: content_block_delta\ndata: {"type": oops\n\n');
    },
    'transient',
    'unknown',
  ],
  [
    'a message that has no content',
    (r) => {
      sendEvent(r, 'message_start', { message: {} });
      sendWords(r, 'x');
      sendEnd(r);
    },
    'transient',
    'unknown',
  ],
])('%s is a failure, and nothing is thrown', async (_what, script, kind, reason) => {
  const model = await connect(script, 5_000);
  expect(await model.send(request(), forEver())).toMatchObject({ ok: false, failure: { kind, reason } });
});

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

test('an answer without a usage is an answer that says nothing of its cost', async () => {
  const model = await connect((response) => {
    const message = { id: 'x', type: 'message', role: 'assistant', model: MODEL, content: [], stop_reason: null };
    sendEvent(response, 'message_start', { message });
    sendWords(response, 'fine');
    sendEnd(response, {});
  });
  const result = await model.send(request(), forEver());
  expect(result).toMatchObject({ ok: true, answer: { text: 'fine', usage: { inputTokens: 0, outputTokens: 0 } } });
});

test('a refusal before the stream is judged by its words, as ever', async () => {
  const model = await connect((response) => sendRefusal(response, 529, 'overloaded_error', 'Overloaded'));
  expect(await model.send(request(), forEver())).toMatchObject({ ok: false, failure: { reason: 'overloaded' } });
});

test('many calls at once do not disturb one another: each has its own watch', async () => {
  const model = await connect((response, _body, index) => {
    if (index === 0) return;
    ping(response, 8, () => sendAnswer(response, 'fine'));
  });
  const results = await Promise.all(Array.from({ length: 5 }, () => model.send(request(), forEver())));
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true, true, true, true]);
});

const spentOf = (result: ModelResult): Usage | undefined => (result.ok ? undefined : result.spent);
const LONG = 'word '.repeat(400);

test.each<[string, Script]>([
  ['that is cut', (response) => response.end()],
  ['that falls silent', () => {}],
  [
    'that fails in an event',
    (r) => r.end('event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n'),
  ],
])('an answer %s is billed: its input as stated, its output as far as it was written', async (_how, end) => {
  const usage = { input_tokens: 100, cache_read_input_tokens: 900, cache_creation_input_tokens: 50, output_tokens: 1 };
  const model = await connect((response, body, index) => {
    sendStart(response, usage);
    sendWords(response, LONG);
    end(response, body, index);
  });
  const spent = spentOf(await model.send(request(), forEver()));
  expect(spent).toMatchObject({ inputTokens: 1_050, cacheReadTokens: 900, cacheWriteTokens: 50 });
  expect(spent?.outputTokens).toBeGreaterThan(300);
  expect(spent?.outputTokens).toBeLessThan(1_000);
});

test('an abort in the middle of thinking and of a tool’s input counts both', async () => {
  const stop = new AbortController();
  const model = await connect((response) => {
    sendStart(response);
    sendEvent(response, 'content_block_start', {
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    });
    sendEvent(response, 'content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: LONG } });
    sendEvent(response, 'content_block_stop', { index: 0 });
    sendEvent(response, 'content_block_start', {
      index: 1,
      content_block: { type: 'tool_use', id: 't', name: 'n', input: {} },
    });
    sendEvent(response, 'content_block_delta', {
      index: 1,
      delta: { type: 'input_json_delta', partial_json: `{"a":"${LONG}` },
    });
    setTimeout(() => stop.abort(), PING_MS);
  });
  const result = await model.send(request(), stop.signal);
  expect(result).toMatchObject({ ok: false, failure: { reason: 'aborted' }, spent: { inputTokens: 100 } });
  expect(spentOf(result)?.outputTokens).toBeGreaterThan(600);
});

test('a call that was taken, and cut before it began, is billed its input as we count it', async () => {
  const model = await connect((response) => sendEvent(response, 'ping'));
  const words = request({ messages: [{ role: 'user', content: LONG }] });
  const spent = spentOf(await model.send(words, forEver()));
  expect(spent?.inputTokens).toBeGreaterThan(400);
  expect(spent).toMatchObject({ outputTokens: 0 });
});

test.each<[string, Script]>([
  ['a refusal', (r) => sendRefusal(r, 400, 'invalid_request_error', 'no')],
  ['a rate limit', (r) => sendRefusal(r, 429, 'rate_limit_error', 'slow down')],
  ['an overload', (r) => sendRefusal(r, 529, 'overloaded_error', 'Overloaded')],
  [
    'an error as the first event',
    (r) => void sendEvent(r, 'error', { error: { type: 'overloaded_error', message: 'x' } }),
  ],
  ['a login page', (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end(LOGIN)],
  ['a connection that died', (r) => void r.destroy()],
  ['silence before the headers', () => {}],
])('%s is billed nothing', async (_what, script) => {
  const model = await connect(script);
  const result = await model.send(request(), forEver());
  expect(result.ok).toBe(false);
  expect(spentOf(result)).toBeUndefined();
});

test('the counters of an answer are read: what was written to the cache, for how long, and what was thought', async () => {
  const model = await connect((response) => {
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
  expect(await model.send(request(), forEver())).toMatchObject({
    answer: {
      usage: {
        inputTokens: 60,
        outputTokens: 40,
        cacheReadTokens: 20,
        cacheWriteTokens: 30,
        cacheWrite1hTokens: 18,
        thinkingTokens: 33,
      },
    },
  });
});
