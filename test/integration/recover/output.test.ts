import { expect, test } from '@jest/globals';
import { eachInWorld, moveToWorld, shown, start as startGateway, world } from '../../fixture/each-test.ts';
import { ask } from '../../fixture/whole-chat.ts';
import type { Thinks } from '../../stand-in/claude/thought.ts';

eachInWorld({ claude: { maxOutputTokens: 8_192, modelsStatus: 404 } });

/** A model that thinks so much before each answer, and gives so much output at most. */
async function start(thinks: Thinks, MAX_OUTPUT_TOKENS: string, maxOutputTokens = 64_000): Promise<void> {
  await moveToWorld({ claude: { thinks, bindThinking: true, maxOutputTokens }, env: { MAX_OUTPUT_TOKENS } });
  await startGateway();
}

const asked = () => world.claude.calls.map(({ body }) => body.max_tokens);

test('an answer whose thinking used up its output is requested again with twice the output, twice; then it fails, and the chat keeps its session', async () => {
  await start(({ pendingText }) => (pendingText === 'Think for ever' ? 50_000 : 3_000), '1000');
  expect(await ask('Think hard')).toMatchObject({ outcome: 'answered', recoveries: 2 });
  const { session, ...outcome } = await ask('Think for ever', 2);
  expect(outcome).toMatchObject({ outcome: 'failed', reason: 'cut_before_text' });
  expect(asked()).toEqual([1_000, 2_000, 4_000, 1_000, 2_000, 4_000]);
  expect(shown()).toEqual([
    expect.stringContaining('Think hard'),
    expect.stringMatching(/thought about this message for too long/),
  ]);
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', session });
  expect(world.claude.violations()).toEqual([]);
});

test('a MAX_OUTPUT_TOKENS over the limit of the model is lowered to that limit', async () => {
  await start(0, '900000', 8_192);
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(asked()).toEqual([8_192]);
  expect(world.claude.violations()).toEqual([]);
});

test('an output limit that the endpoint does not state is learnt from two refusals, and not from one', async () => {
  await startGateway();
  for (const nth of [1, 2, 3])
    expect(await ask(`Hello ${nth}`, nth)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(asked()).toEqual([16_000, 8_192, 16_000, 8_192, 8_192]);
});

test('an answer that was cut in its text is delivered, and "go on" is answered with it in view', async () => {
  await start(100, '1000');
  world.claude.react(({ pendingText }) =>
    pendingText === 'Tell me all' ? { do: 'answer', text: 'word '.repeat(2_000) } : undefined,
  );
  expect(await ask('Tell me all')).toMatchObject({ outcome: 'answered' });
  expect(shown().at(-1)).toMatch(/Ask me to continue/);
  expect(await ask('go on', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(JSON.stringify(world.claude.calls.at(-1)?.body.messages)).toContain('word word');
  expect(world.claude.violations()).toEqual([]);
});
