import { expect, test } from '@jest/globals';
import { AnswerMemory } from '../stand-in/claude/memory.ts';
import type { Block, MessagesRequest } from '../stand-in/claude/request.ts';
import { firstViolation } from '../stand-in/claude/rules.ts';
import { fingerprints, segmentsOf } from '../stand-in/claude/segments.ts';
import { assistant, call, marked, result, thinking, tool, user } from '../stand-in/claude/specimens.ts';
import type { Violation } from '../stand-in/claude/violation.ts';

type Edit = (request: MessagesRequest, answer: Block[]) => void;

/** A conversation whose first answer thought and called a tool; `edit` tampers with it before it is sent again. */
function replay(edit: Edit, bindThinking: boolean): Violation | undefined {
  const memory = new AnswerMemory();
  const first: MessagesRequest = { model: 'm', max_tokens: 9, system: 'Be kind.', messages: [user('question')] };
  const thought = [thinking('first'), { type: 'redacted_thinking', data: 'sealed' }, thinking(''), call('t1')];
  const answer = memory.issue(thought, fingerprints(segmentsOf(first)).at(-1) ?? '', 'tool_use');
  const next = { ...first, messages: [...first.messages, assistant(...answer), user(result('t1'))] };
  edit(next, next.messages[1]?.content as Block[]);
  return firstViolation(JSON.parse(JSON.stringify(next)), {
    maxOutputTokens: 8192,
    windowTokens: 200_000,
    fitErrors: false,
    bindThinking,
    memory,
  });
}

const change = (block: Block | undefined, more: object): void => {
  Object.assign(block ?? {}, more);
};
const goOn: Edit = ({ messages }) => messages.push(assistant('b'), user('c'));
const foreign = (signature: string): Edit => {
  return ({ messages }) => messages.push(assistant(thinking('x', { signature }), 'b'), user('c'));
};

const ACCEPTED: [name: string, bound: boolean, edit: Edit][] = [
  ['sent back unchanged', false, () => {}],
  ['sent back unchanged, when it is bound', true, () => {}],
  ['in an earlier answer, when it is bound', true, goOn],
  ['after cache markers moved, when it is bound', true, (_request, answer) => change(answer[3], marked)],
  ['that is removed completely', true, (_request, answer) => answer.splice(0, 3)],
  [
    'after a changed system prompt, when it is not bound',
    false,
    (request) => change(request as never, { system: 'Be brief.' }),
  ],
  ['signed by another server', false, foreign('EuYBCkQYAiJA01234567')],
];

const REFUSED: [rule: number, name: string, bound: boolean, edit: Edit][] = [
  [15, 'whose text was changed', false, (_request, answer) => change(answer[0], { thinking: 'better' })],
  [
    15,
    'whose signature was changed',
    false,
    (_request, answer) => change(answer[0], { signature: `${answer[0]?.signature}A` }),
  ],
  [15, 'with one block removed', false, (_request, answer) => answer.splice(0, 1)],
  [15, 'with the redacted block removed', false, (_request, answer) => answer.splice(1, 1)],
  [15, 'in another order', false, (_request, answer) => answer.unshift(...answer.splice(1, 1))],
  [
    15,
    'that is removed although the request enables thinking',
    false,
    (request, answer) => {
      request.thinking = { type: 'adaptive' };
      answer.splice(0, 3);
    },
  ],
  [
    15,
    'at the end of a message',
    false,
    ({ messages }, answer) => messages.splice(1, 2, assistant(...answer.slice(0, 3)), user('on')),
  ],
  [16, 'under a changed system prompt', true, (request) => change(request as never, { system: 'Be brief.' })],
  [16, 'after a changed first message', true, ({ messages }) => messages.splice(0, 1, user('other'))],
  [16, 'with tools added later', true, (request) => change(request as never, { tools: [tool('late')] })],
  [
    16,
    'changed in an earlier answer',
    false,
    (request, answer) => {
      change(answer[0], { thinking: 'better' });
      goOn(request, answer);
    },
  ],
  [16, 'signed by another server, when it is bound', true, foreign('EuYBCkQYAiJA01234567')],
  [16, 'with an invalid signature', false, foreign('sig')],
];

for (const [name, bound, edit] of ACCEPTED) {
  test(`rules 15 and 16 accept thinking ${name}`, () => {
    expect(replay(edit, bound)).toBeUndefined();
  });
}

for (const [rule, name, bound, edit] of REFUSED) {
  test(`rule ${rule} refuses thinking ${name}`, () => {
    const violation = replay(edit, bound);
    expect(violation).toMatchObject({ rule, status: 400, type: 'invalid_request_error' });
    expect(violation?.message).toMatch(/thinking/);
  });
}
