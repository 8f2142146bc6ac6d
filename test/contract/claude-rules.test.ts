import { expect, test } from '@jest/globals';
import { AnswerMemory } from '../stand-in/claude/memory.ts';
import { type Block, isObject } from '../stand-in/claude/request.ts';
import { firstViolation, windowViolation } from '../stand-in/claude/rules.ts';
import {
  assistant,
  call,
  image,
  marked,
  pages,
  png,
  result,
  text,
  thinking,
  tool,
  user,
} from '../stand-in/claude/specimens.ts';
import type { Grounds } from '../stand-in/claude/violation.ts';

const GROUNDS: Grounds = {
  maxOutputTokens: 8192,
  windowTokens: 200_000,
  fitErrors: false,
  bindThinking: false,
  memory: new AnswerMemory(),
};

type Case = [rule: number, name: string, body: unknown, says?: string];

const say = (...messages: unknown[]) => ({ model: 'claude-opus-5-5', max_tokens: 100, messages });
const search: Block = { type: 'server_tool_use', id: 'srv1', name: 'web_search', input: {} };
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const sealed = { signature: 'EuYBCkQYAiJA0123456789==' };
const CITED = { type: 'web_search_result_location', cited_text: 'c', encrypted_index: 'e', title: null, url: 'u' };
const one = say(user('a'));
const afterCall = (...parts: (Block | string)[]) => say(user('a'), assistant(call('t1')), user(...parts));
const afterBatch = (...parts: Block[]) => say(user('a'), assistant(call('t1'), call('t2')), user(...parts));
const answered = (...parts: (Block | string)[]) => say(user('a'), assistant(...parts), user('b'));

const EVERY_KEY = {
  ...one,
  stream: true,
  stop_sequences: ['x'],
  metadata: { user_id: 'u' },
  thinking: { type: 'adaptive' },
  tool_choice: { type: 'auto' },
  tools: [tool('t'), { type: 'web_search_20260318', name: 'web_search', max_uses: 3 }],
};
const NULL_FIELDS = say(
  user('a'),
  assistant(text('b', { citations: null }), call('t1', { caller: { type: 'direct' }, toolset_name: null })),
  user({ ...result('t1'), is_error: true }),
);
const FOUR_MARKS = {
  ...say(user(text('a', marked), text('b', marked))),
  system: [text('s', marked)],
  tools: [tool('t', marked)],
};

const ACCEPTED: Case[] = [
  [1, 'one message', one],
  [1, 'content as a plain string', say({ role: 'user', content: 'a' })],
  [3, 'turns that alternate', answered('b')],
  [4, 'a turn paused at a server tool call', say(user('a'), assistant(search))],
  [6, 'a tool result without content', afterCall({ type: 'tool_result', tool_use_id: 't1' })],
  [7, 'a batch answered in one message, in any order', afterBatch(result('t2'), result('t1'), text('and?'))],
  [8, 'two rounds of tools', say(...afterCall(result('t1')).messages, assistant(call('t2')), user(result('t2')))],
  [
    13,
    'a tool name of 64 characters',
    say(user('a'), assistant(call('t1', { name: 'n'.repeat(64) })), user(result('t1'))),
  ],
  [14, 'four breakpoints', FOUR_MARKS],
  [14, 'a breakpoint with a 1h lifetime', say(user(text('a', { cache_control: { type: 'ephemeral', ttl: '1h' } })))],
  [15, 'thinking signed by another server', answered(thinking('hm', sealed), 'b')],
  [17, 'emoji as surrogate pairs', say(user('👍🏽 𝄞'))],
  [21, 'max_tokens at the limit', { ...one, max_tokens: 8192 }],
  [25, 'every optional key', EVERY_KEY],
  [14, 'a 1h breakpoint before a 5m one', { ...one, system: [text('s', hour)], ...marked }],
  [25, 'an answer sent back with its null fields', NULL_FIELDS],
];

