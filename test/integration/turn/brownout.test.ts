import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, moveToWorld, start, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';
import { text, thinking } from '../../stand-in/claude/specimens.ts';

const FIRST = 'claude-opus-5-5';
const SECOND = 'claude-haiku-4-5-20251001';
const OVERLOADED: Reaction = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };

eachInWorld();

function modelsOf(calls: readonly ClaudeCall[]): string[] {
  return calls.filter(({ kind }) => kind === 'main').map(({ body }) => body.model);
}

/** Every call of a model fails in this way. */
function fail(model: string, reaction: Reaction): void {
  world.claude.react((call) => (call.body.model === model ? reaction : undefined));
}

variants<[string, Reaction]>([
  ['is overloaded', OVERLOADED],
  ['fails', { do: 'error', status: 500, type: 'api_error', message: 'Internal' }],
  ['asks to wait', { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down' }],
  ['breaks off', { do: 'cut', text: 'half' }],
])('when a model %s, the fallback answers in the same attempt', async (_, reaction) => {
  await start({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  fail(FIRST, reaction);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND]);
});

test('an overflow is never sent to the fallback', async () => {
  await start({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  world.claude.react((call) => (call.kind === 'main' && call.index < 2 ? { do: 'overflow' } : undefined));
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  world.telegram.say(CHAT, 'Hello');
  await nextOutcome(world, CHAT);
  expect(new Set(modelsOf(world.claude.calls))).toEqual(new Set([FIRST]));
});

test('switching to the fallback and back causes no violation, although thinking is bound to its model', async () => {
  await moveToWorld({ claude: { bindThinking: true } });
  await start({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  let isAway = false;
  world.claude.react((call) =>
    isAway && call.body.model === FIRST
      ? OVERLOADED
      : { do: 'answer', content: [thinking(`t${call.index}`), text('b')] },
  );
  for (const [n, away] of [false, true, true, false, true, false].entries()) {
    isAway = away;
    world.telegram.say(CHAT, `message ${n}`);
    expect(await nextOutcome(world, CHAT, n + 1)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  }
  expect(world.claude.violations()).toEqual([]);
});

test('when the fallback is unavailable too, the message waits for the first model', async () => {
  await start({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  world.claude.react((call) => (call.index < 2 ? OVERLOADED : undefined));
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND, FIRST]);
});

test('60 chats in a brownout cause at most 24 calls, and all are answered when it is over', async () => {
  await start({ MAX_ATTEMPTS: '2' });
  const chats = Array.from({ length: 60 }, (_, at) => CHAT + at);
  let isAway = true;
  world.claude.react(() => (isAway ? OVERLOADED : undefined));
  for (const chat of chats) world.telegram.say(chat, 'Anybody?');
  await world.claude.waitForCall((call) => call.index >= 7);
  const during = Date.now() + 2_000;
  while (Date.now() < during) await new Promise((resolve) => setTimeout(resolve, 50));
  const spared = world.claude.calls.length;
  isAway = false;
  const outcomes = await untilSettled(world, chats.length);
  expect(spared).toBeLessThanOrEqual(8 + 16);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(chats.map(() => 'answered'));
});

test('in a brownout a chat that needs a summary waits and keeps its session', async () => {
  await moveToWorld({ claude: { windowTokens: 20_000 } });
  const session = await importSession(
    world.peek,
    world.keys,
    chatKey(CHAT),
    await parseLines(conversation(100, 1_000)),
  );
  await start();
  let isAway = true;
  world.claude.react(() => (isAway ? OVERLOADED : undefined));
  // Others have found out already that the endpoint is in trouble.
  for (let at = 1; at <= 12; at++) world.telegram.say(CHAT + at, 'Hello');
  await world.claude.waitForCall((call) => call.index >= 7);
  world.telegram.say(CHAT, 'Go on');
  await world.telegram.waitForConfirmed(13);
  isAway = false;
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', session });
});
