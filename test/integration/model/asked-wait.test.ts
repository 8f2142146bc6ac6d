import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, mainCalls, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { ask } from '../../fixture/whole-chat.ts';
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
    expect(await ask('Hello', 1, chat)).toMatchObject({ outcome: 'answered' });
  }
});

test('a wait of two hours is not waited for, and the operator gets one note', async () => {
  refuseFirst({ 'retry-after': '7200' });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  await world.telegram.waitForText(ALERT_CHAT, NOTE);
  expect([mainCalls().length, shown(ALERT_CHAT).length]).toEqual([2, 1]);
});

test('a date is read by the clock of its answer, which is an hour behind', async () => {
  const there = Date.now() - 3_600_000;
  refuseFirst({ date: new Date(there).toUTCString(), 'retry-after': new Date(there + 5_000).toUTCString() });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  const [first, second] = mainCalls();
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(4_000);
});
