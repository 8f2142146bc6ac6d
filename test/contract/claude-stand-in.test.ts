import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, type Line, stream } from '../fixture/claude.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';
import type { ClaudeOptions, ClaudeStandIn } from '../stand-in/claude/server.ts';

const lines = new ClaudeLines();
const start = (options?: ClaudeOptions): Promise<Line> => lines.start(options);
afterEach(() => lines.closeAll());

const post = (claude: ClaudeStandIn, body: RequestInit['body'], headers: Record<string, string> = {}) =>
  fetch(`${claude.url}/v1/messages`, {
    method: 'POST',
    body: body ?? '',
    headers: { 'x-api-key': 'fake', 'anthropic-version': '2023-06-01', ...headers },
  });

test('echoes the pending text, whole and streamed, and lists both calls', async () => {
  const { claude, client } = await start();
  const whole = await client.messages.create(ask('What is new?'));
  const streamed = await stream(client, ask('What is new?'));
  for (const message of [whole, streamed]) {
    expect(message).toMatchObject({ role: 'assistant', stop_reason: 'end_turn', model: 'claude-opus-5-5' });
    expect(message.content).toEqual([{ type: 'text', text: 'You said: What is new?' }]);
    expect(message.usage.input_tokens).toBe(claude.calls[0]?.inputTokens);
    expect(message.usage.output_tokens).toBeGreaterThan(1);
  }
  expect(claude.calls).toHaveLength(2);
  const last = await claude.waitForCall((call) => call.index === 1 && call.endedAt !== undefined);
  expect(last).toMatchObject({ kind: 'main', pendingText: 'What is new?', reaction: 'answer', status: 200 });
  expect([last.aborted, claude.inFlight(), claude.violations()]).toEqual([undefined, 0, []]);
});

test('a stream has the events of the real API in order, and a request id', async () => {
  const { claude } = await start();
  const answer = await post(claude, JSON.stringify({ ...ask('x'.repeat(200)), stream: true }), {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  });
  const names = [...(await answer.text()).matchAll(/^event: (.+)$/gm)].map((match) => match[1]);
  expect(names.slice(0, 3)).toEqual(['message_start', 'content_block_start', 'ping']);
  expect(names.filter((name) => name === 'content_block_delta').length).toBeGreaterThan(3);
  expect(names.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
  expect(answer.headers.get('request-id')).toBe(claude.calls[0]?.requestId);
  expect(claude.calls[0]?.traceparent).toContain('0af7651916cd43dd');
});

test('a request with a summariser system prompt counts as a compaction and gets a plain paragraph', async () => {
  const { claude, client } = await start();
  const summary = await client.messages.create(ask('user: hi\nassistant: hello', { system: 'Summarise the talk.' }));
  expect(claude.calls[0]?.kind).toBe('compaction');
  expect(summary.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/^The conversation so far/) });
});

test('a violation gets the real 400 and is listed, even when a rule would answer it', async () => {
  const { claude, client } = await start();
  claude.react(() => ({ do: 'answer', text: 'fine' }));
  const error = await failure(client.messages.create(ask('', {})));
  expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(claude.violations()).toMatchObject([{ status: 400, reaction: 'violation', violation: { rule: 5 } }]);
});

test('answers 401 to a request without a key and 400 to one with an invalid version', async () => {
  const { claude } = await start();
  const without = await post(claude, JSON.stringify(ask('a')), { 'x-api-key': '' });
  expect([without.status, await without.json()]).toMatchObject([401, { error: { type: 'authentication_error' } }]);
  const versionless = await post(claude, JSON.stringify(ask('a')), { 'anthropic-version': 'latest' });
  expect(versionless.status).toBe(400);
  expect(claude.calls.map(({ reaction }) => reaction)).toEqual(['unauthorized', 'unauthorized']);
});

