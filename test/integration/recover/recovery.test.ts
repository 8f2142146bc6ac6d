import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachWithGateway, mainCalls, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';

eachWithGateway({ claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } }, { summaryTimeMs: 2_000 });

async function givenHistory(turns: number, chars: number) {
  return importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(turns, chars)));
}

function compactionCalls() {
  return world.claude.calls.filter((call) => call.kind === 'compaction');
}

test('stage 1: an overflow is compacted by the model and the message is answered in the same session', async () => {
  const session = await givenHistory(100, 1_000);
  world.telegram.say(CHAT, 'What did we decide?');
  const outcome = await nextOutcome(world, CHAT);
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map((call) => call.status)).toEqual([400, 200]);
  expect(compactionCalls().length).toBeGreaterThan(0);
  expect(mainCalls()[1]?.pendingText).toBe('What did we decide?');
  expect(world.telegram.shown(CHAT).map(({ text }) => text)).toEqual([expect.stringContaining('What did we decide?')]);
  expect(world.claude.violations()).toEqual([]);
});

test('stage 2: a second overflow starts a fresh session from a seed, replays the message, notifies user and operator', async () => {
  const old = await givenHistory(100, 1_000);
  world.claude.react((call) => (call.kind === 'main' && mainCalls().length <= 3 ? { do: 'overflow' } : undefined));
  world.telegram.say(CHAT, 'Go on, please');
  const outcome = await nextOutcome(world, CHAT);
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(mainCalls().map((call) => call.status)).toEqual([400, 400, 400, 200, 200]);
  const replayed = mainCalls()[4];
  expect(replayed?.pendingText).toBe('Go on, please');
  const seen = JSON.stringify(replayed?.body);
  expect(seen).toContain('Recovery note');
  expect(seen.split('Go on, please')).toHaveLength(2);
  const [notice, answer] = world.telegram.shown(CHAT).map(({ text }) => text);
  expect(notice).toMatch(/started a new one/);
  expect(answer).toContain('Go on, please');
  const alert = await world.telegram.waitForText(ALERT_CHAT, /refused the conversation/);
  expect(alert.text).toContain('200 entries');
  expect(alert.text).toContain(old);
  expect(alert.text).toContain(outcome.traceId);
  expect(await world.peek.llen(world.keys.log(old))).toBeGreaterThan(200);
  expect(world.claude.violations()).toEqual([]);
});

test.each([
  ['fails', { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' }],
  ['overflows itself', { do: 'overflow' }],
  ['is empty', { do: 'answer', text: ' ' }],
  ['is cut', { do: 'answer', text: 'half a summ', stopReason: 'max_tokens' }],
] as const)('a compaction that %s falls through to stage 2', async (_why, reaction) => {
  await givenHistory(100, 1_000);
  world.claude.react((call) => (call.kind === 'compaction' ? reaction : undefined));
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().at(-1)).toMatchObject({ status: 200, pendingText: 'Still there?' });
  expect(compactionCalls().filter(({ status }) => status === 200).length).toBeLessThanOrEqual(2);
  await world.telegram.waitForText(ALERT_CHAT, /Context overflow/);
});

test('an overflow that nothing fixes fails with a notice within 6 calls, and the next message is answered', async () => {
  await givenHistory(100, 1_000);
  world.claude.react(({ pendingText }) => (pendingText === 'Impossible' ? { do: 'overflow' } : undefined));
  world.telegram.say(CHAT, 'Impossible');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'prompt_too_long' });
  expect(mainCalls().filter(({ pendingText }) => pendingText === 'Impossible').length).toBeLessThanOrEqual(6);
  expect(compactionCalls().length).toBeLessThanOrEqual(2);
  expect(world.telegram.shown(CHAT).at(-1)?.text).toMatch(/couldn't answer this message/);
  await world.telegram.waitForText(ALERT_CHAT, /does not fit the model, even in a fresh session/);
  world.telegram.say(CHAT, 'And now?');
  await world.telegram.waitForText(CHAT, /And now\?/);
});

test('an overflow after a success starts again at stage 1', async () => {
  await givenHistory(100, 1_000);
  world.telegram.say(CHAT, 'First');
  await nextOutcome(world, CHAT);
  const second = await givenHistory(100, 1_000);
  world.telegram.say(CHAT, 'Second');
  const outcome = await nextOutcome(world, CHAT, 2);
  expect(outcome).toMatchObject({ outcome: 'answered', recoveries: 1, session: second });
  expect(world.telegram.shown(CHAT).some(({ text }) => /started a new one/.test(text))).toBe(false);
});

test('max_tokens that does not fit beside the input is lowered, and the session stays unchanged', async () => {
  const session = await givenHistory(3, 200);
  let fits = false;
  world.claude.react((call) => {
    if (fits || call.kind !== 'main') return undefined;
    fits = true;
    const message =
      'input length and `max_tokens` exceed context limit: 17000 + 4096 > 20000, decrease input length or `max_tokens` and try again';
    return { do: 'error', status: 400, type: 'invalid_request_error', message };
  });
  world.telegram.say(CHAT, 'Short please');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map((call) => call.body.max_tokens)).toEqual([8_192, 20_000 - 17_000 - 256]);
  expect(compactionCalls()).toEqual([]);
});

test('a message too large for the window is answered from its beginning and end, and the user is notified', async () => {
  const huge = `${'начало '.repeat(300)}${'x'.repeat(100)} ${'конец '.repeat(300)}`;
  world.claude.windowTokens = 3_200;
  world.telegram.say(CHAT, huge.slice(0, 4_000));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().at(-1)?.pendingText).toMatch(/^начало[\s\S]*characters in all[\s\S]*конец/);
  expect(world.telegram.shown(CHAT).some(({ text }) => /I read \d+% of it: the beginning and the end/.test(text))).toBe(
    true,
  );
  expect(await settledOutcomes(world)).toHaveLength(1);
});