const TURNS: Case[] = [
  [1, 'no message', say(), 'at least one message is required'],
  [1, 'too many messages', say(...Array.from({ length: 100_001 }, () => ({}))), 'at most 100000'],
  [2, 'an assistant message at the start', say(assistant('a'), user('b')), 'first message must use the "user" role'],
  [2, 'an unknown role', say({ role: 'system', content: 'a' }), "Input should be 'user' or 'assistant'"],
  [3, 'two user turns in a row', say(user('a'), user('b')), 'roles must alternate'],
  [
    3,
    'two assistant turns in a row',
    say(user('a'), assistant('b'), assistant('c'), user('d')),
    'roles must alternate',
  ],
  [4, 'a prefill', say(user('a'), assistant('b')), 'does not support assistant message prefill'],
  [
    5,
    'content that is an empty string',
    say({ role: 'user', content: '' }),
    'messages.0: all messages must have non-empty content',
  ],
  [5, 'an empty assistant message in the middle', answered(), 'messages.1: all messages'],
  [6, 'an empty text block', say(user('a', '')), 'must be non-empty'],
  [6, 'a text of only white space', say(user(' \n\t')), 'must contain non-whitespace text'],
  [6, 'an empty text in a tool result', afterCall(result('t1', [text('')])), 'must be non-empty'],
  [6, 'a blank tool result', afterCall(result('t1', ' ')), 'must contain non-whitespace text'],
  [6, 'an empty system block', { ...one, system: [text('')] }, 'system: text content blocks'],
  [12, 'a tool result in an assistant message', answered(result('t1')), 'can only be in `user` messages'],
  [12, 'a tool call in a user message', say(user(call('t1'))), 'can only be in `assistant` messages'],
  [12, 'a document in an assistant message', answered(pages(1)), 'can only be in `user` messages'],
  [17, 'a lone surrogate in a text', say(user('cut \ud83d')), 'not valid JSON: no low surrogate in string'],
  [
    17,
    'a lone surrogate in a key',
    say(user('a'), assistant(call('t1', { input: { '\udc4d': 1 } }))),
    'no low surrogate',
  ],
];

const PAIRS: Case[] = [
  [7, 'a call without a result', afterCall('b'), 'messages.1: `tool_use` ids were found without `tool_result` blocks'],
  [7, 'a batch with one result missing', afterBatch(result('t1')), 'immediately after: t2.'],
  [7, 'an unanswered call in the second-to-last message', answered('b', call('t1')), 'immediately after: t1.'],
  [
    8,
    'a result without a call',
    say(user('a'), assistant('b'), user(result('t9'))),
    'messages.2.content.0: unexpected',
  ],
  [
    8,
    'a result repeated in a later message',
    say(...afterCall(result('t1')).messages, assistant('b'), user(result('t1'))),
    'messages.4.content.0',
  ],
  [8, 'a result in the first message', say(user(result('t1'))), 'messages.0.content.0: unexpected `tool_use_id`'],
  [8, 'a result for a server tool', say(user('a'), assistant(search, 'b'), user(result('srv1'))), 'blocks: srv1.'],
  [9, 'two results for one call', afterCall(result('t1'), result('t1')), 'must have a single result'],
  [10, 'a call id used twice', say(...afterCall(result('t1')).messages, assistant(call('t1'))), 'ids must be unique'],
  [11, 'a text before the result', afterCall('wait', result('t1')), 'immediately after: t1.'],
  [13, 'a tool name with a dot', { ...one, tools: [tool('a.b')] }, 'String should match pattern'],
  [13, 'two tools with the same name', { ...one, tools: [tool('a'), tool('a')] }, 'Tool names must be unique'],
  [13, 'a call id of 65 characters', answered(call('i'.repeat(65))), 'tool_use.id: String should match pattern'],
  [13, 'a tool input that is a string', answered(call('t1', { input: '{}' })), 'Input should be a valid dictionary'],
];

const NESTED_MARKS = [text('x', marked), text('y', marked), text('z', marked), text('w', marked)];
const PRIVATE_SOURCE = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: png(1, 1), name: 'x' },
};

