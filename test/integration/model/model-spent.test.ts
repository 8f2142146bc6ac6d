import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { ModelRequest, ModelResult, Usage } from '../../../worker/model/port.ts';
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

const IDLE_MS = 300;
const SOON_MS = 60;

let endpoint: ScriptedEndpoint | undefined;

afterEach(async () => {
  await endpoint?.close();
  endpoint = undefined;
});

async function connect(script: Script) {
  endpoint = await startEndpoint(script);
  return createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs: IDLE_MS, reach: () => {} });
}

function request(content = 'Hello there'): ModelRequest {
  return {
    model: 'claude-opus-5-5',
    maxTokens: 100,
    system: '',
    messages: [{ role: 'user', content }],
    caches: false,
  };
}

const forEver = () => new AbortController().signal;

const spentOf = (result: ModelResult): Usage | undefined => (result.ok ? undefined : result.spent);
const LONG = 'word '.repeat(400);

test.each<[string, Script]>([
  ['that is cut', (response) => response.end()],
  ['that falls silent', () => {}],
  [
    'that fails in an event',
    (r) => r.end('event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n'),
  ],
])('an answer %s is billed for its stated input and the output written so far', async (_how, end) => {
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

test('an abort is billed for the thinking and the partial tool input written so far', async () => {
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
    setTimeout(() => stop.abort(), SOON_MS);
  });
  const result = await model.send(request(), stop.signal);
  expect(result).toMatchObject({ ok: false, failure: { reason: 'aborted' }, spent: { inputTokens: 100 } });
  expect(spentOf(result)?.outputTokens).toBeGreaterThan(600);
});

test('a call that is cut after a ping, before the answer starts, is billed for its input as we count it', async () => {
  const model = await connect((response) => sendEvent(response, 'ping'));
  const spent = spentOf(await model.send(request(LONG), forEver()));
  expect(spent?.inputTokens).toBeGreaterThan(400);
  expect(spent).toMatchObject({ outputTokens: 0 });
});

test.each(['left', 'silent'])(
  'a call that is %s before the headers is billed for its input as we count it',
  async (how) => {
    const model = await connect(() => {});
    const signal = how === 'left' ? AbortSignal.timeout(SOON_MS) : forEver();
    expect(spentOf(await model.send(request(LONG), signal))?.inputTokens).toBeGreaterThan(400);
  },
);

test.each<[string, Script]>([
  ['a refusal', (r) => sendRefusal(r, 400, 'invalid_request_error', 'no')],
  ['a rate limit', (r) => sendRefusal(r, 429, 'rate_limit_error', 'slow down')],
  ['an overload', (r) => sendRefusal(r, 529, 'overloaded_error', 'Overloaded')],
  [
    'an error as the first event',
    (r) => void sendEvent(r, 'error', { error: { type: 'overloaded_error', message: 'x' } }),
  ],
  ['a login page', (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')],
  ['a connection that died', (r) => void r.destroy()],
])('%s is not billed', async (_what, script) => {
  const model = await connect(script);
  const result = await model.send(request(), forEver());
  expect(result.ok).toBe(false);
  expect(spentOf(result)).toBeUndefined();
});

test('reads the usage of an answer: cache reads, cache writes by lifetime, and thinking tokens', async () => {
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
