import { expect, test } from '@jest/globals';
import type { ContractFacts, WireRequest } from '../../worker/model/contract.ts';
import { repairRequest } from '../../worker/model/repair.ts';
import { ACCEPTED, one, REFUSED, say, times } from '../fixture/contract-cases.ts';
import { type Done, MENDED, thought } from '../fixture/repair-cases.ts';
import { clone, FACTS, GROUNDS, SEALED } from '../fixture/requests.ts';
import type { Block } from '../stand-in/claude/request.ts';
import { firstBreach } from '../stand-in/claude/rules.ts';
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

function repaired(
  request: unknown,
  facts: ContractFacts = FACTS,
): { messages: unknown[]; request: WireRequest; done: Done[] } {
  const mended = repairRequest(request as WireRequest, facts);
  expect(mended.left).toEqual([]);
  const done = mended.repairs.map(({ what, path }): Done => [what, path]);
  return { messages: mended.request.messages, request: mended.request, done };
}

const small = (bodyBytesMax: number) => ({ ...FACTS, bodyBytesMax });
const bound = { ...FACTS, bindsThinking: true };

test.each(MENDED)('%s', (_, messages, mended, done) => {
  const before = JSON.stringify(messages);
  expect(repaired(say(...messages))).toMatchObject({ messages: mended, done });
  expect(JSON.stringify(messages)).toBe(before);
});

/** Where the repair for one rule mends another one too. */
const MENDED_BY = new Map([
  ['one on an empty text', 6],
  ['a result with a bad id', 8],
]);

test.each([...ACCEPTED, ...REFUSED])('after its repair nothing is wrong by rule %i: %s', (rule, name, request) => {
  const { repairs, left, request: mended } = repairRequest(request as WireRequest, FACTS);
  const isSound = ACCEPTED.some(([, other]) => other === name);
  if (isSound) expect(mended).toBe(request);
  else if (name !== 'no model') expect(repairs.map((repair) => repair.rule)).toContain(MENDED_BY.get(name) ?? rule);
  expect(left.map(({ path }) => path)).toEqual(name === 'no model' ? ['model'] : []);
  expect(mended.messages.length).toBeLessThanOrEqual(100_000);
  const isWorthTheTime = left.length === 0 && name !== 'too many messages';
  if (isWorthTheTime) expect(firstBreach(clone(mended), GROUNDS)).toBeUndefined();
});

