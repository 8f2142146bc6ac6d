import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, type Params, stream, wireEvents } from '../fixture/claude.ts';
import { GUARDRAILS, type Guardrail } from '../stand-in/claude/guardrails.ts';

const lines = new ClaudeLines();
afterEach(() => lines.closeAll());

const GUILTY = /plutonium/i;
const TOOLS: Params['tools'] = [{ name: 'look', input_schema: { type: 'object' } }];
const turns = (...said: Params['messages'][number]['content'][]): Params['messages'] =>
  said.map((content, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content }));
const looked = (input: object, result: string): Params['messages'] =>
  turns(
    'Look.',
    [{ type: 'tool_use', id: 't1', name: 'look', input }],
    [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: result }] }],
  );

const PLACES: [place: string, more: Partial<Params>][] = [
  ['messages.0.content', { messages: turns('About plutonium.', 'No.', 'Why?') }],
  ['messages.1.content.0.input.what', { messages: looked({ what: 'Plutonium' }, 'none'), tools: TOOLS }],
  ['messages.2.content.0.content.0.text', { messages: looked({}, 'PLUTONIUM found'), tools: TOOLS }],
];

for (const [place, more] of PLACES) {
  test(`the model refuses for the text at ${place}, in a stream with status 200`, async () => {
    const { claude, client } = await lines.start({ refusesText: { pattern: GUILTY, category: 'bio' } });
    const message = await stream(client, ask('', more));
    expect(message).toMatchObject({ content: [], stop_reason: 'refusal' });
    expect(message.stop_details).toMatchObject({ type: 'refusal', category: 'bio', explanation: null });
    expect(claude.calls[0]).toMatchObject({ status: 200, guilty: place });
    expect(claude.violations()).toEqual([]);
    expect((await stream(client, ask('And the weather?'))).stop_reason).toBe('end_turn');
  });

  test(`a guardrail rejects for the text at ${place}, and lets the next request through`, async () => {
    const { claude, client } = await lines.start({ rejectsText: { pattern: GUILTY, respond: 'bedrock' } });
    const error = await failure(stream(client, ask('', more)));
    expect(error.message).toContain(`Malformed input request: #/messages/${place.split('.')[1]}:`);
    expect(claude.calls[0]).toMatchObject({ status: 400, guilty: place });
    expect((await stream(client, ask('And the weather?'))).stop_reason).toBe('end_turn');
  });
}

test('a guardrail also reads the system prompt and tool descriptions, but not signatures', async () => {
  const { claude, client } = await lines.start({ rejectsText: { pattern: GUILTY, respond: 'bodyless' } });
  await failure(client.messages.create(ask('Hi', { system: 'Plutonium is fine.' })));
  await failure(client.messages.create(ask('Hi', { tools: [{ ...TOOLS[0], description: 'plutonium' } as never] })));
  expect(claude.calls.map(({ guilty }) => guilty)).toEqual(['system', 'tools.0.description']);
  const signed = { type: 'thinking' as const, thinking: '', signature: 'plutoniumplutonium' };
  await client.messages.create(ask('', { messages: turns('a', [signed, { type: 'text', text: 'b' }], 'c') }));
});

const SEEN: Readonly<Record<Guardrail, { status: number | undefined; [key: string]: unknown }>> = {
  bodyless: { status: 400, error: undefined },
  page400: { status: 400, error: undefined },
  page403: { status: 403, error: undefined },
  bedrock: { status: 400, error: { message: expect.stringContaining('#/messages/0:') } },
  invalidData: { status: 400, type: 'invalid_request_error' },
  moderation: { status: 403, error: { error: { code: 403 } } },
  openai: { status: 400, error: { error: { code: 'content_filter' } } },
  litellm: { status: 400, error: { error: { code: '400' } } },
  unprocessable: { status: 422, error: { detail: [{ loc: ['body', 'messages', '0', 'content'] }] } },
  event: { status: undefined, type: 'invalid_request_error' },
};

for (const name of Object.keys(GUARDRAILS) as Guardrail[]) {
  test(`the official client reports the status and error of the guardrail ${name}`, async () => {
    const { claude, client } = await lines.start({ rejectsText: { pattern: GUILTY, respond: name } });
    expect(await failure(stream(client, ask('plutonium')))).toMatchObject(SEEN[name]);
    expect(claude.calls[0]).toMatchObject({
      guilty: 'messages.0.content',
      status: name === 'event' ? 200 : SEEN[name].status,
    });
    const whole = await failure(client.messages.create(ask('plutonium')));
    expect(whole.status).toBe(SEEN[name].status ?? 400);
  });
}