test('a stand-in with a key of its own refuses every other key, for calls and for models', async () => {
  const { claude } = await start({ apiKey: 'good' });
  const statusOf = async (key: string) => (await post(claude, JSON.stringify(ask('a')), { 'x-api-key': key })).status;
  expect([await statusOf('bad'), await statusOf('good')]).toEqual([401, 200]);
  const card = (authorization: string) =>
    fetch(`${claude.url}/v1/models/claude-opus-5-5`, { headers: { authorization, 'anthropic-version': '2023-06-01' } });
  expect([(await card('Bearer bad')).status, (await card('Bearer good')).status]).toEqual([401, 200]);
});

test('answers 400 to invalid JSON, a lone surrogate and invalid UTF-8, and 413 to a body over 32 MB', async () => {
  const { claude } = await start();
  const bodies = [
    '{"model"',
    '{"model":"\\ud83d"}',
    Buffer.from([0x7b, 0xff]),
    Buffer.alloc(32 * 1024 * 1024 + 1, 0x20),
  ];
  const answers: Response[] = [];
  for (const body of bodies) answers.push(await post(claude, body));
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 413]);
  expect(claude.violations().map(({ violation }) => violation?.rule)).toEqual([17, 17, 17, 18]);
  expect(await answers[3]?.json()).toEqual({
    type: 'error',
    error: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
  });
});

test('refuses a prompt over the window as soon as the window is lowered, without counting a violation', async () => {
  const { claude, client } = await start({ windowTokens: 1000, statedWindowTokens: 5000 });
  expect((await client.models.retrieve('claude-opus-5-5')).max_input_tokens).toBe(5000);
  await client.messages.create(ask('word '.repeat(400)));
  claude.windowTokens = 100;
  const error = await failure(client.messages.create(ask('word '.repeat(400))));
  const tokens = claude.calls[1]?.inputTokens;
  expect(error.message).toContain(`prompt is too long: ${tokens} tokens > 100 maximum`);
  expect(claude.calls[1]).toMatchObject({ reaction: 'window', status: 400 });
  expect(claude.violations()).toEqual([]);
});

test('with fitErrors refuses input plus output over the window; without it, stops the answer at the window', async () => {
  const [older, newer] = [await start({ windowTokens: 1000, fitErrors: true }), await start({ windowTokens: 1000 })];
  const long = ask('word '.repeat(600));
  const tight = await failure(older.client.messages.create(long));
  expect(tight.message).toMatch(/exceed context limit: \d+ \+ 1000 > 1000, decrease/);
  expect(older.claude.calls[0]?.reaction).toBe('fit');
  newer.claude.react(() => ({ do: 'answer', text: 'yes '.repeat(2000) }));
  const cut = await newer.client.messages.create(long);
  expect(cut.stop_reason).toBe('model_context_window_exceeded');
  expect(cut.usage.input_tokens + cut.usage.output_tokens).toBeLessThanOrEqual(1000);
});

test('streams given thinking, signed, and tool calls', async () => {
  const { claude, client } = await start({ bindThinking: true });
  const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { path: 'a/b', deep: [1, 'ü', { x: null }] } };
  claude.react(({ index }) =>
    index === 0 ? { do: 'answer', content: [{ type: 'thinking', thinking: 'hm' }, call] } : undefined,
  );
  const params = ask('look', { tools: [{ name: 'look', input_schema: { type: 'object' } }] });
  const first = await stream(client, params);
  expect(first.stop_reason).toBe('tool_use');
  expect(first.content).toMatchObject([
    { type: 'thinking', thinking: 'hm', signature: expect.stringMatching(/.{20}/) },
    call,
  ]);
});

test('the last rule that answers wins, and rules see each call once', async () => {
  const { claude, client } = await start();
  const seen: number[] = [];
  claude.react(() => ({ do: 'answer', text: 'first' }));
  claude.react((call) => {
    seen.push(call.index);
    return call.pendingText === 'b'
      ? { do: 'answer', text: 'second', stopReason: 'refusal', usage: { output_tokens: 0 } }
      : undefined;
  });
  expect((await client.messages.create(ask('a'))).content[0]).toMatchObject({ text: 'first' });
  expect(await client.messages.create(ask('b'))).toMatchObject({ stop_reason: 'refusal', usage: { output_tokens: 0 } });
  expect(seen).toEqual([0, 1]);
});

