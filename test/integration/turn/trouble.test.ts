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
  expect(shown(CHAT)).toEqual([expect.stringMatching(/could not get an answer/)]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
  expect(`${alert.text}${shown(CHAT).join()}`).not.toMatch(/secret internals/);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  // The last asks whether the endpoint takes anything at all.
  const asked = world.claude.calls.map(({ pendingText }) => pendingText);
  expect(asked.pop()).toMatch(/test of the connection/);
  expect([new Set(asked), asked.length > 1]).toEqual([new Set(['Anybody?']), true]);
});

test('a key that is not accepted gives each user a notice and the operator one alert', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'invalid x-api-key' }));
  for (const chat of [CHAT, CHAT + 1, CHAT + 2]) world.telegram.say(chat, 'Hello');
  for (const chat of [CHAT, CHAT + 1, CHAT + 2]) {
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'failed', reason: 'authentication' });
    expect(shown(chat)).toEqual([expect.stringMatching(/cannot answer at the moment/)]);
  }
  await world.telegram.waitForText(ALERT_CHAT, /authentication/);
  expect(world.claude.calls).toHaveLength(6);
  expect(shown(ALERT_CHAT)).toHaveLength(1);
});

test('a refused message fails and is not sent again with the next one', async () => {
  world.claude.react((call) =>
    call.index <= 1 ? { do: 'answer', text: 'partial', stopReason: 'refusal' } : undefined,
  );
  world.telegram.say(CHAT, 'something forbidden');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  world.telegram.say(CHAT, 'something fine');
  await nextOutcome(world, CHAT, 2);
  expect(JSON.stringify(world.claude.calls[2]?.body)).not.toContain('something forbidden');
  expect(shown(CHAT)[1]).toContain('something fine');
});

test('a message to a chat that is gone ends as undeliverable, and the operator is notified', async () => {
  world.telegram.fail('sendMessage', { status: 403, description: 'Forbidden: bot was blocked by the user' }, 1);
  world.telegram.say(CHAT, 'bye');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'undeliverable', reason: 'telegram_gone' });
  await world.telegram.waitForText(ALERT_CHAT, /could not be delivered/);
});

test('a throttled send is shown once, without another model call', async () => {
  world.telegram.fail(
    'sendMessage',
    { status: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } },
    1,
  );
  world.telegram.say(CHAT, 'again');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown(CHAT)).toHaveLength(1);
  expect(world.claude.calls).toHaveLength(1);
});

test('a send whose response is lost is repeated once, without another model call', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1);
  world.telegram.say(CHAT, 'lost?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown(CHAT)).toHaveLength(2);
  expect(world.claude.calls).toHaveLength(1);
});
