import { afterEach, expect, test } from '@jest/globals';
import { createClaude } from '../../worker/model/claude/adapter.ts';
import type { ModelRequest } from '../../worker/model/port.ts';
import { serverTools } from '../../worker/tools/server-tools.ts';
import { type ClaudeOptions, type ClaudeStandIn, startClaude } from '../stand-in/claude/server.ts';

let claude: ClaudeStandIn;
afterEach(() => claude.close());

const NEVER = new AbortController().signal;
const TOOL = { name: 'look', description: 'looks', inputSchema: { type: 'object' as const }, repeatable: true };
const WEB = serverTools({ WEB_SEARCH: true, WEB_FETCH: true });
const REQUEST: ModelRequest = {
  model: 'claude-opus-5-5',
  maxTokens: 1_000,
  system: 'Be kind.',
  caches: true,
  messages: [{ role: 'user', content: 'Will it rain?' }],
};

/** The gateway's client of a stand-in. */
async function start(options: ClaudeOptions = {}) {
  claude = await startClaude(options);
  return createClaude({ apiKey: 'key', baseURL: claude.url, idleMs: 10_000, reach: () => {} });
}

test.each<[name: string, more: Partial<ModelRequest>]>([
  ['nothing more', {}],
  ['no system prompt', { system: '' }],
  ['tools', { tools: [TOOL] }],
  ['tools of both sides that may not be called', { tools: [TOOL], serverTools: WEB, wordsOnly: true }],
  ['an effort', { effort: 'xhigh' }],
  ['a prefix that is kept for an hour', { tools: [TOOL], cacheLifetime: '1h' }],
  ['a prefix that is not kept', { caches: false }],
])('a request of ours with %s is accepted and counted', async (_, more) => {
  const model = await start({ thinks: 50, bindThinking: true });
  const request = { ...REQUEST, ...more };
  expect(await model.send(request, NEVER)).toMatchObject({ ok: true, answer: { text: 'You said: Will it rain?' } });
  expect(await model.countTokens(request, NEVER)).toBe(claude.calls[0]?.inputTokens);
  expect(claude.violations()).toEqual([]);
});

const BODY = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'a' }] });

test.each<[name: string, body: RequestInit['body'], headers: Record<string, string>, status: number, error: object]>([
  ['no key', BODY, { 'x-api-key': '' }, 401, { type: 'authentication_error', message: 'x-api-key header is required' }],
  ['another key', BODY, { 'x-api-key': 'bad' }, 401, { type: 'authentication_error', message: 'invalid x-api-key' }],
  ['an unknown version', BODY, { 'anthropic-version': 'latest' }, 400, { type: 'invalid_request_error' }],
  [
    'JSON that breaks off',
    '{"model"',
    {},
    400,
    { message: expect.stringMatching(/^The request body is not valid JSON/) },
  ],
  ['invalid UTF-8', Buffer.from([0x7b, 0xff]), {}, 400, { type: 'invalid_request_error' }],
  ['half a pair', '{"model":"\\ud83d"}', {}, 400, { message: expect.stringContaining('no low surrogate in string') }],
  ['more than 32 MB', Buffer.alloc(32 * 1024 * 1024 + 1, 0x20), {}, 413, { type: 'request_too_large' }],
])('a call with %s is refused', async (_, body, more, status, error) => {
  await start({ apiKey: 'key' });
  const headers = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01', ...more };
  const answer = await fetch(`${claude.url}/v1/messages`, { method: 'POST', body: body ?? '', headers });
  const envelope = (await answer.json()) as object;
  expect([answer.status, envelope]).toMatchObject([status, { type: 'error', error }]);
  expect('request_id' in envelope).toBe(status !== 413);
});

test('a request that is wrong is refused whatever a rule says, but for a trouble that is forced', async () => {
  const model = await start();
  const wrong = { ...REQUEST, tools: [{ ...TOOL, inputSchema: { type: 'array' as 'object' } }] };
  claude.react(({ index }) =>
    index === 0
      ? { do: 'answer', text: 'fine' }
      : { do: 'error', status: 529, type: 'overloaded_error', message: 'no' },
  );
  for (const _ of ['refused', 'overloaded']) await model.send(wrong, NEVER);
  expect(claude.violations().map(({ status, reaction }) => [status, reaction])).toEqual([
    [400, 'violation'],
    [529, 'error'],
  ]);
});

test('a prompt over the window is refused with its size as soon as the window is lowered, and is no violation', async () => {
  const model = await start({ windowTokens: 1_000, statedWindowTokens: 5_000 });
  expect(await model.limits(REQUEST.model)).toEqual({ windowTokens: 5_000, maxOutputTokens: 8192 });
  const long = { ...REQUEST, messages: [{ role: 'user' as const, content: 'word '.repeat(400) }] };
  expect(await model.send(long, NEVER)).toMatchObject({ ok: true });
  claude.windowTokens = 100;
  expect(await model.send(long, NEVER)).toMatchObject({ ok: false, failure: { kind: 'token' } });
  expect(claude.calls[1]).toMatchObject({ reaction: 'window', status: 400 });
  expect(claude.violations()).toEqual([]);
});
