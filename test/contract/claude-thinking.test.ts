import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, type Params, stream, wireEvents } from '../fixture/claude.ts';
import { bindsByName } from '../stand-in/claude/names.ts';
import type { ClaudeOptions } from '../stand-in/claude/server.ts';

const lines = new ClaudeLines();
afterEach(() => lines.closeAll());

const TOOLS: Params['tools'] = [{ name: 'look', input_schema: { type: 'object' } }];
const typesOf = (content: { type: string }[]): string[] => content.map(({ type }) => type);

test('each answer starts with a thinking block whose text is hidden and whose tokens are billed', async () => {
  const { claude, client } = await lines.start({ thinks: 300 });
  for (const message of [await client.messages.create(ask('Hi')), await stream(client, ask('Hi'))]) {
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: '', signature: expect.stringMatching(/^.{1000,}$/) },
      { type: 'text', text: 'You said: Hi' },
    ]);
    expect(message.usage.output_tokens_details).toEqual({ thinking_tokens: 300 });
    expect(message.usage.output_tokens).toBeGreaterThan(300);
  }
  expect(claude.calls[0]?.usd).toBeGreaterThan(300 * 20e-6);
});

test('a stream sends pings while it thinks, and the signature in one delta', async () => {
  const { claude } = await lines.start({ thinks: 300, pondering: { forMs: 60, everyMs: 10 } });
  const events = await wireEvents(claude, ask('Hi'));
  const start = events.findIndex(({ type }) => type === 'content_block_start');
  const end = events.findIndex(({ type }) => type === 'content_block_stop');
  const within = events.slice(start + 1, end);
  expect(events[start]).toMatchObject({ content_block: { type: 'thinking', thinking: '', signature: '' } });
  expect(within.filter(({ type }) => type === 'ping').length).toBeGreaterThan(0);
  expect(within.filter(({ type }) => type !== 'ping')).toMatchObject([{ delta: { type: 'signature_delta' } }]);
});

test('shows a summary of the thinking when display is summarized', async () => {
  const { client } = await lines.start({ thinks: 300 });
  const { content } = await stream(client, ask('Hi', { thinking: { type: 'adaptive', display: 'summarized' } }));
  expect(content[0]).toMatchObject({ thinking: 'It is about: Hi', signature: expect.stringMatching(/.{64}/) });
});

test('thinking that uses up max_tokens leaves no text; thinking that nearly does leaves a cut one', async () => {
  const { claude, client } = await lines.start({ thinks: (call) => Number(call.pendingText) });
  claude.react(() => ({ do: 'answer', text: 'word '.repeat(500) }));
  const silent = await stream(client, ask('1000'));
  expect([typesOf(silent.content), silent.stop_reason]).toEqual([['thinking'], 'max_tokens']);
  expect(silent.usage).toMatchObject({ output_tokens: 1000, output_tokens_details: { thinking_tokens: 1000 } });
  claude.react(({ index }) =>
    index === 1 ? { do: 'answer', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] } : undefined,
  );
  expect(typesOf((await stream(client, ask('1000'))).content)).toEqual(['thinking']);
  const cut = await stream(client, ask('900'));
  expect([typesOf(cut.content), cut.stop_reason]).toEqual([['thinking', 'text'], 'max_tokens']);
  expect(cut.usage.output_tokens).toBeLessThanOrEqual(1000);
  expect(cut.usage.output_tokens).toBeGreaterThan(950);
});

test('the effort scales the number of thinking tokens', async () => {
  const { client } = await lines.start({ thinks: 80 });
  const thought: (number | undefined)[] = [];
  for (const effort of ['low', 'medium', 'high', 'xhigh', 'max', null] as const) {
    const { usage } = await client.messages.create(ask('Hi', { output_config: { effort } }));
    thought.push(usage.output_tokens_details?.thinking_tokens);
  }
  expect(thought).toEqual([20, 80, 160, 320, 640, 80]);
});

test('thinking that is sent back counts as input and is bound to the prompt before it', async () => {
  const { claude, client } = await lines.start({ thinks: 300, bindThinking: true, ratio: 2 });
  claude.react((call) =>
    call.index === 0
      ? { do: 'answer', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] }
      : undefined,
  );
  const first = await stream(client, ask('Hi', { tools: TOOLS }));
  expect([typesOf(first.content), first.stop_reason]).toEqual([['thinking', 'tool_use'], 'tool_use']);
  const back: Params['messages'] = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: first.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'found' }] },
  ];
  const second = await client.messages.create(ask('', { tools: TOOLS, messages: back }));
  const more = second.usage.input_tokens - first.usage.input_tokens;
  expect([more > 300, more < 400]).toEqual([true, true]);
  const edited = await failure(client.messages.create(ask('', { tools: TOOLS, messages: back, system: 'New' })));
  expect(edited.message).toContain('bound to a different conversation');
});

test('bindsByName binds the thinking of claude-opus-5.5, not of claude-opus-5 or claude-sonnet-4-6', async () => {
  const { client } = await lines.start({ thinks: 300, bindThinking: bindsByName });
  for (const [model, binds] of [
    ['anthropic/claude-opus-5.5', true],
    ['claude-opus-5', false],
    ['claude-sonnet-4-6', false],
  ] as const) {
    const { content } = await client.messages.create(ask('Hi', { model }));
    const messages = [...ask('Hi').messages, { role: 'assistant' as const, content }, ...ask('On').messages];
    const edited = client.messages.create(ask('', { model, messages, system: 'New' }));
    if (binds) expect((await failure(edited)).message).toContain('bound to a different conversation');
    else expect((await edited).stop_reason).toBe('end_turn');
  }
});

