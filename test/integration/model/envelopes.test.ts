import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import {
  type ScriptedEndpoint,
  sendEvent,
  sendStart,
  sendWords,
  startEndpoint,
} from '../../fixture/scripted-endpoint.ts';
import { variants } from '../../fixture/variants.ts';
import { call } from '../../stand-in/claude/specimens.ts';

const WINDOW_TOKENS = 60_000;
let endpoint: ScriptedEndpoint | undefined;

eachInWorld({ claude: { windowTokens: WINDOW_TOKENS } });
afterEach(() => endpoint?.close());

/** Ends the block and states why the answer ends. */
function sendStopReason(response: ServerResponse, more: object = {}): void {
  sendEvent(response, 'content_block_stop', { index: 0 });
  sendEvent(response, 'message_delta', { delta: { stop_reason: 'end_turn' }, ...more });
}

const stop = (response: ServerResponse) => {
  sendEvent(response, 'message_stop');
  response.end();
};

test.each<[string, (response: ServerResponse) => void]>([
  [
    'never states its usage',
    (r) => {
      sendEvent(r, 'message_start', { message: { role: 'assistant', content: [] } });
      sendWords(r, 'It is done.');
      sendStopReason(r);
      stop(r);
    },
  ],
  [
    'states a usage of null',
    (r) => {
      sendEvent(r, 'message_start', { message: { usage: null } });
      sendWords(r, 'It is done.');
      sendStopReason(r, { usage: null });
      stop(r);
    },
  ],
  [
    'ends without message_stop',
    (r) => {
      sendStart(r);
      sendWords(r, 'It is done.');
      sendStopReason(r, { usage: { output_tokens: 5 } });
      r.end();
    },
  ],
  [
    'is reset after its stop reason',
    (r) => {
      sendStart(r);
      sendWords(r, 'It is done.');
      sendStopReason(r, { usage: { output_tokens: 5 } });
      r.write(': \n', () => r.destroy());
    },
  ],
])('an answer that %s is whole: one call, and its size is known', async (_what, script) => {
  endpoint = await startEndpoint(script);
  await start({ ANTHROPIC_BASE_URL: endpoint.url });
  world.telegram.say(CHAT, 'Is it done?');
  const { session, ...outcome } = await nextOutcome(world, CHAT);
  expect(outcome).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(outcome.reason).toBeUndefined();
  expect(shown()).toEqual(['It is done.']);
  expect(endpoint.bodies).toHaveLength(1);
  const log = await world.peek.lrange(world.keys.log(session as SessionId), 0, -1);
  const { usage } = JSON.parse(log.at(-1) ?? '{}');
  expect(usage.inputTokens).toBeGreaterThan(50);
  expect(usage.outputTokens).toBeGreaterThan(1);
});

variants<[string, string | null]>([
  ['end_turn', 'end_turn'],
  ['stop', 'stop'],
  ['null', null],
])('a tool_use block is a call, although the stop reason is %s', async (_name, stopReason) => {
  world.claude.react(({ kind, index }) => {
    if (kind !== 'main') return undefined;
    if (index > 0) return { do: 'answer', text: 'I found it.' };
    const content = [
      { type: 'text', text: 'I look it up.' },
      call('t1', { name: 'recall', input: { query: 'house' } }),
    ];
    return { do: 'answer', content, stopReason: stopReason as string };
  });
  await start();
  world.telegram.say(CHAT, 'Where is it?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['I found it.']);
  expect(JSON.stringify(mainCalls()[1]?.body.messages.at(-1))).toContain('"tool_result"');
  expect(mainCalls()).toHaveLength(2);
  expect(world.claude.violations()).toEqual([]);
});

/** The endpoint leaves the cached tokens out of each usage. */
const leaveOutCached = () =>
  world.claude.react(({ kind }) => {
    const usage = { input_tokens: 40, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    return kind === 'main' ? { do: 'answer', text: 'It is so.', usage } : undefined;
  });
const givenLines = async (exchanges: number) =>
  importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(exchanges, 1_000)));
const compactions = () => world.claude.calls.filter(({ kind }) => kind === 'compaction');

test('usage without the cached tokens is not believed: the session is compacted as ever', async () => {
  leaveOutCached();
  await givenLines(42);
  await start();
  for (let nth = 1; compactions().length === 0 && nth <= 8; nth++) {
    world.telegram.say(CHAT, `Remark ${nth}: ${'so it goes on and on '.repeat(250)}`);
    expect(await nextOutcome(world, CHAT, nth)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  }
  expect(compactions()).not.toEqual([]);
  expect(mainCalls().every(({ status }) => status === 200)).toBe(true);
  expect(Math.max(...mainCalls().map(({ inputTokens }) => inputTokens))).toBeLessThan(WINDOW_TOKENS * 0.75);
});

test('an overflow after such usage leaves nothing out of the summary', async () => {
  leaveOutCached();
  await givenLines(30);
  await start();
  world.telegram.say(CHAT, 'One more');
  await nextOutcome(world, CHAT);
  const message = 'prompt is too long';
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && compactions().length === 0
      ? { do: 'error', status: 400, type: 'invalid_request_error', message }
      : undefined,
  );
  world.telegram.say(CHAT, 'so it goes on and on '.repeat(1_200));
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  const summarised = compactions().map(({ body }) => JSON.stringify(body));
  expect(summarised.some((text) => text.includes('Question 0 about file-0.ts'))).toBe(true);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toMatch(/older records are not part of this summary/);
});
