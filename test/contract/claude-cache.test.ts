import { expect, test } from '@jest/globals';
import { type CacheOptions, type InputUsage, PrefixCache, roomsOf } from '../stand-in/claude/cache.ts';
import { prefixTokens } from '../stand-in/claude/counting.ts';
import { modelName } from '../stand-in/claude/names.ts';
import { OPUS_5_5_PRICES, priceOf } from '../stand-in/claude/prices.ts';
import type { Block, Message, MessagesRequest } from '../stand-in/claude/request.ts';
import { segmentsOf } from '../stand-in/claude/segments.ts';
import { assistant, marked, text, tool, user } from '../stand-in/claude/specimens.ts';

/** Sends requests one after the other to a cache of their own. */
function conversation(options?: CacheOptions): (messages: Message[], more?: Partial<MessagesRequest>) => InputUsage {
  const cache = new PrefixCache(options);
  return (messages, more = {}) => {
    const request = { model: 'm', max_tokens: 1, messages, ...more };
    const segments = segmentsOf(request);
    return cache.account(segments, prefixTokens(segments, 1), roomsOf(request));
  };
}

const total = (usage: InputUsage): number =>
  usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens;
const end = (value: string): Block => text(value, marked);
const turns = (count: number): Message[] =>
  Array.from({ length: count }, (_, at) => (at % 2 === 0 ? user(`turn ${at}`) : assistant(`turn ${at}`)));

test('without a breakpoint nothing is cached', () => {
  const send = conversation();
  send(turns(3));
  expect(send(turns(3))).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
});

test('a growing conversation reads its earlier prefix from the cache, and the token counts add up', () => {
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

test('a top-level cache_control caches the whole request', () => {
  const send = conversation();
  const first = send(turns(3), { cache_control: { type: 'ephemeral' } });
  expect(first.input_tokens).toBe(0);
  expect(send(turns(3), { cache_control: { type: 'ephemeral' } }).cache_read_input_tokens).toBe(total(first));
});

test('a change in tools, system prompt or a message invalidates the cache from there on', () => {
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

const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const MINUTE_MS = 60_000;

test('an entry expires after its lifetime of 5 minutes or 1 hour, and each read renews it', () => {
  for (const [marker, livesMs] of [
    [marked, 5 * MINUTE_MS],
    [hour, 60 * MINUTE_MS],
  ] as const) {
    let now = 0;
    const send = conversation({ now: () => now });
    const read = (): boolean => send([user(text('one', marker))]).cache_read_input_tokens > 0;
    const seen: boolean[] = [read()];
    for (const waitMs of [livesMs - 1, livesMs - 1, livesMs]) {
      now += waitMs;
      seen.push(read());
    }
    expect(seen).toEqual([false, true, true, false]);
  }
});

test('a read from a later breakpoint renews an entry for the lifetime it was written with', () => {
  let now = 0;
  const send = conversation({ now: () => now });
  const first = send([user(end('one'))]);
  const later = [user('one'), assistant('ok'), user(end('two'))];
  now = 4 * MINUTE_MS;
  expect(send(later).cache_read_input_tokens).toBe(total(first));
  now = 8 * MINUTE_MS;
  expect(send([user('one'), assistant('else'), user(end('two'))]).cache_read_input_tokens).toBe(total(first));
  const long = send([user(text('other', hour))]);
  send([user(end('other'))]);
  now += 30 * MINUTE_MS;
  expect(send([user(end('other'))]).cache_read_input_tokens).toBe(total(long));
});

test('usage splits the written tokens by lifetime, and the parts add up', () => {
  const send = conversation();
  const both = { system: [text('rules', hour)] };
  const first = send([user(end('one'))], both);
  expect(first.cache_creation).toEqual({
    ephemeral_1h_input_tokens: expect.any(Number),
    ephemeral_5m_input_tokens: first.cache_creation_input_tokens - first.cache_creation.ephemeral_1h_input_tokens,
  });
  expect(first.cache_creation.ephemeral_1h_input_tokens).toBeGreaterThan(0);
  expect(first.cache_creation.ephemeral_5m_input_tokens).toBeGreaterThan(0);
  const second = send([user(text('one', hour))], both);
  expect(second).toMatchObject({ cache_creation_input_tokens: 0, cache_read_input_tokens: total(first) });
});

test('a model reads what it wrote under a prefixed name, but nothing that another model wrote', () => {
  const send = conversation();
  send([user(end('one'))], { model: 'claude-a' });
  expect(send([user(end('one'))], { model: 'claude-b' }).cache_read_input_tokens).toBe(0);
  expect(send([user(end('one'))], { model: 'us.anthropic.claude-a-v1:0' }).cache_read_input_tokens).toBeGreaterThan(0);
});

test('a new effort misses the whole cache; a new tool_choice or thinking type keeps tools and system prompt', () => {
  const base = { system: [end('rules')], tools: [tool('look')] };
  const changes: [more: Partial<MessagesRequest>, keeps: 'all' | 'frame' | 'nothing'][] = [
    [{ output_config: { effort: 'medium' }, thinking: { type: 'adaptive' } }, 'all'],
    [{ tool_choice: { type: 'none' } }, 'frame'],
    [{ thinking: { type: 'disabled' } }, 'frame'],
    [{ output_config: { effort: 'low' } }, 'nothing'],
  ];
  for (const [more, keeps] of changes) {
    const send = conversation();
    const first = send([user(end('one'))], base);
    const { cache_read_input_tokens: read } = send([user(end('one'))], { ...base, ...more });
    const kept = read === 0 ? 'nothing' : read === total(first) ? 'all' : 'frame';
    expect([more, kept]).toEqual([more, keeps]);
  }
});

test('modelName removes the prefix and the version of a provider', () => {
  const names = [
    'anthropic/claude-opus-5-5',
    'anthropic/claude-opus-5.5',
    'us.anthropic.claude-opus-5-5-v1:0',
    'claude-opus-5-5@20260922',
    'vertex_ai/claude-opus-5-5',
  ];
  for (const name of names) expect(modelName(name)).toBe('claude-opus-5-5');
  expect(modelName('claude-sonnet-5-5')).toBe('claude-sonnet-5-5');
  expect(modelName('gpt')).toBe('gpt');
});

test('each kind of token has its price', () => {
  const none = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 0 };
  const million = 1_000_000;
  const written = (ephemeral_1h_input_tokens: number) => ({
    ...none,
    cache_creation_input_tokens: million,
    cache_creation: { ephemeral_1h_input_tokens, ephemeral_5m_input_tokens: million - ephemeral_1h_input_tokens },
  });
  const usages = [
    { ...none, input_tokens: million },
    { ...none, output_tokens: million },
    { ...none, cache_read_input_tokens: million },
    written(0),
    written(million),
    written(million / 2),
  ];
  expect(usages.map((usage) => priceOf(usage))).toEqual([4, 20, 0.2, 5, 8, 6.5]);
  expect(OPUS_5_5_PRICES).toMatchObject({ input: 4, output: 20 });
});