test('two answers to the same request have different signatures', async () => {
  const { client } = await lines.start({ thinks: 50 });
  const [one, two] = [await stream(client, ask('Hi')), await stream(client, ask('Hi'))];
  expect(one.content[0]).not.toEqual(two.content[0]);
});

test('a truncated answer has thinking; a refusal without content has no thinking', async () => {
  const { claude, client } = await lines.start({ thinks: 50 });
  claude.react(({ index }) =>
    index === 0 ? { do: 'truncate', text: 'Half' } : { do: 'answer', content: [], stopReason: 'refusal' },
  );
  const events = await wireEvents(claude, ask('Hi'));
  expect(events.filter(({ type }) => type === 'content_block_start')).toMatchObject([
    { content_block: { type: 'thinking' } },
    { content_block: { type: 'text' } },
  ]);
  expect((await stream(client, ask('Hi'))).content).toEqual([]);
});

const BUDGET: Partial<Params> = { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } };
const REFUSED: [name: string, options: ClaudeOptions, more: object, says: string][] = [
  [
    'an unknown effort',
    {},
    { output_config: { effort: 'huge' } },
    "output_config.effort: Input should be 'low', 'medium'",
  ],
  ['an unknown key of output_config', {}, { output_config: { depth: 1 } }, 'output_config.depth: Extra inputs'],
  ['an unknown kind of thinking', {}, { thinking: { type: 'deep' } }, "thinking: Input tag 'deep'"],
  [
    'an unknown key of thinking',
    {},
    { thinking: { type: 'adaptive', budget_tokens: 5 } },
    'budget_tokens: Extra inputs',
  ],
  ['an unknown display', {}, { thinking: { type: 'adaptive', display: 'full' } }, "'summarized' or 'omitted'"],
  [
    'a budget below 1024 tokens',
    {},
    { thinking: { type: 'enabled', budget_tokens: 10 } },
    'greater than or equal to 1024',
  ],
  [
    'a budget that is not below max_tokens',
    {},
    { thinking: { type: 'enabled', budget_tokens: 1024 } },
    'must be greater than',
  ],
  [
    'a budget for a model that always thinks',
    { thinks: 9 },
    BUDGET,
    '"thinking.type.enabled" is not supported for this model',
  ],
  [
    'disabled thinking for a model that always thinks',
    { thinks: 9 },
    { thinking: { type: 'disabled' } },
    '"thinking.type.disabled"',
  ],
  [
    'tool_choice any for a model that thinks',
    { thinks: 9 },
    { tools: TOOLS, tool_choice: { type: 'any' } },
    'tool_choice: "any"',
  ],
  [
    'tool_choice tool for a model that thinks',
    { thinks: 9 },
    { tools: TOOLS, tool_choice: { type: 'tool', name: 'look' } },
    'tool_choice: "tool"',
  ],
  ['a tool_choice without tools', {}, { tool_choice: { type: 'auto' } }, 'only be specified while providing tools'],
  [
    'a tool_choice that names an unknown tool',
    {},
    { tools: TOOLS, tool_choice: { type: 'tool', name: 'x' } },
    "Tool 'x' not found",
  ],
  ['an unknown tool_choice', {}, { tools: TOOLS, tool_choice: { type: 'required' } }, "Input tag 'required'"],
  ['a temperature of 0', {}, { temperature: 0 }, '`temperature` is deprecated for this model.'],
  ['a top_k of 5', {}, { top_k: 5 }, '`top_k` is deprecated for this model.'],
];

for (const [name, options, more, says] of REFUSED) {
  test(`refuses ${name}`, async () => {
    const { claude, client } = await lines.start(options);
    const error = await failure(client.messages.create({ ...ask('Hi'), ...more } as Params));
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error' });
    expect(claude.violations().map(({ violation }) => violation?.message)).toEqual([expect.stringContaining(says)]);
  });
}

test('accepts the default values when they are spelled out', async () => {
  const { claude, client } = await lines.start({ thinks: 10 });
  const defaults = { thinking: { type: 'adaptive' }, tool_choice: { type: 'auto' }, temperature: 1, top_p: 1 };
  await client.messages.create({ ...ask('Hi', { tools: TOOLS }), ...defaults } as Params);
  expect(claude.violations()).toEqual([]);
});

test('accepts a ban and a budget where the model does not think', async () => {
  const { claude, client } = await lines.start();
  for (const more of [BUDGET, { thinking: { type: 'disabled' } } as const])
    await client.messages.create(ask('Hi', more));
  expect(claude.violations()).toEqual([]);
});

test('a slow prefill sends pings before message_start', async () => {
  const { claude } = await lines.start({ prefill: { forMs: 50, everyMs: 10 } });
  const events = await wireEvents(claude, ask('Hi'));
  const pings = events.findIndex(({ type }) => type !== 'ping');
  expect(pings).toBeGreaterThan(0);
  expect(events[pings]).toMatchObject({ type: 'message_start' });
});
