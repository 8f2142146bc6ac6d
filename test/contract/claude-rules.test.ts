import { expect, test } from '@jest/globals';
import { one, REFUSED as SHARED, say } from '../fixture/contract-cases.ts';
import { GROUNDS } from '../fixture/requests.ts';
import { AnswerMemory } from '../stand-in/claude/memory.ts';
import { isObject } from '../stand-in/claude/request.ts';
import { firstViolation, windowViolation } from '../stand-in/claude/rules.ts';
import { assistant, call, image, marked, result, text, tool, user } from '../stand-in/claude/specimens.ts';

/** The cases that our validator judges too are in `contract-cases.ts`. */

type Case = [rule: number, name: string, body: unknown, says?: string];

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const afterCall = say(user('a'), assistant(call('t1')), user(result('t1')));

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

const ACCEPTED: Case[] = [
  [14, 'a 1h breakpoint before a 5m one', { ...one, system: [text('s', hour)], ...marked }],
  [25, 'every optional key', EVERY_KEY],
  [25, 'an answer sent back with its null fields', NULL_FIELDS],
];

const REFUSED: Case[] = [
  [
    3,
    'two assistant turns in a row',
    say(user('a'), assistant('b'), assistant('c'), user('d')),
    'roles must alternate',
  ],
  [
    8,
    'a result without a call',
    say(user('a'), assistant('b'), user(result('t9'))),
    'messages.2.content.0: unexpected',
  ],
  [
    8,
    'a result repeated in a later message',
    say(...afterCall.messages, assistant('b'), user(result('t1'))),
    'messages.4.content.0',
  ],
  [
    14,
    'a 1h breakpoint after a 5m one',
    { ...say(user('a', text('b', hour))), system: [text('s', marked)] },
    "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
  ],
  [21, 'no max_tokens', { model: 'm', messages: [user('a')] }, 'max_tokens: Field required'],
  [21, 'max_tokens as a string', { ...one, max_tokens: '100' }, 'valid integer'],
  [25, 'a type on a message', say({ ...user('a'), type: 'message' }), 'messages.0.type: Extra inputs'],
  [25, 'an unknown key on the request', { ...one, budget: 1 }, 'budget: Extra inputs are not permitted'],
  [25, 'a text block without text', say(user({ type: 'text' })), 'messages.0.content.0.text.text: Field required'],
  [25, 'a tool without a schema', { ...one, tools: [{ name: 't' }] }, 'input_schema: Field required'],
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

for (const [rule, name, body] of ACCEPTED) {
  test(`rule ${rule} accepts ${name}`, () => {
    expect(firstViolation(body, GROUNDS)).toBeUndefined();
  });
}

const shared = WORDS.map(([name, says]): Case => {
  const [rule = 0, , body] = SHARED.find(([, each]) => each === name) ?? [];
  return [rule, name, body, says];
});

test.each([...REFUSED, ...shared])('rule %i refuses %s', (rule, _name, body, says) => {
  const violation = firstViolation(body, GROUNDS);
  expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
  expect(violation?.message).toContain(says);
});

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