const BROKEN: [Reaction, RegExp | object][] = [
  [{ do: 'overflow' }, /prompt is too long: 214000 tokens > 200000 maximum/],
  [{ do: 'overflow', observedTokens: 350_000, limitTokens: 180_000 }, /350000 tokens > 180000 maximum/],
  [
    { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' },
    { status: 529, type: 'overloaded_error' },
  ],
  [{ do: 'errorEvent', type: 'overloaded_error', message: 'Overloaded' }, { type: 'overloaded_error' }],
  [{ do: 'raw', status: 502, body: '<html>' }, { status: 502 }],
  [{ do: 'cut', text: 'Half of it' }, /terminated/],
  [{ do: 'truncate', text: 'Half of it' }, /without producing a Message|ended/],
];

for (const [reaction, expected] of BROKEN) {
  test(`the official client throws on ${reaction.do} ${JSON.stringify(reaction).slice(0, 50)}`, async () => {
    const { claude, client } = await start();
    claude.react(() => reaction);
    const error = await failure(stream(client, ask('a')));
    if (expected instanceof RegExp) expect(error.message).toMatch(expected);
    else expect(error).toMatchObject(expected);
    const call = await claude.waitForCall(({ endedAt }) => endedAt !== undefined);
    expect(call).toMatchObject({ reaction: reaction.do });
    expect(call.aborted).toBeUndefined();
  });
}

test('a forced 429 carries retry-after, even on a request that is a violation', async () => {
  const { claude, client } = await start();
  claude.react(() => ({
    do: 'error',
    status: 429,
    type: 'rate_limit_error',
    message: 'Slow',
    headers: { 'retry-after': '7' },
  }));
  const error = (await failure(client.messages.create(ask('')))) as InstanceType<typeof Anthropic.RateLimitError>;
  expect([error.status, error.headers?.get('retry-after')]).toEqual([429, '7']);
  expect(claude.violations()).toHaveLength(1);
});

for (const reaction of [{ do: 'hang' }, { do: 'silent', text: 'Some of it' }] satisfies Reaction[]) {
  test(`a call with the reaction ${reaction.do} stays in flight until the client disconnects`, async () => {
    const { claude, client } = await start();
    claude.react(() => reaction);
    const leave = new AbortController();
    const answer = failure(stream(client, ask('a'), leave.signal));
    await claude.waitForCall((call) => call.reaction === reaction.do);
    expect(claude.inFlight()).toBe(1);
    leave.abort();
    await answer;
    const call = await claude.waitForCall(({ aborted }) => aborted === true);
    expect([call.status, claude.inFlight()]).toEqual([reaction.do === 'hang' ? 0 : 200, 0]);
  });
}

test('marks a call as aborted when the client disconnects in the middle of a slow answer', async () => {
  const { claude, client } = await start({ deltaDelayMs: 20 });
  const leave = new AbortController();
  const slow = client.messages.stream(ask('x'.repeat(400)), { signal: leave.signal });
  slow.once('text', () => leave.abort());
  await failure(slow.finalMessage());
  expect(await claude.waitForCall(({ endedAt }) => endedAt !== undefined)).toMatchObject({ aborted: true });
});

test('answers 404 for models when it does not serve them, and for every other path', async () => {
  const { claude, client } = await start({ servesModels: false, countsTokens: false });
  expect(await failure(client.models.retrieve('x'))).toMatchObject({ status: 404, type: 'not_found_error' });
  expect(await failure(client.messages.countTokens(ask('a')))).toMatchObject({ status: 404 });
  expect(claude.otherRequests).toEqual(['GET /v1/models/x -> 404', 'POST /v1/messages/count_tokens -> 404']);
});
