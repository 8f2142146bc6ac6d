import { expect, test } from '@jest/globals';
import { RULES, repairRequest, type WireRequest } from '../../../../../worker/model/rules/repair.ts';
import { ACCEPTED, one, REFUSED, say, times } from '../../../../fixture/contract-cases.ts';
import { MENDED, repaired } from '../../../../fixture/repair-cases.ts';
import { clone, FACTS, GROUNDS, SEALED } from '../../../../fixture/requests.ts';
import { firstViolation } from '../../../../stand-in/claude/rules.ts';
import {
  assistant,
  call,
  image,
  png,
  result,
  text,
  thinking,
  tool,
  user,
} from '../../../../stand-in/claude/specimens.ts';

test.each(MENDED)('repair: %s', (_, messages, fixed, done) => {
  const before = JSON.stringify(messages);
  expect(repaired(say(...messages))).toMatchObject({ messages: fixed, done });
  expect(JSON.stringify(messages)).toBe(before);
});

test.each([...ACCEPTED, ...REFUSED])('after the repair no violation of rule %i remains: %s', (rule, name, request) => {
  const { repairs, request: fixed } = repairRequest(request as WireRequest, FACTS);
  const isSound = ACCEPTED.some(([, other]) => other === name);
  if (isSound) expect(fixed).toBe(request);
  else if (name !== 'no model') expect(repairs.map((repair) => RULES[repair.rule])).toContain(rule);
  expect(repairRequest(fixed, FACTS).repairs).toEqual([]);
  expect(fixed.messages.length).toBeLessThanOrEqual(100_000);
  const isWorthTheTime = name !== 'no model' && name !== 'too many messages';
  if (isWorthTheTime) expect(firstViolation(clone(fixed), GROUNDS)).toBeUndefined();
});

test('replaces a lone surrogate in texts and keys, and drops sealed thinking that has one', () => {
  const { messages, done } = repaired(
    say(
      user('a \ud83d'),
      assistant(thinking('\udc4d', SEALED), 'x', call('t1', { input: { '\ud83d': ['\\ud83d \udc4d'] } })),
      user(result('t1')),
    ),
  );
  expect(messages).toMatchObject([
    user('a \ufffd'),
    assistant('x', call('t1', { input: { '\ufffd': ['\\ud83d \ufffd'] } })),
    user(result('t1')),
  ]);
  expect(done.map(([what]) => what)).toEqual(['well_formed', 'dropped_thinking', 'well_formed']);
});

test('renames tools and their calls alike, drops duplicate tools, and adds a missing schema', () => {
  const request = {
    ...say(user('a'), assistant(call('t1', { name: 'a.b' })), user(result('t1'))),
    tools: [tool('a.b', { server: 'mcp' }), tool('a_b'), tool('a_b'), { name: 'c' }, null],
    tool_choice: { type: 'tool', name: 'a.b' },
    system: [text(' '), text('Be kind.')],
  };
  expect(repaired(request).request).toMatchObject({
    tools: [tool('a_b_2'), tool('a_b'), { name: 'c', input_schema: { type: 'object' } }],
    tool_choice: { name: 'a_b_2' },
    system: [text('Be kind.')],
    messages: [user('a'), assistant(call('t1', { name: 'a_b_2' })), user(result('t1'))],
  });
});

test('drops a repeated server search and its result', () => {
  const [search, found] = [
    { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
  ];
  const twice = repaired(
    say(user('a'), assistant(search, found, 'b'), user('c'), assistant(search, found, 'd'), user('e')),
  );
  expect(twice.messages.slice(2)).toEqual([user('c'), assistant('d'), user('e')]);
  expect(repaired(say(user('a'), assistant(search, search, found, 'b'), user('c'))).messages[1]).toEqual(
    assistant(search, found, 'b'),
  );
});

test('drops a system prompt and tools without any usable part', () => {
  const { request, done } = repaired({ ...one, system: [text(''), null, { type: 'text' }], tools: 5 });
  expect(Object.keys(request).sort()).toEqual(['max_tokens', 'messages', 'model']);
  expect(done).toEqual([
    ['dropped_block', 'system.0'],
    ['dropped_block', 'system.1'],
    ['dropped_block', 'system.2'],
    ['dropped_block', 'tools'],
  ]);
});

test('replaces content of an unknown kind with a placeholder', () => {
  expect(repaired(say(user('a'), assistant('b'), { role: 'user', content: 5 })).done).toEqual([
    ['dropped_block', 'messages.2.content'],
    ['placeholder', 'messages.2'],
  ]);
});

test('drops the oldest of too many pictures or the one that is too wide, and no more than necessary', () => {
  const wide = image(png(2001, 9));
  const crowd = repaired(say(user(...times(22, wide), 'look'))).done;
  expect(crowd).toEqual([0, 1].map((at) => ['placeholder', `messages.0.content.${at}`]));
  const one = repaired(say(user(...times(30, image(png(9, 9))), wide, 'look'))).done;
  expect(one).toEqual([['placeholder', 'messages.0.content.30']]);
  const many = repaired(say(user(...times(102, image(png(9, 9)))), assistant('a'), user('b'))).done;
  expect(many).toHaveLength(2);
});

test('drops a call that cannot be written as JSON, with its result, and keeps the rest', () => {
  const loop: Record<string, unknown> = {};
  loop.loop = loop;
  const { messages } = repaired(say(user('a'), assistant('b', call('t1', { input: loop })), user(result('t1'), 'c')));
  expect(messages).toEqual([user('a'), assistant('b'), user('c')]);
});

test('keeps unrelated fields of the request and returns unchanged messages as the same objects', () => {
  const plain = { role: 'user', content: 'a' };
  const request = { ...say(plain, assistant('b'), user('c', '')), metadata: { user_id: 'u' }, stream: true };
  const { request: fixed } = repaired(request);
  expect(fixed).toMatchObject({ metadata: { user_id: 'u' }, stream: true, model: 'm', max_tokens: 9 });
  expect(fixed.messages[0]).toBe(plain);
  expect(fixed.messages[1]).toBe(request.messages[1]);
});

test('a repaired call id differs from the id of a server search', () => {
  const search = { type: 'server_tool_use', id: 's_1', name: 'web_search', input: {} };
  const { messages } = repaired(say(user('a'), assistant(call('s:1'), search), user(result('s:1'))));
  expect(messages.at(-1)).toEqual(user(result('s_1_2')));
});

test('an unusable max_tokens becomes 4096, and every max_tokens is capped at the limit', () => {
  const given = (max_tokens: unknown, maxOutputTokens = 8192) =>
    repaired({ ...one, max_tokens }, { ...FACTS, maxOutputTokens }).request.max_tokens;
  expect([0, Number.NaN, '9', undefined].map((asked) => given(asked))).toEqual([4096, 4096, 4096, 4096]);
  expect([given(9.9), given(10_000), given(-1, 1000)]).toEqual([9, 8192, 1000]);
});

test('the repaired id of a call does not depend on later messages, so that a repaired prefix stays the same', () => {
  const before = [user('a'), assistant(call('a:b', { name: 'x.y' })), user(result('a:b'))];
  const later = [assistant(call('a_b', { name: 'x_y' }), call('a_b_2')), user(result('a_b'), result('a_b_2'))];
  const { messages } = repaired(say(...before, ...later));
  expect(messages.slice(0, 3)).toEqual(repaired(say(...before)).messages);
  expect(messages.slice(3)).toEqual([
    assistant(call('a_b_3', { name: 'x_y' }), call('a_b_2')),
    user(result('a_b_3'), result('a_b_2')),
  ]);
});