test('a guard can be set and removed while the server runs', async () => {
  const { claude, client } = await lines.start();
  claude.guard.rejectsText = { pattern: GUILTY, respond: { do: 'raw', status: 451, body: 'no' } };
  expect(await failure(client.messages.create(ask('plutonium')))).toMatchObject({ status: 451 });
  delete claude.guard.rejectsText;
  await client.messages.create(ask('plutonium'));
  claude.guard.refusesText = { pattern: GUILTY, said: 'Well, first' };
  expect(await client.messages.create(ask('plutonium'))).toMatchObject({
    stop_reason: 'refusal',
    content: [{ type: 'text', text: 'Well, first' }],
  });
});

test('a violation is listed even behind a guardrail, and it precedes a refusal', async () => {
  const { claude, client } = await lines.start({ refusesText: GUILTY });
  const broken = ask('', { messages: turns('plutonium', 'b') });
  expect(await failure(client.messages.create(broken))).toMatchObject({ status: 400 });
  claude.guard.rejectsText = { pattern: GUILTY, respond: 'page403' };
  expect(await failure(client.messages.create(broken))).toMatchObject({ status: 403 });
  expect(claude.violations().map(({ violation }) => violation?.rule)).toEqual([4, 4]);
});

test('a refused stream has no content: message_start, message_delta with stop_reason refusal, message_stop', async () => {
  const { claude } = await lines.start({ refusesText: GUILTY, thinks: 20 });
  const events = await wireEvents(claude, ask('plutonium'));
  expect(events.map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop']);
  expect(events[1]).toMatchObject({ delta: { stop_reason: 'refusal', stop_details: { category: 'general_harms' } } });
});

const draft = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const SCHEMAS: [name: string, schema: object, says: string][] = [
  ['a draft-4 bound', draft({ n: { type: 'number', minimum: 0, exclusiveMinimum: true } }), 'draft 2020-12'],
  [
    'a draft-4 bound in a nested schema',
    draft({ a: { type: 'array', items: { exclusiveMaximum: true } } }),
    'draft 2020-12',
  ],
  ['a draft-3 required property', draft({ n: { type: 'string', required: true } }), 'draft 2020-12'],
  ['a draft-7 tuple', draft({ n: { type: 'array', items: [{ type: 'string' }] } }), 'draft 2020-12'],
  ['an unknown type', draft({ n: { type: 'file' } }), 'draft 2020-12'],
  ['anyOf at the top level', draft({}, { anyOf: [{ required: ['a'] }] }), 'does not support oneOf, allOf, or anyOf'],
  ['no type', {}, 'type: Field required'],
  ['type array at the top level', { type: 'array' }, "type: Input should be 'object'"],
  ['a space in a property name', draft({ 'a b': {} }), 'Property keys should match pattern'],
];

for (const [name, schema, says] of SCHEMAS) {
  test(`refuses a tool schema with ${name}, and names its path`, async () => {
    const { claude, client } = await lines.start();
    const tools = [TOOLS[0], { name: 'bad', input_schema: schema }] as Params['tools'];
    expect(await failure(client.messages.create(ask('Hi', { ...(tools && { tools }) })))).toMatchObject({
      status: 400,
    });
    expect(claude.violations().map(({ violation }) => violation?.message)).toEqual([
      expect.stringMatching(`^tools\\.1\\.custom\\.input_schema.*${says}`),
    ]);
  });
}

test('accepts a schema that is valid under draft 2020-12 although it declares draft-07', async () => {
  const { claude, client } = await lines.start();
  const claimed = { $schema: 'http://json-schema.org/draft-07/schema#', additionalProperties: false };
  const sound = draft({ n: { type: ['number', 'null'], exclusiveMinimum: 0 }, r: { $ref: '#/$defs/x' } }, claimed);
  await client.messages.create(ask('Hi', { tools: [{ name: 'a', input_schema: sound as never }] }));
  expect(claude.violations()).toEqual([]);
});

test('rejectsTool rejects a tool whose definition matches the pattern', async () => {
  const { client } = await lines.start({ rejectsTool: /uuid/ });
  const bad = { name: 'bad', input_schema: { type: 'object' as const, properties: { id: { format: 'uuid' } } } };
  const error = await failure(client.messages.create(ask('Hi', { tools: [TOOLS[0] as never, bad] })));
  expect(error.message).toContain('tools.1.custom.input_schema: The schema is not supported.');
  await client.messages.create(ask('Hi', { tools: TOOLS }));
});