test('half a pair of surrogates is replaced in texts and keys, and takes sealed thinking with it', () => {
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

test('tools: one name here and in the calls, no second one, a schema for each', () => {
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

test('the oldest breakpoints go, those of the tools first, and bound thinking stays', () => {
  const request = {
    ...say(user(text('a', marked), text('b', marked)), assistant(thought, 'x'), user(text('c', marked))),
    tools: [tool('t', marked)],
    system: [text('s', marked)],
  };
  const { request: mended, done } = repaired(request, bound);
  expect(done).toEqual([['dropped_breakpoint', 'tools.0']]);
  expect(mended).toMatchObject({ tools: [tool('t')], messages: request.messages });
});

test('thinking behind a change goes where the model binds it, and stays where it does not', () => {
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

test('whatever is taken out or put in is a change to the thinking behind it', () => {
  const end = [assistant(thought, 'y'), user('z')] as const;
  const before: unknown[][] = [
    [user('a'), assistant('b', ''), user('c')],
    [user('a'), assistant(call('t1')), user('c')],
    [user('a'), assistant(call('t1')), user('c', result('t1'))],
    [user('a'), assistant('b'), user('c', result('t9'))],
    [user('a'), assistant(call('t1', { name: 'a.b' })), user(result('t1'))],
    [user('a'), assistant('b'), user(image(png(9, 8001)))],
    [user('a'), assistant('b'), user(null as unknown as Block, 'c')],
    [user('a'), assistant('b'), null, user('c')],
    [user('a'), assistant('b'), { role: 'system', content: 'c' }],
    [user('a'), assistant('b'), user()],
    [user('a \ud83d')],
    [assistant(''), user('c')],
    [assistant('b'), user('c')],
  ];
  for (const messages of before) {
    const request = say(...messages, ...end);
    expect(repaired(request, bound).messages.slice(-2)).toEqual([assistant('y'), user('z')]);
    expect(repaired(request).messages.slice(-2)).toEqual([...end]);
  }
  const { messages } = repaired(say(user('a'), assistant('b'), user('c'), user('d'), ...end), bound);
  expect(messages.slice(-2)).toEqual([...end]);
});

test('a call that was cut out of an answer takes the thinking of that answer with it', () => {
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

test('a search that was sent twice goes once, with what it found', () => {
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

test('a system prompt and tools of which nothing can be sent are not sent', () => {
  const { request, done } = repaired({ ...one, system: [text(''), null, { type: 'text' }], tools: 5 });
  expect(Object.keys(request).sort()).toEqual(['max_tokens', 'messages', 'model']);
  expect(done).toEqual([
    ['dropped_block', 'system.0'],
    ['dropped_block', 'system.1'],
    ['dropped_block', 'system.2'],
    ['dropped_block', 'tools'],
  ]);
});

test('content of no known kind is said to be gone', () => {
  expect(repaired(say(user('a'), assistant('b'), { role: 'user', content: 5 })).done).toEqual([
    ['dropped_block', 'messages.2.content'],
    ['placeholder', 'messages.2'],
  ]);
});

test('a text that was shortened is a change too', () => {
  const request = say(user('l'.repeat(50_000)), assistant(thought, 'b'), user('c'));
  expect(repaired(request, { ...bound, bodyBytesMax: 20_000 }).messages.at(1)).toEqual(assistant('b'));
  expect(repaired(request, small(20_000)).messages.at(1)).toEqual(assistant(thought, 'b'));
});

test('of too many pictures the oldest go, and no more than must', () => {
  const wide = image(png(2001, 9));
  const crowd = repaired(say(user(...times(22, wide), 'look'))).done;
  expect(crowd).toEqual([0, 1].map((at) => ['placeholder', `messages.0.content.${at}`]));
  const one = repaired(say(user(...times(30, image(png(9, 9))), wide, 'look'))).done;
  expect(one).toEqual([['placeholder', 'messages.0.content.30']]);
  const many = repaired(say(user(...times(102, image(png(9, 9)))), assistant('a'), user('b'))).done;
  expect(many).toHaveLength(2);
});

const file = (chars: number): Block => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data: 'd'.repeat(chars) },
});

test('too large a request loses the oldest and largest first, and the words that wait last', () => {
  const photo = image(png(9, 9, 30_000));
  const old = user(image(png(9, 9, 60_000)), pages(1), 'l'.repeat(50_000));
  const request = say(old, assistant('short'), user(photo, file(20_000), `PENDING ${'w'.repeat(30_000)}`));
  const done = (bytes: number): Done[] => repaired(request, small(bytes)).done;
  const [media, longText, newPhoto, newFile, words] = [
    ['placeholder', 'messages.0.content.0'],
    ['shortened', 'messages.0.content.2'],
    ['placeholder', 'messages.2.content.0'],
    ['shortened', 'messages.2.content.1'],
    ['shortened', 'messages.2.content.2'],
  ] as const;
  expect(done(180_000)).toEqual([media]);
  expect(done(130_000)).toEqual([media, ['placeholder', 'messages.0.content.1'], longText]);
  expect(done(80_000).slice(-1)).toEqual([newPhoto]);
  expect(done(45_000).slice(-3)).toEqual([longText, newPhoto, newFile].slice(-3));
  expect(done(14_000).slice(-1)).toEqual([words]);
  const kept = repaired(request, small(130_000)).messages;
  expect(JSON.stringify(kept)).toMatch(/lll\\n\[… 50000 characters in all, the middle left out …\]\\nlll/);
  expect(JSON.stringify(kept).length).toBeGreaterThan(129_000);
});

test('of a crowd of small messages the oldest go', () => {
  const crowd = times(500, [
    user('q'.repeat(500)),
    assistant(call('t')),
    user(result('t', 'r'.repeat(500))),
    assistant('ok'),
  ]).flat();
  const renamed = crowd.map((message, at) => JSON.parse(JSON.stringify(message).replaceAll('"t"', `"t${at >> 2}"`)));
  const { messages, done } = repaired(say(...renamed, user('PENDING')), small(100_000));
  expect(Buffer.byteLength(JSON.stringify(messages))).toBeGreaterThan(98_000);
  expect(messages.at(-1)).toEqual(user('PENDING'));
  expect(new Set(done.map(([what]) => what))).toEqual(new Set(['dropped_message']));
});

test('what has no remedy is left, and said', () => {
  const huge = { ...one, system: 's'.repeat(50_000) };
  expect(repairRequest(huge, small(20_000))).toEqual({
    request: huge,
    repairs: [],
    left: [expect.objectContaining({ rule: 18 })],
  });
});

test('a call too large to send goes with all that came before it, and its result with it', () => {
  const huge = call('t1', { input: { file: 'f'.repeat(60_000) } });
  const { messages, done } = repaired(say(user('a'), assistant(huge), user(result('t1'), 'PENDING')), small(20_000));
  expect(messages).toEqual([user('PENDING')]);
  expect(done.map(([what]) => what)).toEqual(['dropped_message', 'dropped_message', 'dropped_result']);
});

test('what cannot be written as JSON is left out, and what can is not', () => {
  const loop: Record<string, unknown> = {};
  loop.loop = loop;
  const { messages } = repaired(say(user('a'), assistant('b', call('t1', { input: loop })), user(result('t1'), 'c')));
  expect(messages).toEqual([user('a'), assistant('b'), user('c')]);
});

test('the rest of a request, and what did not change of it, is the same', () => {
  const request = { ...say(user('a'), assistant('b'), user('c', '')), metadata: { user_id: 'u' }, stream: true };
  const { request: mended } = repaired(request);
  expect(mended).toMatchObject({ metadata: { user_id: 'u' }, stream: true, model: 'm', max_tokens: 9 });
  expect(mended.messages[0]).toBe(request.messages[0]);
  expect(mended.messages[1]).toBe(request.messages[1]);
});

test('without a usable wish for output the usual one stands, within the limit', () => {
  const given = (max_tokens: unknown, maxOutputTokens = 8192) =>
    repaired({ ...one, max_tokens }, { ...FACTS, maxOutputTokens }).request.max_tokens;
  expect([0, Number.NaN, '9', undefined].map((asked) => given(asked))).toEqual([4096, 4096, 4096, 4096]);
  expect([given(9.9), given(10_000), given(-1, 1000)]).toEqual([9, 8192, 1000]);
});
