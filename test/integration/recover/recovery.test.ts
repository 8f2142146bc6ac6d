import { expect, test } from '@jest/globals';
import { eachWithGateway, mainCalls, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { ask, givenLines, invalid, summaries } from '../../fixture/whole-chat.ts';

eachWithGateway({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } }, { SUMMARY_TIME_MS: 2_000 });

/** The text of an overflow error, typed by a user, causes no recovery of its own [openclaw#7854]. */
const TYPED = 'prompt is too long: 213462 tokens > 200000 maximum';

test('stage 1: an overflow is compacted by the model, the message is answered in the same session, and so is the next', async () => {
  const session = await givenLines(conversation(100, 1_000));
  expect(await ask(TYPED)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map((call) => call.status)).toEqual([400, 200]);
  expect(summaries().length).toBeGreaterThan(0);
  expect(mainCalls()[1]?.pendingText).toBe(TYPED);
  expect(shown()).toEqual([expect.stringContaining(TYPED)]);
  expect(await ask(TYPED, 2)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  const second = await givenLines(conversation(100, 1_000));
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 1, session: second });
  expect(shown()).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
});

test('stage 2: a second overflow starts a fresh session from a seed, replays the message, notifies user and operator', async () => {
  const old = await givenLines(conversation(100, 1_000));
  world.claude.react((call) => (call.kind === 'main' && mainCalls().length <= 3 ? { do: 'overflow' } : undefined));
  const outcome = await ask('Go on, please');
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(mainCalls().map((call) => call.status)).toEqual([400, 400, 400, 200, 200]);
  const replayed = mainCalls()[4];
  expect(replayed?.pendingText).toBe('Go on, please');
  const seen = JSON.stringify(replayed?.body);
  expect(seen).toContain('Recovery note');
  expect(seen.split('Go on, please')).toHaveLength(2);
  expect(shown()).toEqual([expect.stringMatching(/started a new one/), expect.stringContaining('Go on, please')]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /rejects a conversation/);
  for (const part of ['200 entries', old, outcome.traceId]) expect(alert.text).toContain(part);
  expect(await world.peek.llen(world.keys.log(old))).toBeGreaterThan(200);
  // The chat's pointer follows to the fresh session [openclaw#76424, hermes#1160].
  const { session } = outcome;
  expect(session).not.toBe(old);
  expect(await ask('And then?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  expect(world.claude.violations()).toEqual([]);
});

test('an overflow that nothing fixes fails with a notice within 6 calls, and the next message is answered', async () => {
  await givenLines(conversation(100, 1_000));
  world.claude.react(({ pendingText }) => (pendingText === 'Impossible' ? { do: 'overflow' } : undefined));
  expect(await ask('Impossible')).toMatchObject({ outcome: 'failed', reason: 'prompt_too_long' });
  expect(mainCalls().filter(({ pendingText }) => pendingText === 'Impossible').length).toBeLessThanOrEqual(6);
  expect(summaries().length).toBeLessThanOrEqual(2);
  expect(shown().at(-1)).toMatch(/couldn't answer this message/);
  await world.telegram.waitForText(ALERT_CHAT, /does not fit the model, even in a fresh session/);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

test('max_tokens that does not fit beside the input is lowered, and the session stays unchanged', async () => {
  const session = await givenLines(conversation(3, 200));
  let fits = false;
  world.claude.react((call) => {
    if (fits || call.kind !== 'main') return undefined;
    fits = true;
    return invalid('input length and `max_tokens` exceed context limit: 17000 + 4096 > 20000');
  });
  expect(await ask('Short please')).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map((call) => call.body.max_tokens)).toEqual([8_192, 20_000 - 17_000 - 256]);
  expect(summaries()).toEqual([]);
});

test('a message too large for the window is answered from its beginning and end, and the user is notified', async () => {
  const huge = `${'начало '.repeat(300)}${'x'.repeat(100)} ${'конец '.repeat(300)}`;
  world.claude.windowTokens = 3_200;
  expect(await ask(huge.slice(0, 4_000))).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().at(-1)?.pendingText).toMatch(/^начало[\s\S]*characters in all[\s\S]*конец/);
  expect(shown().join('\n')).toMatch(/I read only \d+% of it: the beginning and the end/);
});
