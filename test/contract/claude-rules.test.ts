import { expect, test } from '@jest/globals';
import { assistant, call, marked, result, text, tool, user } from '../fixture/content-blocks.ts';
import { one, REFUSED as SHARED, say } from '../fixture/contract-cases.ts';
import { GROUNDS } from '../fixture/requests.ts';
import { firstViolation } from '../stand-in/claude/rules.ts';

/** What the stand-in refuses, and in which words. The cases that our validator judges too are in `contract-cases.ts`. */

type Case = [rule: number, name: string, body: unknown, says: string];

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const afterCall = say(user('a'), assistant(call('t1')), user(result('t1')));
const late = say(...afterCall.messages, assistant('b'), user(result('t1')));
const hourLate = { ...say(user('a', text('b', hour))), system: [text('s', marked)] };

test.each<[name: string, body: unknown]>([
  ['a 1h breakpoint before a 5m one', { ...one, system: [text('s', hour)], ...marked }],
  ['a kind of thinking that is spelled out', { ...one, thinking: { type: 'adaptive' } }],
  ['every optional key', { ...one, stream: true, stop_sequences: ['x'], metadata: { user_id: 'u' } }],
  [
    'an answer sent back with its null fields',
    say(
      user('a'),
      assistant(text('b', { citations: null }), call('t1', { caller: { type: 'direct' }, toolset_name: null })),
      user({ ...result('t1'), is_error: true }),
    ),
  ],
  [
    'a schema that is valid under draft 2020-12 although it declares draft-07',
    withSchema({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', additionalProperties: false }),
  ],
])('accepts %s', (_, body) => {
  expect(firstViolation(body, GROUNDS)).toBeUndefined();
});

const REFUSED: Case[] = [
  [3, 'two answers in a row', say(user('a'), assistant('b'), assistant('c'), user('d')), 'roles must alternate'],
  [
    8,
    'a result that no call precedes',
    say(user('a'), assistant('b'), user(result('t9'))),
    'messages.2.content.0: unexpected',
  ],
  [8, 'a result repeated in a later message', late, 'messages.4.content.0'],
  [
    14,
    'a 1h breakpoint after a 5m one',
    hourLate,
    "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
  ],
  [21, 'no max_tokens', { model: 'm', messages: [user('a')] }, 'max_tokens: Field required'],
  [21, 'max_tokens as a string', { ...one, max_tokens: '100' }, 'valid integer'],
  [25, 'a type on a message', say({ ...user('a'), type: 'message' }), 'messages.0.type: Extra inputs'],
  [25, 'an unknown key on the request', { ...one, budget: 1 }, 'budget: Extra inputs are not permitted'],
  [25, 'a text block without text', say(user({ type: 'text' })), 'messages.0.content.0.text.text: Field required'],
  [25, 'a tool without a schema', { ...one, tools: [{ name: 't' }] }, 'tools.0.custom.input_schema: Field required'],
  [25, 'a list as the body', [], 'valid dictionary'],
  [25, 'messages that are not a list', { ...one, messages: 'hi' }, 'messages: Input should be a valid list'],
];

/** The words in which the API refuses a shared case. */
const WORDS: [name: string, says: string][] = [
  ['no message', 'at least one message is required'],
  ['too many messages', 'at most 100000'],
  ['an assistant who begins', 'first message must use the "user" role'],
  ['an unknown role', "Input should be 'user' or 'assistant'"],
  ['two of one role', 'roles must alternate'],
  ['a prefill', 'does not support assistant message prefill'],
  ['an empty text', 'messages.0: all messages must have non-empty content'],
  ['no blocks', 'messages.1: all messages'],
  ['an empty block', 'must be non-empty'],
  ['white space alone', 'must contain non-whitespace text'],
  ['a blank text in a result', 'must be non-empty'],
  ['a blank result', 'must contain non-whitespace text'],
  ['a blank system block', 'system: text content blocks'],
  ['a call without a result', 'messages.1: `tool_use` ids were found without `tool_result` blocks'],
  ['half a batch', 'immediately after: t1.'],
  ['a result without a call', 'messages.0.content.0: unexpected `tool_use_id`'],
  ['a result for a search', 'blocks: s1.'],
  ['two results', 'must have a single result'],
  ['an id used twice', 'ids must be unique'],
  ['a text before the result', 'immediately after: t1.'],
  ['a result in an answer', 'can only be in `user` messages'],
  ['a call in a question', 'can only be in `assistant` messages'],
  ['a picture in an answer', 'can only be in `user` messages'],
  ['a tool name with a dot', 'String should match pattern'],
  ['two tools of one name', 'Tool names must be unique'],
  ['an id of 65 characters', 'tool_use.id: String should match pattern'],
  ['an input that is text', 'Input should be a valid dictionary'],
  ['five breakpoints', 'Found 5.'],
  ['a fifth in a result', 'Found 5.'],
  ['half a pair in a text', 'not valid JSON: no low surrogate in string'],
  ['half a pair in a key', 'no low surrogate'],
  ['no output', 'greater than or equal to 1'],
  ['more than the model can', 'max_tokens: 8193 > 8192, which is the maximum allowed'],
  ['a bitmap', "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg'"],
  ['a bitmap, found by a tool', 'messages.2.content.0.tool_result.content.0'],
  ['a png that says jpeg', 'it appears to be image/png'],
  ['no picture', 'Could not process image'],
  ['no base64', 'Invalid base64 data'],
  ['more than 5 MB', 'image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes'],
  ['a side of 8001 px', 'exceed max allowed size: 8000 pixels'],
  ['a jpeg too wide, behind its preview', '8000 pixels'],
  ['a gif too wide', '8000 pixels'],
  ['a webp too high, found by a tool', '8000 pixels'],
  ['21 pictures, one over 2000 px', 'many-image requests: 2000 pixels'],
  ['101 pictures', 'Too many images: 101 > 100'],
  ['101 pages', 'A maximum of 100 PDF pages may be provided'],
  ['101 pages, found by a tool', 'messages.2.content.0.tool_result.content.0'],
  ['pages that only the tree counts', 'A maximum of 100 PDF pages'],
  ['a password', 'password protected'],
  ['no PDF', 'The PDF specified was not valid'],
  ['a key of our own', 'messages.0.content.0.text._id: Extra inputs'],
  ['a key on a message', 'messages.0.id: Extra inputs are not permitted'],
  ['a key on a source', 'source.url.name: Extra inputs'],
  ['no model', 'model: Field required'],
  ['an unknown block of ours', "Input tag 'sticker'"],
  ['a block named like a method', "Input tag 'constructor'"],
  ['a text that is a number', 'Input should be a valid string'],
  ['thinking without a signature', 'thinking.signature: Field required'],
  ['a marker on thinking', 'cache_control: Extra inputs'],
  ['a marker of two hours', "'5m' or '1h'"],
  ['citations that a user wrote', 'citations are not permitted'],
  ['a call in a result', "Input tag 'tool_use'"],
  ['a picture in a failed result', 'all content must be type "text"'],
  ['a search that was cut off', 'without a corresponding `web_search_tool_result` block'],
  ['a citation with its file', 'web_search_result_location.file_id: Extra inputs'],
];

const shared = WORDS.map(([name, says]): Case => {
  const [rule = 0, , body] = SHARED.find(([, each]) => each === name) ?? [];
  return [rule, name, body, says];
});

test.each([...REFUSED, ...shared])('rule %i refuses %s', (rule, _name, body, says) => {
  const violation = firstViolation(body, GROUNDS);
  expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
  expect(violation?.message).toContain(says);
});

const look = { tools: [tool('look')] };
const serverTool = (type: string, more: object) => ({ tools: [{ type, name: type.replace(/_\d+$/, ''), ...more }] });
const SEARCH = 'web_search_20260318';

test.each<[name: string, more: object, says: string]>([
  ['an unknown effort', { output_config: { effort: 'huge' } }, "output_config.effort: Input should be 'low', 'medium'"],
  ['an unknown key of output_config', { output_config: { depth: 1 } }, 'output_config.depth: Extra inputs'],
  ['an unknown kind of thinking', { thinking: { type: 'deep' } }, "thinking: Input tag 'deep'"],
  [
    'an unknown key of thinking',
    { thinking: { type: 'adaptive', budget_tokens: 5 } },
    'thinking.adaptive.budget_tokens: Extra',
  ],
  ['an unknown display', { thinking: { type: 'adaptive', display: 'full' } }, "'summarized' or 'omitted'"],
  ['a budget', { thinking: { type: 'enabled', budget_tokens: 2000 } }, "thinking: Input tag 'enabled'"],
  ['a ban on thinking', { thinking: { type: 'disabled' } }, "thinking: Input tag 'disabled'"],
  ['a tool that is forced', { ...look, tool_choice: { type: 'any' } }, "tool_choice: Input tag 'any'"],
  ['a choice of no tools', { tool_choice: { type: 'none' } }, 'only be specified while providing tools'],
  ['a temperature', { temperature: 0 }, 'temperature: Extra inputs'],
  [
    'an unknown version of a server tool',
    serverTool('web_search_20240101', {}),
    "tools.0: Input tag 'web_search_20240101'",
  ],
  [
    'another name of a server tool',
    serverTool(SEARCH, { name: 'x' }),
    `tools.0.${SEARCH}.name: Input should be 'web_search'`,
  ],
  ['an unknown key of a server tool', serverTool(SEARCH, { depth: 1 }), `${SEARCH}.depth: Extra inputs`],
  [
    'domains allowed and blocked',
    serverTool(SEARCH, { allowed_domains: ['a'], blocked_domains: ['b'] }),
    'both allowed_domains',
  ],
])('refuses %s', (_, more, says) => {
  expect(firstViolation({ ...one, ...more }, GROUNDS)?.message).toContain(says);
});

function withSchema(schema: object) {
  return { ...one, tools: [tool('first'), tool('bad', { input_schema: schema })] };
}

test.each<[name: string, schema: object, says: string]>([
  ['a draft-4 bound', of({ n: { type: 'number', minimum: 0, exclusiveMinimum: true } }), 'draft 2020-12'],
  ['a draft-4 bound in a nested schema', of({ a: { items: { exclusiveMaximum: true } } }), 'draft 2020-12'],
  ['a draft-3 required property', of({ n: { type: 'string', required: true } }), 'draft 2020-12'],
  ['a draft-7 tuple', of({ n: { type: 'array', items: [{ type: 'string' }] } }), 'draft 2020-12'],
  ['an unknown type', of({ n: { type: 'file' } }), 'draft 2020-12'],
  ['anyOf at the top level', { type: 'object', anyOf: [{}] }, 'does not support oneOf, allOf, or anyOf'],
  ['no type', {}, 'type: Field required'],
  ['type array at the top level', { type: 'array' }, "type: Input should be 'object'"],
  ['a space in a property name', of({ 'a b': {} }), 'Property keys should match pattern'],
])('refuses the schema of a tool with %s', (_, schema, says) => {
  const { message } = firstViolation(withSchema(schema), GROUNDS) ?? {};
  expect(message).toMatch(/^tools\.1\.custom\.input_schema/);
  expect(message).toContain(says);
});

function of(properties: object): object {
  return { type: 'object', properties };
}
