import { expect, test } from '@jest/globals';
import { type LogMessage, repairLog } from '../../../../../worker/model/rules/repair.ts';
import { say } from '../../../../fixture/contract-cases.ts';
import { repaired, thought } from '../../../../fixture/repair-cases.ts';
import { FACTS, SEALED } from '../../../../fixture/requests.ts';
import type { Block } from '../../../../stand-in/claude/request.ts';
import {
  assistant,
  call,
  image,
  marked,
  png,
  result,
  text,
  thinking,
  tool,
  user,
} from '../../../../stand-in/claude/specimens.ts';

const bound = { ...FACTS, bindsThinking: true };
const LACKING = text('b', { citations: [{ type: 'web_search_result_location', cited_text: 'c' }] });

test('drops thinking after a change where the model binds it, and keeps it where it does not', () => {
  const request = say(user('a'), assistant(thought, 'b'), user('c', ''), assistant(thought, 'd'), user('e'));
  expect(repaired(request).messages).toMatchObject([{}, {}, user('c'), assistant(thought, 'd'), {}]);
  expect(repaired(request, bound).messages).toMatchObject([{}, assistant(thought, 'b'), {}, assistant('d'), {}]);
  expect(repaired({ ...request, system: [text('')] }, bound).done.map(([what]) => what)).toEqual([
    'dropped_block',
    'dropped_block',
    'dropped_thinking',
    'dropped_thinking',
  ]);
});

test('every block or message that is removed, replaced or added drops the bound thinking after it', () => {
  const end = [assistant(thought, 'y'), user('z')] as const;
  const before: unknown[][] = [
    [user('a'), assistant('b', ''), user('c')],
    [user('a'), assistant(LACKING), user('c')],
    [user('a'), assistant(call('t1')), user('c')],
    [user('a'), assistant(call('t1')), user('c', result('t1'))],
    [user('a'), assistant('b'), user('c', result('t9'))],
    [user('a'), assistant(call('t1', { name: 'a.b' })), user(result('t1'))],
    [user('a'), assistant('b'), user(image(png(9, 8001)))],
    [user('a'), assistant(call('t1')), user(result('t1', [image(png(9, 8001))]))],
    [user('a'), assistant('b'), user(null as unknown as Block, 'c')],
    [user('a'), assistant('b'), null, user('c')],
    [user('a'), assistant('b'), { role: 'system', content: 'c' }],
    [user('a'), assistant('b'), user()],
    [user('a \ud83d')],
    [assistant(''), user('c')],
    [assistant('b'), user('c')],
    [assistant(), user('c')],
  ];
  for (const messages of before) {
    const request = say(...messages, ...end);
    expect(repaired(request, bound).messages.slice(-2)).toEqual([assistant('y'), user('z')]);
    expect(repaired(request).messages.slice(-2)).toEqual([...end]);
  }
  const withTools = { ...say(user('a'), ...end), tools: [tool('a.b')] };
  expect(repaired(withTools, bound).messages[1]).toEqual(assistant('y'));
  const cut = { ...say(user('a'), ...end), system: 'Be kind\ud83d' };
  expect(repaired(cut, bound).messages[1]).toEqual(assistant('y'));
});

test('keeps bound thinking after a change that the model does not see', () => {
  const end = [assistant(thought, 'y'), user('z', '')] as const;
  for (const messages of [
    [{ role: 'user', content: 'plain' }],
    [user('a'), assistant('b'), user('c'), user('d')],
    [{ ...user('a'), id: 'm1' }],
    [user('a'), assistant(thinking('x', { ...SEALED, ...marked }), 'b'), user('c')],
  ])
    expect(repaired(say(...messages, ...end), bound).messages.slice(-2)).toEqual([end[0], user('z')]);
});

test('dropping a call from an answer drops the bound thinking of that answer', () => {
  const request = say(
    user('a'),
    assistant(thought, call('t2')),
    user(result('t1'), result('t2')),
    assistant('b'),
    user('c'),
  );
  expect(repaired(request, bound).messages[1]).toEqual(assistant(call('t2')));
  expect(repaired(request).messages[1]).toEqual(assistant(thought, call('t2')));
});

test('drops the oldest breakpoint, in the tools first, and keeps bound thinking', () => {
  const request = {
    ...say(user(text('a', marked), text('b', marked)), assistant(thought, 'x'), user(text('c', marked))),
    tools: [tool('t', marked)],
    system: [text('s', marked)],
  };
  const { request: fixed, done } = repaired(request, bound);
  expect(done).toEqual([['dropped_breakpoint', 'tools.0']]);
  expect(fixed).toMatchObject({ tools: [tool('t')], messages: request.messages });
});

test.each([LACKING, text(''), thinking('q', { signature: '' }), call('t.1'), call('s1', { type: 'server_tool_use' })])(
  'in a log, an answer with thinking behind a change keeps none, and others keep theirs: %j',
  (changed) => {
    const [other, before] = [assistant(thought, 'x'), assistant(thought, 'c', changed, 'd')];
    const log = [user('a'), assistant(thought, changed, thought, 'd'), user('b'), before, user('e'), other, user('f')];
    const thoughts = repairLog(log as LogMessage[]).map(
      ({ content }) => content.filter(({ type }) => type === 'thinking').length,
    );
    expect(thoughts).toEqual([0, 0, 0, 1, 0, 1, 0]);
  },
);
