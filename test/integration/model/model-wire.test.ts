import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { ModelRequest } from '../../../worker/model/port.ts';
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
} from '../../fixture/scripted-endpoint.ts';

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

test('a stream that only pings for several idle times is not cut off, before and after its start', async () => {
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

test('bytes that form no event also count as activity', async () => {
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

test('an abort ends the call and its connection while the stream pings', async () => {
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
  ['JSON that is not a message', (r) => json(r, { status: 'ok' }), 'transient', 'server_error'],
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
    'a message that was not streamed, with the words of an overflow,',
    (r) => json(r, { content: [], message: 'prompt is too long: 9000 tokens > 8000 maximum' }),
    'transient',
    'server_error',
  ],
  [
    'an answer of another API',
    (r) => json(r, { message: { role: 'assistant', message: 'prompt is too long: 9000 tokens > 8000 maximum' } }),
    'transient',
    'server_error',
  ],
  ['a detail that says too little', (r) => json(r, { detail: 'Something' }), 'transient', 'server_error'],
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
    'an event that is not JSON',
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
])('%s is returned as a failure, and nothing is thrown', async (_what, script, kind, reason) => {
  const model = await connect(script, 5_000);
  expect(await model.send(request(), forEver())).toMatchObject({ ok: false, failure: { kind, reason } });
});

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

test('a result with a tool input that is not JSON can be serialised', async () => {
  const model = await connect((response) => {
    sendStart(response);
    const block = { type: 'tool_use', id: 't', name: 'look', input: {} };
    sendEvent(response, 'content_block_start', { index: 0, content_block: block });
    sendEvent(response, 'content_block_delta', {
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"a": oops}' },
    });
    sendEvent(response, 'message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } });
    sendEvent(response, 'message_stop');
    response.end();
  });
  const result = await model.send(request(), forEver());
  expect(() => JSON.stringify(result)).not.toThrow();
});

test('an answer without usage has 0 input and output tokens', async () => {
  const model = await connect((response) => {
    const message = { id: 'x', type: 'message', role: 'assistant', model: MODEL, content: [], stop_reason: null };
    sendEvent(response, 'message_start', { message });
    sendWords(response, 'fine');
    sendEnd(response, {});
  });
  const result = await model.send(request(), forEver());
  expect(result).toMatchObject({ ok: true, answer: { text: 'fine', usage: { inputTokens: 0, outputTokens: 0 } } });
});

test('a 529 before the stream is classified as overloaded', async () => {
  const model = await connect((response) => sendRefusal(response, 529, 'overloaded_error', 'Overloaded'));
  expect(await model.send(request(), forEver())).toMatchObject({ ok: false, failure: { reason: 'overloaded' } });
});

test('of 5 concurrent calls only the silent one fails', async () => {
  const model = await connect((response, _body, index) => {
    if (index === 0) return;
    ping(response, 8, () => sendAnswer(response, 'fine'));
  });
  const results = await Promise.all(Array.from({ length: 5 }, () => model.send(request(), forEver())));
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true, true, true, true]);
});
