import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { text, thinking } from '../../fixture/content-blocks.ts';
import {
  CHAT,
  eachWithGateway,
  moveToWorld,
  shown,
  spawn,
  start,
  stopGateways,
  world,
} from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';

const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;

eachWithGateway({ env: { MAX_ATTEMPTS: '2' } }, { WAITING_NOTICE_MS: 1_000 });

async function restart(env: Record<string, string>): Promise<void> {
  await stopGateways();
  await start(env);
}

const TRANSIENT: [string, Reaction][] = [
  ['an overloaded provider', DOWN],
  ['an error event after a 200', { do: 'errorEvent', type: 'overloaded_error', message: 'Overloaded' }],
  ['a stream that ends early', { do: 'truncate', text: 'half an ans' }],
  ['a socket that dies in the stream', { do: 'cut', text: 'half an ans' }],
  ['an error page', { do: 'raw', status: 502, body: '<html>bad gateway</html>' }],
  ['an answer without text', { do: 'answer', content: [] }],
];

variants(TRANSIENT)('after %s the call is retried, and the message is answered once', async (_what, reaction) => {
  world.claude.react((call) => (call.index === 0 ? reaction : undefined));
  world.telegram.say(CHAT, 'Patience');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(shown(CHAT)).toHaveLength(1);
  expect(world.claude.calls).toHaveLength(2);
});

test('the retry-after of the provider is honoured', async () => {
  const busy = {
    do: 'error',
    status: 429,
    type: 'rate_limit_error',
    message: 'slow down',
    headers: { 'retry-after': '3' },
  } as const;
  world.claude.react((call) => (call.index === 0 ? busy : undefined));
  world.telegram.say(CHAT, 'Hurry');
  await nextOutcome(world, CHAT);
  const [first, second] = world.claude.calls;
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(3_000);
});

test('an outage longer than OUTAGE_PATIENCE_MS fails the message, after several calls, without a word of the endpoint', async () => {
  await restart({ OUTAGE_PATIENCE_MS: '500' });
  world.claude.react(() => ({ do: 'error', status: 500, type: 'api_error', message: 'secret internals' }));
  world.telegram.say(CHAT, 'Anybody?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'server_error' });
  expect(shown(CHAT)).toEqual([expect.stringMatching(/couldn't answer just now/)]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
  expect(`${alert.text}${shown(CHAT).join()}`).not.toMatch(/secret internals/);
  expect(world.claude.calls.length).toBeGreaterThan(1);
});

test('12 chats wait out an outage with one notice each, are answered in order, and the operator is told of the outage alone', async () => {
  const chats = Array.from({ length: 12 }, (_, at) => CHAT + at);
  let isDown = true;
  world.claude.react((call) => (isDown && call.kind === 'main' ? DOWN : undefined));
  for (const text of ['First', 'Second']) for (const chat of chats) world.telegram.say(chat, text);
  for (const chat of chats) await world.telegram.waitForText(chat, /your message is saved/i);
  isDown = false;
  const settled = await untilSettled(world, 2 * chats.length);
  expect(settled.every(({ outcome, recoveries }) => outcome === 'answered' && recoveries === 0)).toBe(true);
  const answers = ['First', 'Second'].map((text) => expect.stringContaining(text));
  for (const chat of chats) expect(shown(chat)).toEqual([expect.stringMatching(/message is saved/), ...answers]);
  const alerts = shown(ALERT_CHAT).filter((text) => !/^(?:Resolved: t|T)he model endpoint/.test(text));
  expect(alerts).toEqual([]);
});

test('a 400 that sounds like a rate limit fails after a bounded number of calls', async () => {
  const error = { do: 'error', status: 400, type: 'invalid_request_error', message: 'please slow down' } as const;
  world.claude.react(({ kind, pendingText }) => (kind === 'main' && pendingText === 'Fast' ? error : undefined));
  world.telegram.say(CHAT, 'Fast');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  expect(world.claude.calls.length).toBeLessThanOrEqual(14);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
});

test('the log of a turn tells why it was postponed, and its end, each line with trace, chat and entry', async () => {
  await stopGateways();
  world.claude.react(({ index }) => (index === 0 ? DOWN : undefined));
  const gateway = await spawn();
  world.telegram.say(CHAT, 'My private words');
  const { entry, traceId } = await nextOutcome(world, CHAT);
  await gateway.stop();
  const lines = gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const own = lines.filter((line) => line.entry === entry);
  expect(own.map(({ msg, reason }) => [msg, reason])).toEqual([
    ['tried again later', 'overloaded'],
    ['settled', undefined],
  ]);
  for (const line of own) expect(line).toMatchObject({ traceId, chat: String(CHAT) });
  expect(gateway.log.join('')).not.toContain('private');
});

const FIRST = 'claude-opus-5-5';
const SECOND = 'claude-haiku-4-5-20251001';

function modelsOf(calls: readonly ClaudeCall[]): string[] {
  return calls.filter(({ kind }) => kind === 'main').map(({ body }) => body.model);
}

/** Every call of a model fails in this way. */
function fail(model: string, reaction: Reaction): void {
  world.claude.react((call) => (call.body.model === model ? reaction : undefined));
}

variants<[string, Reaction]>([
  ['is overloaded', DOWN],
  ['fails', { do: 'error', status: 500, type: 'api_error', message: 'Internal' }],
  ['asks to wait', { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down' }],
  ['breaks off', { do: 'cut', text: 'half' }],
])('when a model %s, the fallback answers in the same attempt', async (_, reaction) => {
  await restart({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  fail(FIRST, reaction);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND]);
});

test('the fallback is never sent an overflow, and when it is unavailable too, the message waits for the first model', async () => {
  await restart({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  world.claude.react((call) => (call.index < 2 ? DOWN : undefined));
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND, FIRST]);
  let overflows = 0;
  world.claude.react((call) => (call.kind === 'main' && overflows++ < 2 ? { do: 'overflow' } : undefined));
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  world.telegram.say(CHAT, 'Hello again');
  await nextOutcome(world, CHAT, 2);
  expect(new Set(modelsOf(world.claude.calls.slice(3)))).toEqual(new Set([FIRST]));
});

test('switching to the fallback and back causes no violation, although thinking is bound to its model', async () => {
  await stopGateways();
  await moveToWorld({ claude: { bindThinking: true } });
  await restart({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  let isAway = false;
  world.claude.react((call) =>
    isAway && call.body.model === FIRST ? DOWN : { do: 'answer', content: [thinking(`t${call.index}`), text('b')] },
  );
  for (const [n, away] of [false, true, true, false, true, false].entries()) {
    isAway = away;
    world.telegram.say(CHAT, `message ${n}`);
    expect(await nextOutcome(world, CHAT, n + 1)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  }
  expect(world.claude.violations()).toEqual([]);
});

test('60 chats in a brownout cause at most 24 calls, and all are answered when it is over', async () => {
  const chats = Array.from({ length: 60 }, (_, at) => CHAT + at);
  let isAway = true;
  world.claude.react(() => (isAway ? DOWN : undefined));
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
