import { afterEach, expect, test } from '@jest/globals';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import type { Thinks } from '../../stand-in/claude/thought.ts';

const CHAT = 1001;

let world: World;
let gateway: Service;

afterEach(async () => {
  await gateway.stop();
  await world.close();
});

/** A model that thinks so much before each answer, and gives so much output at most. */
async function start(thinks: Thinks, env: Record<string, string>, maxOutputTokens = 64_000): Promise<void> {
  world = await createWorld({ claude: { thinks, bindThinking: true, maxOutputTokens }, env });
  gateway = await startGateway(world);
}

const asked = () => world.claude.calls.map(({ body }) => body.max_tokens);
const shown = () => world.telegram.shown(CHAT).map(({ text }) => text);

test('an answer whose thinking used up its output is requested again with twice the output', async () => {
  await start(3_000, { MAX_OUTPUT_TOKENS: '1000' });
  world.telegram.say(CHAT, 'Think hard');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(asked()).toEqual([1_000, 2_000, 4_000]);
  expect(shown()).toEqual([expect.stringContaining('Think hard')]);
  expect(world.claude.violations()).toEqual([]);
});

test('a message with endless thinking fails with a notice after three calls, and the chat keeps its session', async () => {
  await start(({ pendingText }) => (pendingText === 'Think for ever' ? 50_000 : 10), { MAX_OUTPUT_TOKENS: '1000' });
  world.telegram.say(CHAT, 'Think for ever');
  const { session, ...outcome } = await nextOutcome(world, CHAT);
  expect(outcome).toMatchObject({ outcome: 'failed', reason: 'cut_before_text' });
  expect(asked()).toEqual([1_000, 2_000, 4_000]);
  expect(shown()).toEqual([expect.stringMatching(/ran out of time thinking/)]);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session });
});

test('a MAX_OUTPUT_TOKENS over the limit of the model is lowered to that limit', async () => {
  await start(0, { MAX_OUTPUT_TOKENS: '900000' }, 8_192);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(asked()).toEqual([8_192]);
  expect(world.claude.violations()).toEqual([]);
});

test('an output limit that the endpoint does not state is learnt from two refusals', async () => {
  world = await createWorld({ claude: { maxOutputTokens: 8_192, servesModels: false } });
  gateway = await startGateway(world);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  world.telegram.say(CHAT, 'Again');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  world.telegram.say(CHAT, 'Once more');
  expect(await nextOutcome(world, CHAT, 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(asked()).toEqual([16_000, 8_192, 16_000, 8_192, 8_192]);
});

test('an output limit that is stated once teaches nothing', async () => {
  await start(0, { MAX_OUTPUT_TOKENS: '8000' });
  const message = 'max_tokens: 8000 > 1024, which is the maximum allowed number of output tokens for claude-opus-5-5';
  world.claude.react(({ index }) =>
    index === 0 ? { do: 'error', status: 400, type: 'invalid_request_error', message } : undefined,
  );
  for (const [at, text] of ['Hello', 'Again'].entries()) {
    world.telegram.say(CHAT, text);
    expect(await nextOutcome(world, CHAT, at + 1)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  }
  expect(asked()).toEqual([8_000, 1_024, 8_000]);
});

test('an answer that was cut in its text is delivered, and "go on" is answered with it in view', async () => {
  await start(100, { MAX_OUTPUT_TOKENS: '1000' });
  world.claude.react(({ pendingText }) =>
    pendingText === 'Tell me all' ? { do: 'answer', text: 'word '.repeat(2_000) } : undefined,
  );
  world.telegram.say(CHAT, 'Tell me all');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown().at(-1)).toMatch(/Ask me to continue/);
  world.telegram.say(CHAT, 'go on');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(JSON.stringify(world.claude.calls.at(-1)?.body.messages)).toContain('word word');
  expect(world.claude.violations()).toEqual([]);
});
