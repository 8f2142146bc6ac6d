import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../../worker/model/claude/adapter.ts';
import type { Usage } from '../../../worker/model/port.ts';
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

const SOON_MS = 60;
/** About 400 tokens. */
const LONG = 'word '.repeat(400);

let endpoint: ScriptedEndpoint | undefined;
afterEach(() => endpoint?.close());

/** Asks something long; returns the result with its bill. */
async function ask(script: Script, signal = new AbortController().signal) {
  endpoint = await startEndpoint(script);
  const model = createClaude({ apiKey: 'k', baseURL: endpoint.url, idleMs: 300, reach: () => {} });
  const messages = [{ role: 'user' as const, content: LONG }];
  const result = await model.send({ model: 'm', maxTokens: 100, system: '', messages, caches: false }, signal);
  const spent: Usage | undefined = result.ok ? result.answer.usage : result.spent;
  return { result, spent };
}

test.each<[string, Script]>([
  ['that is cut', (response) => response.end()],
  ['that falls silent', () => {}],
  ['that fails in an event', (r) => sendEvent(r, 'error', { error: { type: 'api_error', message: 'x' } })],
])('an answer %s is billed for its stated input and the output written so far', async (_how, end) => {
  const usage = { input_tokens: 100, cache_read_input_tokens: 900, cache_creation_input_tokens: 50, output_tokens: 1 };
  const { spent } = await ask((response, body, index) => {
    sendStart(response, usage);
    sendWords(response, LONG);
    end(response, body, index);
  });
  expect(spent).toMatchObject({ inputTokens: 1_050, cacheReadTokens: 900, cacheWriteTokens: 50 });
  expect(spent?.outputTokens).toBeGreaterThan(300);
  expect(spent?.outputTokens).toBeLessThan(1_000);
});

test('an abort is billed for the thinking and the partial tool input written so far', async () => {
  const stop = new AbortController();
  const { result, spent } = await ask((response) => {
    sendStart(response);
    for (const [index, delta] of [
      { type: 'thinking_delta', thinking: LONG },
      { type: 'input_json_delta', partial_json: `{"a":"${LONG}` },
    ].entries()) {
      const block = { type: index === 0 ? 'thinking' : 'tool_use', id: 't', name: 'n' };
      sendEvent(response, 'content_block_start', { index, content_block: block });
      sendEvent(response, 'content_block_delta', { index, delta });
    }
    setTimeout(() => stop.abort(), SOON_MS);
  }, stop.signal);
  expect(result).toMatchObject({ ok: false, failure: { reason: 'aborted' }, spent: { inputTokens: 100 } });
  expect(spent?.outputTokens).toBeGreaterThan(600);
});

test.each<[string, Script, number]>([
  ['left before the headers', () => {}, SOON_MS],
  ['silent before the headers', () => {}, 60_000],
  ['silent after a ping', (response) => sendEvent(response, 'ping'), 60_000],
])('a call that is %s is billed for its input as we count it', async (_how, script, leftMs) => {
  const { spent } = await ask(script, AbortSignal.timeout(leftMs));
  expect(spent?.inputTokens).toBeGreaterThan(350);
  expect(spent?.outputTokens).toBe(0);
});

test.each<[string, Script]>([
  ['a refusal', (r) => sendRefusal(r, 400, 'invalid_request_error', 'no')],
  ['an overload', (r) => sendRefusal(r, 529, 'overloaded_error', 'Overloaded')],
  ['an error as the first event', (r) => sendEvent(r, 'error', { error: { type: 'overloaded_error', message: 'x' } })],
  ['a login page', (r) => void r.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')],
  ['a connection that died', (r) => void r.destroy()],
])('%s is not billed', async (_what, script) => {
  const { result, spent } = await ask(script);
  expect(result.ok).toBe(false);
  expect(spent).toBeUndefined();
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
