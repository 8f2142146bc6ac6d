import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { call, text } from '../../fixture/content-blocks.ts';
import { eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe } from '../../fixture/history.ts';
import { type ScriptedEndpoint, sendEvent, sendWords, startEndpoint } from '../../fixture/scripted-endpoint.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, givenLines, invalid, summaries } from '../../fixture/whole-chat.ts';

const WINDOW_TOKENS = 60_000;
let endpoint: ScriptedEndpoint | undefined;

eachInWorld({ claude: { windowTokens: WINDOW_TOKENS } });
afterEach(() => endpoint?.close());

/** Writes an answer, and states why it ends. */
function answer(response: ServerResponse, message: object, stated: object = {}): void {
  sendEvent(response, 'message_start', { message });
  sendWords(response, 'It is done.');
  sendEvent(response, 'content_block_stop', { index: 0 });
  sendEvent(response, 'message_delta', { delta: { stop_reason: 'end_turn' }, ...stated });
}

const USAGE = { input_tokens: 100, output_tokens: 1 };
const stop = (response: ServerResponse) => {
  sendEvent(response, 'message_stop');
  response.end();
};

test.each<[string, object, object, (response: ServerResponse) => unknown]>([
  ['never states its usage', { role: 'assistant', content: [] }, {}, stop],
  ['states a usage of null', { usage: null }, { usage: null }, stop],
  ['ends without message_stop', { usage: USAGE }, { usage: { output_tokens: 5 } }, (r) => r.end()],
  [
    'is reset after its stop reason',
    { usage: USAGE },
    { usage: { output_tokens: 5 } },
    (r) => r.write(': \n', () => r.destroy()),
  ],
])('an answer that %s is whole: one call, and its size is known', async (_what, message, stated, end) => {
  endpoint = await startEndpoint((response) => {
    answer(response, message, stated);
    end(response);
  });
  await start({ ANTHROPIC_BASE_URL: endpoint.url });
  const { session, ...outcome } = await ask('Is it done?');
  expect(outcome).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(outcome.reason).toBeUndefined();
  expect(shown()).toEqual(['It is done.']);
  expect(endpoint.bodies).toHaveLength(1);
  const log = await world.peek.lrange(world.keys.log(session as SessionId), 0, -1);
  const { usage } = JSON.parse(log.at(-1) ?? '{}');
  expect(usage.inputTokens).toBeGreaterThan(50);
  expect(usage.outputTokens).toBeGreaterThan(1);
});

variants(['end_turn', 'stop', null])(
  'a tool_use block is a call, although the stop reason is %s',
  async (stopReason) => {
    world.claude.react(({ kind, index }) => {
      if (kind !== 'main') return undefined;
      if (index > 0) return { do: 'answer', text: 'I found it.' };
      const content = [text('I look it up.'), call('t1', { name: 'recall', input: { query: 'house' } })];
      return { do: 'answer', content, stopReason: stopReason as string };
    });
    await start();
    expect(await ask('Where is it?')).toMatchObject({ outcome: 'answered' });
    expect(shown()).toEqual(['I found it.']);
    expect(JSON.stringify(mainCalls()[1]?.body.messages.at(-1))).toContain('"tool_result"');
    expect(mainCalls()).toHaveLength(2);
    expect(world.claude.violations()).toEqual([]);
  },
);

/** The endpoint leaves the cached tokens out of each usage. */
const leaveOutCached = () =>
  world.claude.react(({ kind }) => {
    const usage = { input_tokens: 40, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    return kind === 'main' ? { do: 'answer', text: 'It is so.', usage } : undefined;
  });

test('usage without the cached tokens is not believed: the session is compacted as ever', async () => {
  leaveOutCached();
  await givenLines(conversation(42, 1_000));
  await start();
  for (let nth = 1; summaries().length === 0 && nth <= 8; nth++) {
    expect(await ask(`Remark ${nth}: ${'so it goes on and on '.repeat(250)}`, nth)).toMatchObject({
      outcome: 'answered',
      recoveries: 0,
    });
  }
  expect(summaries()).not.toEqual([]);
  expect(mainCalls().every(({ status }) => status === 200)).toBe(true);
  expect(Math.max(...mainCalls().map(({ inputTokens }) => inputTokens))).toBeLessThan(WINDOW_TOKENS * 0.75);
});

test('an overflow after such usage leaves nothing out of the summary', async () => {
  leaveOutCached();
  await givenLines(conversation(30, 1_000));
  await start();
  await ask('One more');
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && summaries().length === 0 ? invalid('prompt is too long') : undefined,
  );
  expect(await ask('so it goes on and on '.repeat(1_200), 2)).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(summaries().map(({ body }) => body))).toContain('Question 0 about file-0.ts');
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toMatch(/older records are not part of this summary/);
});
