import { expect, test } from '@jest/globals';
import { type InputUsage, PrefixCache } from '../stand-in/claude/cache.ts';
import { prefixTokens } from '../stand-in/claude/counting.ts';
import type { Block, Message, MessagesRequest } from '../stand-in/claude/request.ts';
import { segmentsOf } from '../stand-in/claude/segments.ts';
import { assistant, marked, text, tool, user } from '../stand-in/claude/specimens.ts';

/** Sends requests one after the other to a cache of their own. */
function conversation(): (messages: Message[], more?: Partial<MessagesRequest>) => InputUsage {
  const cache = new PrefixCache();
  return (messages, more = {}) => {
    const segments = segmentsOf({ model: 'm', max_tokens: 1, messages, ...more });
    return cache.account(segments, prefixTokens(segments, 1));
  };
}

const total = (usage: InputUsage): number =>
  usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
const end = (value: string): Block => text(value, marked);
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, at) => (at % 2 === 0 ? user(`turn ${at}`) : assistant(`turn ${at}`)));

test('without a breakpoint all input is plain', () => {
  const send = conversation();
  send(turns(3));
  expect(send(turns(3))).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
});

test('a growing conversation reads what it wrote before, and the parts always add up', () => {
  const send = conversation();
  const first = send([user(end('one'))]);
  expect(first).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 0 });
  const second = send([user('one'), assistant('ok'), user(end('two')), assistant('x'), user('three')]);
  expect(second.cache_read_input_tokens).toBe(first.cache_creation_input_tokens);
  expect(second.cache_creation_input_tokens).toBeGreaterThan(0);
  expect(second.input_tokens).toBeGreaterThan(0);
  const again = send([user('one'), assistant('ok'), user(end('two')), assistant('x'), user('three')]);
  expect([total(again), again.input_tokens]).toEqual([total(second), second.input_tokens]);
  expect(again.cache_creation_input_tokens).toBe(0);
});

test('a top-level marker caches up to the end', () => {
  const send = conversation();
  const first = send(turns(3), { cache_control: { type: 'ephemeral' } });
  expect(first.input_tokens).toBe(0);
  expect(send(turns(3), { cache_control: { type: 'ephemeral' } }).cache_read_input_tokens).toBe(total(first));
});

test('a change in tools, system prompt or an earlier message misses all that follows', () => {
  const base = { system: [end('rules')], tools: [tool('look', marked)] };
  const changes: [text: string, more: Partial<MessagesRequest>, segmentsRead: number][] = [
    ['one', { ...base, tools: [tool('see', marked)] }, 0],
    ['one', { ...base, system: [end('Rules')] }, 1],
    ['One', base, 2],
    ['one', base, 3],
  ];
  for (const [said, more, segmentsRead] of changes) {
    const send = conversation();
    send([user(end('one'))], base);
    const tokens = prefixTokens(segmentsOf({ model: 'm', max_tokens: 1, messages: [user(end(said))], ...more }), 1);
    expect(send([user(end(said))], more).cache_read_input_tokens).toBe(tokens[segmentsRead - 1] ?? 0);
  }
});

test('a breakpoint finds an earlier one 19 blocks back, and not 20', () => {
  for (const [blocks, isFound] of [
    [20, true],
    [21, false],
  ] as const) {
    const send = conversation();
    const written = send([user(end('turn 0'))]);
    const later = turns(blocks - 1);
    const usage = send([...later, user(end('end'))]);
    expect(usage.cache_read_input_tokens).toBe(isFound ? written.cache_creation_input_tokens : 0);
  }
});
