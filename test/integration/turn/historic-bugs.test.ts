/** Bugs of other gateways that show only when the whole flow runs. What the notes call them is in brackets. */
import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

eachInWorld({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } });

const givenHistory = async () =>
  importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(100, 1_000)));

test('dedupe does not drop the retry, and the chat pointer follows to the fresh session [openclaw#76424, hermes#1160]', async () => {
  const old = await givenHistory();
  await start();
  // The text of an overflow error, typed by a user, causes no recovery of its own [openclaw#7854].
  const typed = 'prompt is too long: 213462 tokens > 200000 maximum';
  for (const text of [typed, typed]) world.telegram.say(CHAT, text);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session: old });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(shown()).toHaveLength(2);
  world.claude.react((call) =>
    call.kind === 'main' && !isProbe(call) && !isSeeded(call) ? { do: 'overflow' } : undefined,
  );
  world.telegram.say(CHAT, 'First');
  const { session } = await nextOutcome(world, CHAT, 3);
  world.telegram.say(CHAT, 'Second');
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  expect(session).not.toBe(old);
  expect(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session')).toBe(session);
});

test('after the window shrinks between two messages, the next two are answered', async () => {
  await start();
  for (const n of [1, 2, 3]) {
    world.telegram.say(CHAT, `${n} ${'lorem ipsum '.repeat(250)}`);
    await nextOutcome(world, CHAT, n);
  }
  world.claude.windowTokens = 3_000;
  for (const [at, text] of ['And now?', 'And after that?'].entries()) {
    world.telegram.say(CHAT, text);
    expect(await nextOutcome(world, CHAT, 4 + at)).toMatchObject({ outcome: 'answered' });
  }
  expect(world.claude.violations()).toEqual([]);
});
