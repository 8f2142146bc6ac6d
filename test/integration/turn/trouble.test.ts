import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

eachWithGateway({ env: { MAX_ATTEMPTS: '2' } });

async function restart(env: Record<string, string>): Promise<void> {
  await stopGateways();
  await start(env);
}

const TRANSIENT: [string, Reaction][] = [
  ['an overloaded provider', { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }],
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

test('an outage longer than OUTAGE_PATIENCE_MS fails the message with a notice, an alert and a dead letter', async () => {
  await restart({ OUTAGE_PATIENCE_MS: '500' });
  world.claude.react(() => ({ do: 'error', status: 500, type: 'api_error', message: 'secret internals' }));
  world.telegram.say(CHAT, 'Anybody?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'server_error' });
  expect(shown(CHAT)).toEqual([expect.stringMatching(/couldn't answer just now/)]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
  expect(`${alert.text}${shown(CHAT).join()}`).not.toMatch(/secret internals/);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  const asked = world.claude.calls.map(({ pendingText }) => pendingText);
  expect([new Set(asked), asked.length > 1]).toEqual([new Set(['Anybody?']), true]);
});

test('a key that is not accepted gives each user a notice and the operator one alert', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  for (const chat of [CHAT, CHAT + 1, CHAT + 2]) world.telegram.say(chat, 'Hello');
  for (const chat of [CHAT, CHAT + 1, CHAT + 2]) {
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'failed', reason: 'authentication' });
    expect(shown(chat)).toEqual([expect.stringMatching(/can't answer at the moment/)]);
  }
  await world.telegram.waitForText(ALERT_CHAT, /authentication/);
  expect(world.claude.calls).toHaveLength(6);
  expect(shown(ALERT_CHAT)).toHaveLength(1);
});
