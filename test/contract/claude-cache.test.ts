import { expect, test } from '@jest/globals';
import { assistant, marked, text, tool, user } from '../fixture/content-blocks.ts';
import { type InputUsage, PrefixCache } from '../stand-in/claude/cache.ts';
import { prefixTokens } from '../stand-in/claude/counting.ts';
import type { Message, MessagesRequest } from '../stand-in/claude/request.ts';
import { segmentsOf } from '../stand-in/claude/segments.ts';

/** What the provider's documents say of its cache. How our requests use it: `unit/worker/model/claude/wire-request.test.ts`. */

type Send = (messages: Message[], more?: Partial<MessagesRequest>) => InputUsage & { tokens: readonly number[] };

/** Sends requests one after the other to a cache of their own. */
function conversation(): Send {
  const cache = new PrefixCache();
  return (messages, more = {}) => {
    const segments = segmentsOf({ model: 'm', max_tokens: 1, messages, ...more });
    const tokens = prefixTokens(segments, 1);
    return { ...cache.account(segments, tokens, String(more.model)), tokens };
  };
}

const total = ({ tokens }: { tokens: readonly number[] }): number => tokens.at(-1) ?? 0;
const frame = { system: [text('rules', marked)], tools: [tool('look', marked)] };
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };

test.each<[name: string, said: string, more: Partial<MessagesRequest>, segmentsRead: number]>([
  ['the tools', 'one', { ...frame, tools: [tool('see', marked)] }, 0],
  ['the system prompt', 'one', { ...frame, system: [text('Rules', marked)] }, 1],
  ['a message', 'One', frame, 2],
  ['nothing', 'one', frame, 3],
  ['the model', 'one', { ...frame, model: 'other' }, 0],
])('after a change of %s, only what stands before it is read from the cache', (_, said, more, segmentsRead) => {
  const send = conversation();
  send([user(text('one', marked))], frame);
  const { tokens, ...usage } = send([user(text(said, marked))], more);
  expect(usage.cache_read_input_tokens).toBe(tokens[segmentsRead - 1] ?? 0);
  expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBe(tokens.at(-1));
});

test.each([
  [19, true],
  [20, false],
])('a breakpoint that stands %i blocks behind an earlier one finds it: %s', (blocks, isFound) => {
  const send = conversation();
  const first = send([user(text('turn 0', marked))]);
  const between = Array.from({ length: blocks }, (_, at) =>
    at % 2 === 0 ? user(`turn ${at}`) : assistant(`turn ${at}`),
  );
  const { cache_read_input_tokens: read } = send([...between, user(text('end', marked))]);
  expect(read).toBe(isFound ? total(first) : 0);
});

test('without a breakpoint nothing is cached, and what is written is stated by its lifetime', () => {
  const send = conversation();
  expect(send([user('one')])).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
  const { tokens, cache_creation: written } = send([user(text('one', marked))], { system: [text('rules', hour)] });
  const [system = 0, all = 0] = tokens;
  expect(written).toEqual({ ephemeral_1h_input_tokens: system, ephemeral_5m_input_tokens: all - system });
});
