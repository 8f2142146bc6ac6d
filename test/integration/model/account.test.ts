import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { booked, spend } from '../../fixture/spending.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

const BROKEN: Reaction = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };
/** What a probe of the endpoint says. */
const PROBE = 'Say ok.';

eachInWorld();

test('limit, audit and /usage agree on each call: answered, failed, stopped before its first byte, and a probe', async () => {
  await start({ CHAT_DAILY_USD: '100' }, { watchEveryMs: 50, providerDownMs: 100, probeEveryMs: 100 });
  let isProbed = false;
  world.claude.react(({ pendingText }) => {
    if (pendingText.startsWith('Never')) return { do: 'hang' };
    isProbed ||= pendingText === PROBE;
    return isProbed ? undefined : BROKEN;
  });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  world.telegram.say(CHAT, `Never ${'word '.repeat(3_000)}`);
  await world.claude.waitForCall(({ pendingText }) => pendingText.startsWith('Never'));
  world.telegram.say(CHAT, '/stop');
  await untilSettled(world, 3);
  world.telegram.say(CHAT, '/usage');
  await untilSettled(world, 4);
  const { failedCalls, tokens, cost, topChats } = JSON.parse((await runCli(['audit', '--json'], world.env)).stdout);
  const { calls } = world.claude;
  const ofKind = (status: number) => calls.filter((call) => call.status === status).length;
  expect(failedCalls).toEqual({ byReason: { overloaded: ofKind(529), aborted: 1 }, billed: 1 });
  const probes = calls.filter((call) => call.pendingText === PROBE).length;
  expect(tokens.probe['claude-opus-5-5'].calls).toBe(probes);
  expect(tokens.answer['claude-opus-5-5'].calls + tokens.probe['claude-opus-5-5'].calls).toBe(ofKind(200));
  // 3,000 words of the call that was stopped, at five dollars for a million tokens.
  expect(cost.byPurpose.retry).toBeGreaterThan(0.015);
  expect(await booked('all:usd')).toBeCloseTo(cost.dollars, 8);
  const ofChat = await booked(`chat:${CHAT}:usd`);
  expect(topChats[0].dollars).toBeCloseTo(ofChat, 8);
  expect(cost.dollars - ofChat).toBeCloseTo(cost.byPurpose.probe, 8);
  expect(shown().at(-1)).toContain(`Today: $${ofChat.toPrecision(2)} (${calls.length - probes} calls`);
});

test('a model without a price is no way around a limit in money: the start is refused, unless that is allowed', async () => {
  const own = { MODELS: 'some-model', PRICE_UNKNOWN: '' };
  await expect(start(own)).rejects.toThrow(/^No price is known of some-model/);
  const { code, stderr } = await runCli(['check'], { ...world.env, ...own });
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^No price is known of some-model, so TOTAL_DAILY_USD would/m),
  ]);
  await start({ ...own, TOTAL_DAILY_USD: '0' });
});

test('out of the box a guest of a group may spend two dollars a day, and the others are not bound by that', async () => {
  const [group, guest] = [-100_55, 4_055];
  await start({ PERSON_DAILY_USD: '', TELEGRAM_ALLOWED_IDS: `${CHAT},${group}` });
  for (const person of [CHAT, guest]) await spend(`person:${person}:usd`, 2);
  for (const person of [CHAT, guest]) world.telegram.say(group, 'Hello', { fromId: person });
  const outcomes = [await nextOutcome(world, group), await nextOutcome(world, group, 2)];
  expect(outcomes.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ['answered', undefined],
    ['refused', 'over_person_budget'],
  ]);
});
