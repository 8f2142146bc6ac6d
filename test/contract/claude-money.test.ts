import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, stream } from '../fixture/claude.ts';

const lines = new ClaudeLines();
afterEach(() => lines.closeAll());

const LONG = 'word '.repeat(600);
const hour = { type: 'ephemeral', ttl: '1h' } as const;

test('usd() adds up a cold call, a cached one and a cold one after the cache expired', async () => {
  let now = 0;
  const { claude, client } = await lines.start({ cache: { now: () => now } });
  const params = ask('Hi', { system: [{ type: 'text', text: LONG, cache_control: hour }] });
  for (const waitMs of [0, 3_599_000, 3_600_001]) {
    now += waitMs;
    await stream(client, params);
  }
  const [cold, warm, again] = claude.calls.map(({ usd }) => usd ?? 0);
  expect(claude.calls[0]?.usage?.cache_creation).toMatchObject({ ephemeral_5m_input_tokens: 0 });
  expect(warm).toBeLessThan((cold ?? 0) / 5);
  expect(again).toBe(cold);
  expect(claude.usd()).toBeCloseTo((cold ?? 0) * 2 + (warm ?? 0), 10);
  expect(claude.usd(({ index }) => index === 1)).toBe(warm);
});

test('a prefix below the default minimum of 512 tokens is cached only with a lower minTokens', async () => {
  const [real, lenient] = [await lines.start(), await lines.start({ cache: { minTokens: 0 } })];
  const short = ask('Hi', { cache_control: { type: 'ephemeral' } });
  expect((await real.client.messages.create(short)).usage.cache_creation_input_tokens).toBe(0);
  expect((await lenient.client.messages.create(short)).usage.cache_creation_input_tokens).toBeGreaterThan(0);
});

test('an answer that is cut off is billed although it reports no usage; an error is not billed', async () => {
  const { claude, client } = await lines.start();
  claude.react(({ index }) => (index === 0 ? { do: 'cut', text: 'Half of it' } : { do: 'overflow' }));
  await failure(stream(client, ask('Hi')));
  await failure(stream(client, ask('Hi')));
  expect(claude.calls.map(({ usd, usage }) => [(usd ?? 0) > 0, usage])).toEqual([
    [true, undefined],
    [false, undefined],
  ]);
});
