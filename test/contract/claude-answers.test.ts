import { expect, test } from '@jest/globals';
import { assistant, call, marked, result, thinking, tool, user } from '../fixture/content-blocks.ts';
import { GROUNDS } from '../fixture/requests.ts';
import { AnswerMemory } from '../stand-in/claude/memory.ts';
import { bindsByName } from '../stand-in/claude/names.ts';
import { type Block, isThinking, type MessagesRequest } from '../stand-in/claude/request.ts';
import { firstViolation } from '../stand-in/claude/rules.ts';
import { fingerprints, segmentsOf } from '../stand-in/claude/segments.ts';

/** What the stand-in refuses of an answer that is sent back: what the model and its server wrote is not to be edited. */

type Edit = (request: MessagesRequest, answer: Block[]) => void;

/** A request after `edit` has tampered with it. Its first answer thought, searched the web and called a tool. */
function judged(edit: Edit, bindThinking: boolean) {
  const memory = new AnswerMemory();
  const first: MessagesRequest = { model: 'm', max_tokens: 9, system: 'Be kind.', messages: [user('question')] };
  const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } };
  const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [{ encrypted_content: 'sealed' }] };
  const thoughts = [thinking('first'), { type: 'redacted_thinking', data: 'sealed' }, thinking('')];
  const prefix = fingerprints(segmentsOf(first)).at(-1) ?? '';
  const answer = memory.issue([...thoughts, search, found, call('t1')], prefix);
  const next = { ...first, messages: [...first.messages, assistant(...answer), user(result('t1'))] };
  edit(next, next.messages[1]?.content as Block[]);
  return firstViolation(JSON.parse(JSON.stringify(next)), { ...GROUNDS, bindThinking, memory });
}

const change =
  (index: number, more: object): Edit =>
  (_, answer) =>
    void answer.splice(index, 1, { ...(answer[index] as Block), ...more });
const remove =
  (index: number, count = 1): Edit =>
  (_, answer) =>
    void answer.splice(index, count);
const set =
  (more: object): Edit =>
  (request) =>
    void Object.assign(request, more);
const goOn: Edit = ({ messages }) => void messages.push(assistant('b'), user('c'));
const signedBy =
  (signature: string): Edit =>
  ({ messages }) =>
    void messages.push(assistant(thinking('x', { signature }), 'b'), user('c'));
const both =
  (...edits: Edit[]): Edit =>
  (request, answer) => {
    for (const edit of edits) edit(request, answer);
  };
const thoughtsOf = (answer: Block[]) => assistant(...answer.slice(0, 3));
const on = user('on');
const ADAPTIVE = { thinking: { type: 'adaptive' } };
const OTHER_SERVER = 'EuYBCkQYAiJA01234567';

test.each<[name: string, edit: Edit, bound: 'free' | 'bound']>([
  ['unchanged, on a model that does not bind it', () => {}, 'free'],
  ['unchanged', () => {}, 'bound'],
  ['in an earlier answer', goOn, 'bound'],
  ['after cache markers moved', change(5, marked), 'bound'],
  ['without any of its thinking', remove(0, 3), 'bound'],
  ['after a changed system prompt', set({ system: 'Be brief.' }), 'free'],
  ['beside thinking that another server signed', signedBy(OTHER_SERVER), 'free'],
])('accepts an answer %s', (_, edit, bound) => {
  expect(judged(edit, bound === 'bound')).toBeUndefined();
});

const MODIFIED = 'blocks in the latest assistant message cannot be modified';
const UNSIGNED = 'Invalid `signature` in `thinking` block.';
const ELSEWHERE = 'bound to a different conversation';
const LAST = 'The final block in an assistant message';
const NO_CALL = 'unexpected `tool_use_id` found in `web_search_tool_result`';
const NO_RESULT = '`web_search` tool use with id `s1` was found without a corresponding `web_search_tool_result` block';

test.each<[rule: number, name: string, says: string, edit: Edit]>([
  [15, 'whose thinking was changed', MODIFIED, change(0, { thinking: 'better' })],
  [15, 'whose signature was changed', MODIFIED, (_, [block]) => void Object.assign(block ?? {}, { signature: 'A' })],
  [15, 'without its first thought', MODIFIED, remove(0)],
  [15, 'without its redacted thought', MODIFIED, remove(1)],
  [15, 'with its thoughts in another order', MODIFIED, (_, answer) => void answer.unshift(...answer.splice(1, 1))],
  [15, 'without its thoughts, where thinking is asked for', MODIFIED, both(remove(0, 3), set(ADAPTIVE))],
  [15, 'that ends with a thought', LAST, ({ messages }, answer) => void messages.splice(1, 2, thoughtsOf(answer), on)],
  [16, 'under a changed system prompt', ELSEWHERE, set({ system: 'Be brief.' })],
  [16, 'after a changed message', ELSEWHERE, ({ messages }) => void messages.splice(0, 1, user('other'))],
  [16, 'with tools that came later', ELSEWHERE, set({ tools: [tool('late')] })],
  [16, 'that was changed, before another one', UNSIGNED, both(change(0, { thinking: 'better' }), goOn)],
  [16, 'beside thinking that another server signed', ELSEWHERE, signedBy(OTHER_SERVER)],
  [16, 'beside thinking with a cut signature', UNSIGNED, signedBy('sig')],
  [27, 'without the result of its search', NO_RESULT, both(remove(4), goOn)],
  [27, 'without the call of its search', NO_CALL, remove(3)],
  [29, 'whose search result was shortened', 'Invalid `encrypted_content`', change(4, { content: [] })],
  [29, 'whose search was changed', 'Invalid `encrypted_content`', change(3, { input: {} })],
])('rule %i refuses an answer %s: %s', (rule, _, says, edit) => {
  // Thinking is bound to its conversation for the one rule about that.
  const violation = judged(edit, says === ELSEWHERE);
  expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
  expect(violation?.message).toContain(says);
});

test('two answers to one request have signatures of their own, as long as what was thought', () => {
  const memory = new AnswerMemory();
  const thought = { type: 'thinking', thinking: '', tokens: 300 };
  const [one, two] = [0, 1].map(() => memory.issue([thought], '').find(isThinking));
  expect(one?.signature).not.toEqual(two?.signature);
  expect(String(one?.signature).length).toBeGreaterThan(1_000);
});

test('the 5.5 line binds its thinking, by whatever name an endpoint calls the model', () => {
  const names = [
    'claude-opus-5-5',
    'anthropic/claude-opus-5.5',
    'us.anthropic.claude-opus-5-5-v1:0',
    'claude-opus-5-5@2',
  ];
  expect(names.filter(bindsByName)).toEqual(names);
  expect(['claude-opus-5', 'claude-sonnet-4-6', 'gpt'].filter(bindsByName)).toEqual([]);
});
