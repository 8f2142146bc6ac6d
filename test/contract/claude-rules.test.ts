import { expect, test } from '@jest/globals';
import { assistant, call, marked, result, text, tool, user } from '../fixture/content-blocks.ts';
import { one, say } from '../fixture/contract-cases.ts';
import { GROUNDS } from '../fixture/requests.ts';
import { firstViolation } from '../stand-in/claude/rules.ts';

/**
 * What the stand-in refuses that our validator does not judge. `unit/worker/model/rules/validate.test.ts` holds both to the
 * cases of `contract-cases.ts`.
 */

type Case = [rule: number, name: string, body: unknown, says: string];

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const afterCall = say(user('a'), assistant(call('t1')), user(result('t1')));
const late = say(...afterCall.messages, assistant('b'), user(result('t1')));
const withNulls = assistant(
  text('b', { citations: null }),
  call('t1', { caller: { type: 'direct' }, toolset_name: null }),
);
const stray = say(user('a'), assistant('b'), user(result('t9')));
const DRAFT_7 = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', additionalProperties: false };
const TOO_LATE = "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'";
const hourLate = { ...say(user('a', text('b', hour))), system: [text('s', marked)] };

test.each<[name: string, body: unknown]>([
  ['a 1h breakpoint before a 5m one', { ...one, system: [text('s', hour)], ...marked }],
  ['a kind of thinking that is spelled out', { ...one, thinking: { type: 'adaptive' } }],
  ['every optional key', { ...one, stream: true, stop_sequences: ['x'], metadata: { user_id: 'u' } }],
  ['an answer sent back with its null fields', say(user('a'), withNulls, user({ ...result('t1'), is_error: true }))],
  ['a schema that is valid under draft 2020-12 although it declares draft-07', withSchema(DRAFT_7)],
])('accepts %s', (_, body) => {
  expect(firstViolation(body, GROUNDS)).toBeUndefined();
});

const REFUSED: Case[] = [
  [3, 'two answers in a row', say(user('a'), assistant('b'), assistant('c'), user('d')), 'roles must alternate'],
  [8, 'a result that no call precedes', stray, 'messages.2.content.0: unexpected'],
  [8, 'a result repeated in a later message', late, 'messages.4.content.0'],
  [14, 'a 1h breakpoint after a 5m one', hourLate, TOO_LATE],
  [21, 'no max_tokens', { model: 'm', messages: [user('a')] }, 'max_tokens: Field required'],
  [21, 'max_tokens as a string', { ...one, max_tokens: '100' }, 'valid integer'],
  [25, 'a type on a message', say({ ...user('a'), type: 'message' }), 'messages.0.type: Extra inputs'],
  [25, 'an unknown key on the request', { ...one, budget: 1 }, 'budget: Extra inputs are not permitted'],
  [25, 'a text block without text', say(user({ type: 'text' })), 'messages.0.content.0.text.text: Field required'],
  [25, 'a tool without a schema', { ...one, tools: [{ name: 't' }] }, 'tools.0.custom.input_schema: Field required'],
  [25, 'a list as the body', [], 'valid dictionary'],
  [25, 'messages that are not a list', { ...one, messages: 'hi' }, 'messages: Input should be a valid list'],
];

test.each(REFUSED)('rule %i refuses %s', (rule, _name, body, says) => {
  const violation = firstViolation(body, GROUNDS);
  expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
  expect(violation?.message).toContain(says);
});

const look = { tools: [tool('look')] };
const serverTool = (type: string, more = {}) => ({ tools: [{ type, name: type.replace(/_\d+$/, ''), ...more }] });
const [SEARCH, OLD_SEARCH] = ['web_search_20260318', 'web_search_20240101'] as const;
const BOTH = { allowed_domains: ['a'], blocked_domains: ['b'] };

test.each<[name: string, more: object, says: string]>([
  ['an unknown effort', { output_config: { effort: 'huge' } }, "output_config.effort: Input should be 'low', 'medium'"],
  ['an unknown key of output_config', { output_config: { depth: 1 } }, 'output_config.depth: Extra inputs'],
  ['an unknown kind of thinking', { thinking: { type: 'deep' } }, "thinking: Input tag 'deep'"],
  ['an unknown key of thinking', { thinking: { type: 'adaptive', budget_tokens: 5 } }, 'adaptive.budget_tokens: Extra'],
  ['an unknown display', { thinking: { type: 'adaptive', display: 'full' } }, "'summarized' or 'omitted'"],
  ['a budget', { thinking: { type: 'enabled', budget_tokens: 2000 } }, "thinking: Input tag 'enabled'"],
  ['a ban on thinking', { thinking: { type: 'disabled' } }, "thinking: Input tag 'disabled'"],
  ['a tool that is forced', { ...look, tool_choice: { type: 'any' } }, "tool_choice: Input tag 'any'"],
  ['a choice of no tools', { tool_choice: { type: 'none' } }, 'only be specified while providing tools'],
  ['a temperature', { temperature: 0 }, 'temperature: Extra inputs'],
  ['an unknown version of a server tool', serverTool(OLD_SEARCH), `tools.0: Input tag '${OLD_SEARCH}'`],
  ['another name of a server tool', serverTool(SEARCH, { name: 'x' }), `${SEARCH}.name: Input should be 'web_search'`],
  ['an unknown key of a server tool', serverTool(SEARCH, { depth: 1 }), `${SEARCH}.depth: Extra inputs`],
  ['domains allowed and blocked', serverTool(SEARCH, BOTH), 'both allowed_domains'],
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
