import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, mainCalls, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

const YEARS_AHEAD = new Date(Date.now() + 3_650 * 24 * 3_600_000);
const NOTE = /asks for a wait of/;

eachWithGateway();

/** A refusal of the first call, with what it says about the wait. */
function refuseFirst(headers: Record<string, string>): void {
  const busy: Reaction = { do: 'error', status: 429, type: 'rate_limit_error', message: 'slow down', headers };
  world.claude.react(({ index }) => (index === 0 ? busy : undefined));
}

test('an answer that states an empty limit for ten years holds up no other call', async () => {
  const headers = {
    'anthropic-ratelimit-input-tokens-limit': '1000',
    'anthropic-ratelimit-input-tokens-remaining': '0',
    'anthropic-ratelimit-input-tokens-reset': YEARS_AHEAD.toISOString(),
  };
  world.claude.react(() => ({ do: 'answer', text: 'Yes.', headers }));
  for (const chat of [CHAT, CHAT + 1]) {
    world.telegram.say(chat, 'Hello');
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  }
});

test.each<[string, Record<string, string>]>([
  ['a limit that is reset in ten years', { 'anthropic-ratelimit-input-tokens-reset': YEARS_AHEAD.toISOString() }],
  ['a date in ten years', { 'retry-after': YEARS_AHEAD.toUTCString() }],
  ['two hours in seconds', { 'retry-after': '7200' }],
])('%s is not waited for, and the operator gets one note', async (_what, headers) => {
  refuseFirst(headers);
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  await world.telegram.waitForText(ALERT_CHAT, NOTE);
  expect([mainCalls().length, shown(ALERT_CHAT).length]).toEqual([2, 1]);
});

test.each([-3_600_000, 3_600_000])('a date is read by the clock of its answer, which is %i ms off', async (offMs) => {
  const there = Date.now() + offMs;
  refuseFirst({ date: new Date(there).toUTCString(), 'retry-after': new Date(there + 5_000).toUTCString() });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const [first, second] = mainCalls();
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(4_000);
});