const LIMITS: Case[] = [
  [14, 'a fifth breakpoint at the top level', { ...FOUR_MARKS, ...marked }, 'Found 5.'],
  [
    14,
    'a fifth breakpoint with four inside a tool result',
    { ...afterCall(result('t1', NESTED_MARKS)), ...marked },
    'Found 5.',
  ],
  [14, 'a breakpoint on empty text', say(user('a', text('', marked))), 'cannot be set for empty text blocks'],
  [
    14,
    'a 1h breakpoint after a 5m one',
    { ...say(user('a', text('b', hour))), system: [text('s', marked)] },
    "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
  ],
  [21, 'no max_tokens', { model: 'm', messages: [user('a')] }, 'max_tokens: Field required'],
  [21, 'max_tokens 0', { ...one, max_tokens: 0 }, 'greater than or equal to 1'],
  [21, 'max_tokens as a string', { ...one, max_tokens: '100' }, 'valid integer'],
  [
    21,
    'max_tokens over the limit',
    { ...one, max_tokens: 16_000 },
    'max_tokens: 16000 > 8192, which is the maximum allowed',
  ],
  [25, 'an unknown key on a block', say(user(text('a', { _id: 1 }))), 'messages.0.content.0.text._id: Extra inputs'],
  [25, 'an id on a message', say({ ...user('a'), id: 'msg_1' }), 'messages.0.id: Extra inputs are not permitted'],
  [25, 'a type on a message', say({ ...user('a'), type: 'message' }), 'messages.0.type: Extra inputs'],
  [25, 'an unknown key on the request', { ...one, budget: 1 }, 'budget: Extra inputs are not permitted'],
  [25, 'no model', { max_tokens: 1, messages: [user('a')] }, 'model: Field required'],
  [25, 'an unknown block', say(user({ type: 'sticker' })), "Input tag 'sticker'"],
  [25, 'a block named like a method', say(user({ type: 'constructor' })), "Input tag 'constructor'"],
  [25, 'a text block without text', say(user({ type: 'text' })), 'messages.0.content.0.text.text: Field required'],
  [25, 'a text block whose text is a number', say(user({ type: 'text', text: 1 })), 'Input should be a valid string'],
  [25, 'thinking without a signature', answered(thinking('hm'), 'b'), 'thinking.signature: Field required'],
  [
    25,
    'a breakpoint on thinking',
    answered(thinking('hm', { ...sealed, ...marked }), 'b'),
    'cache_control: Extra inputs',
  ],
  [
    25,
    'a breakpoint with a 2h lifetime',
    say(user(text('a', { cache_control: { type: 'ephemeral', ttl: '2h' } }))),
    "'5m' or '1h'",
  ],
  [25, 'citations in a user message', say(user(text('a', { citations: [CITED] }))), 'citations are not permitted'],
  [25, 'an unknown key on a source', say(user(PRIVATE_SOURCE)), 'source.base64.name: Extra inputs'],
  [25, 'a tool call inside a tool result', afterCall(result('t1', [call('t2')])), "Input tag 'tool_use'"],
  [25, 'a tool without a schema', { ...one, tools: [{ name: 't' }] }, 'input_schema: Field required'],
  [25, 'a list as the body', [], 'valid dictionary'],
  [
    26,
    'a picture in a failed result',
    afterCall({ ...result('t1', [image(png(9, 9))]), is_error: true }),
    'all content must be type "text"',
  ],
  [27, 'a search that was cut off', answered('b', search), 'without a corresponding `web_search_tool_result` block'],
  [
    28,
    'a citation with its file',
    answered(text('b', { citations: [{ ...CITED, file_id: null }] })),
    'web_search_result_location.file_id: Extra inputs',
  ],
  [25, 'messages that are not a list', { ...one, messages: 'hi' }, 'messages: Input should be a valid list'],
];

for (const [rule, name, body] of ACCEPTED) {
  test(`rule ${rule} accepts ${name}`, () => {
    expect(firstViolation(body, GROUNDS)).toBeUndefined();
  });
}

for (const [rule, name, body, says] of [...TURNS, ...PAIRS, ...LIMITS]) {
  test(`rule ${rule} refuses ${name}`, () => {
    const violation = firstViolation(body, GROUNDS);
    expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
    expect(violation?.message).toContain(says);
  });
}

const FIT =
  'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again';
const WINDOWS: [rule: number, input: number, output: number, fitErrors: boolean, says: string | undefined][] = [
  [19, 200_000, 1, false, undefined],
  [19, 200_001, 1, false, 'prompt is too long: 200001 tokens > 200000 maximum'],
  [20, 199_000, 1000, true, undefined],
  [20, 199_000, 1001, false, undefined],
  [20, 188_059, 20_000, true, FIT],
];

for (const [rule, input, output, fitErrors, says] of WINDOWS) {
  test(`rule ${rule} ${says ? 'refuses' : 'accepts'} ${input} + ${output}, fit errors ${fitErrors}`, () => {
    const violation = windowViolation(input, output, { ...GROUNDS, fitErrors });
    expect(violation?.message).toBe(says);
    expect(violation?.rule ?? rule).toBe(rule);
  });
}

test('rule 4 accepts a trailing assistant message only if it ends with a turn that the stand-in paused', () => {
  const memory = new AnswerMemory();
  const paused = memory.issue([text('Still searching.')], '', 'pause_turn');
  expect(firstViolation(say(user('a'), assistant(...paused)), { ...GROUNDS, memory })).toBeUndefined();
  expect(firstViolation(say(user('a'), assistant('b', ...paused)), { ...GROUNDS, memory })).toBeUndefined();
  expect(firstViolation(say(user('a'), assistant('Still?')), { ...GROUNDS, memory })).toMatchObject({ rule: 4 });
});

test('firstBreach finds a violation in every malformed body and never throws', () => {
  const listed = [null, 1, {}, { role: 'user' }, { role: 'user', content: [null] }, { role: 'user', content: [[]] }];
  const odd: unknown[] = [
    null,
    1,
    'x',
    {},
    ...listed.map((each) => say(each)),
    { ...one, tools: [null] },
    { ...one, system: 1 },
  ];
  for (const body of odd) expect(isObject(firstViolation(body, GROUNDS))).toBe(true);
  expect(firstViolation(say(user(image('', 'image/png'))), GROUNDS)).toMatchObject({ rule: 22 });
});
