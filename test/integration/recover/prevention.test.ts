import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { CHAT, eachWithGateway, mainCalls, shown, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask, givenLines, summaries } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachWithGateway({ claude: { windowTokens: 60_000 }, env: { COMPACT_AT: '0.4' } });

/** Digits cost far more tokens than their bytes suggest, so that even the capped load is too long. */
function denseHistory(): string[] {
  return Array.from({ length: 80 }, (_, n) => [
    JSON.stringify({ role: 'user', content: `${n} `.repeat(700) }),
    JSON.stringify({ role: 'assistant', content: '0123456789'.repeat(100) }),
  ]).flat();
}

test('a request that is counted as too long is compacted before it is sent, and is not refused', async () => {
  const session = await givenLines(denseHistory());
  expect(await ask('What now?')).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map((call) => call.status)).toEqual([200]);
  expect(summaries().length).toBeGreaterThan(0);
  const events = await world.peek.xrange(world.keys.events, '-', '+');
  expect(JSON.stringify(events)).toContain('counted');
  // After three compactions in vain a session that is too long again is left.
  const made = summaries().length;
  const vain = await givenLines(denseHistory());
  await world.peek.hset(world.keys.session(vain), 'vainCompactions', 3);
  expect(await ask('Again?', 2)).toMatchObject({ outcome: 'answered' });
  expect(summaries()).toHaveLength(made);
  expect(shown().at(-2)).toMatch(/started a new one/);
});

test('a session that is nearly full is compacted after the reply, before the next message; one that fails affects neither', async () => {
  await givenLines(conversation(60, 1_000));
  let isFailing = true;
  world.claude.react(({ kind }) => (isFailing && kind === 'compaction' ? LIES.overloaded : undefined));
  expect(await ask('Fill it up')).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  isFailing = false;
  expect(await ask('And more', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(summaries().at(-1)?.at).toBeGreaterThanOrEqual(world.telegram.shown(CHAT)[1]?.at ?? Number.NaN);
  await ask('And after that', 3);
  const [, second, third] = mainCalls();
  expect(third?.inputTokens).toBeLessThan((second?.inputTokens ?? 0) / 2);
  expect(JSON.stringify(third?.body)).toContain('Fill it up');
  expect(third?.pendingText).toBe('And after that');
  expect(shown()).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
});

test('a compaction after a reply yields to a message that fits, and goes on where it was after that reply', async () => {
  world.claude.windowTokens = 120_000;
  await givenLines(conversation(150, 1_000));
  let isHeld = true;
  // The second part of the first summary never comes.
  world.claude.react((call) =>
    call.kind === 'compaction' && isHeld && JSON.stringify(call.body).includes('<previous-summary>')
      ? { do: 'silent', text: 'Still writing', pingEveryMs: 100 }
      : undefined,
  );
  world.telegram.say(CHAT, 'Fill it up');
  const second = await world.claude.waitForCall(({ reaction }) => reaction === 'silent');
  world.telegram.say(CHAT, 'And after that');
  const next = await world.claude.waitForCall(({ pendingText }) => pendingText === 'And after that');
  isHeld = false;
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(next.at - (world.telegram.shown(CHAT)[0]?.at ?? 0)).toBeLessThan(10_000);
  const made = summaries();
  expect(second).toMatchObject({ aborted: true });
  expect(made.map(({ body }) => JSON.stringify(body).includes('<previous-summary>'))).toEqual([false, true, true]);
  expect(world.claude.calls.every(({ at }, n) => at >= (world.claude.calls[n - 1]?.endedAt ?? 0))).toBe(true);
  await ask('And at last', 3);
  const [first, , last] = mainCalls();
  expect(last?.inputTokens).toBeLessThan((first?.inputTokens ?? 0) / 2);
});

test('of a chat that writes all the time, two summaries are left at most before a call needs one', async () => {
  await givenLines(conversation(60, 1_000));
  world.claude.react(({ kind }) =>
    kind === 'compaction' ? { do: 'silent', text: 'Still writing', pingEveryMs: 100 } : undefined,
  );
  for (let n = 1; n <= 4; n++) {
    world.telegram.say(CHAT, `Message ${n}`);
    await world.claude.waitForCall(({ pendingText }) => pendingText === `Message ${n}`);
    if (n < 3) await world.claude.waitForCall((call) => call.kind === 'compaction' && summaries().length === n);
  }
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(summaries().map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('how a chat is counted follows the tokenizer of its endpoint', async () => {
  world.claude.ratio = 1;
  for (const nth of [1, 2, 3]) await ask(conversation(1, 2_500)[0] ?? '', nth);
  const calibration = Number(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'calibration'));
  // Of this model we expect 1.35.
  expect(Math.abs(calibration - 1)).toBeLessThan(0.2);
});
