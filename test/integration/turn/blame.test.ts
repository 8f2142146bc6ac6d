import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { call } from '../../fixture/content-blocks.ts';
import { CHAT, eachWithGateway, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation, guiltyConversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, resultsIn } from '../../fixture/notebook.ts';
import { temporaryFile } from '../../fixture/temporary-file.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, givenLines, sessionOf } from '../../fixture/whole-chat.ts';
import { GUARDRAILS, type Guardrail } from '../../stand-in/claude/guardrails.ts';

const GUILTY = /GUILTY/;
const EVERY_GUARDRAIL = Object.keys(GUARDRAILS) as Guardrail[];
/** The call, the same once more, a probe of the fixed parts, and the same two in a fresh session. */
const CALLS_MAX = 5;

eachWithGateway();

const asked = () => mainCalls().filter((call) => !isProbe(call));
const isGuiltySeen = () => GUILTY.test(JSON.stringify(mainCalls().at(-1)?.body));

variants(EVERY_GUARDRAIL)(
  'refused by %s for its history: the chat goes on without it, with a notice and an alert',
  async (respond) => {
    const old = await givenLines(guiltyConversation(20));
    world.claude.guard.rejectsText = { pattern: GUILTY, respond };
    expect(await ask('Hello?')).toMatchObject({ outcome: 'answered' });
    expect(mainCalls().length).toBeLessThanOrEqual(CALLS_MAX);
    expect(shown()).toEqual([
      expect.stringMatching(/got stuck on something in our conversation/),
      expect.stringContaining('Hello?'),
    ]);
    const alert = await world.telegram.waitForText(ALERT_CHAT, /rejects a conversation/);
    expect(alert.text).toContain(old);
    expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
    expect(await world.peek.llen(world.keys.log(old))).toBeGreaterThan(60);
    expect(world.claude.violations()).toEqual([]);
  },
);

variants(EVERY_GUARDRAIL)('refused by %s for a message: it fails, and the chat keeps its session', async (respond) => {
  const old = await givenLines(guiltyConversation(20));
  world.claude.guard.rejectsText = { pattern: /EVIL/, respond };
  expect(await ask('Something EVIL')).toMatchObject({ outcome: 'failed' });
  expect(mainCalls().length).toBeLessThanOrEqual(CALLS_MAX);
  expect(shown()).toEqual([EN.notTaken]);
  await world.telegram.waitForText(ALERT_CHAT, /rejects it, even in a fresh session/);
  expect(await sessionOf(CHAT)).toBe(old);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0, session: old });
  expect(isGuiltySeen()).toBe(true);
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toContain('EVIL');
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('who blocks the bot while a fresh session is on trial gets the conversation back', async () => {
  const old = await givenLines(guiltyConversation(20));
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: 'bodyless' };
  world.claude.react(({ pendingText, body }) =>
    pendingText.endsWith('Hello?') && !GUILTY.test(JSON.stringify(body)) ? { do: 'hang' } : undefined,
  );
  world.telegram.say(CHAT, 'Hello?');
  await until(
    'it is asked in a fresh session',
    () => asked().length > 0 && !GUILTY.test(JSON.stringify(asked().at(-1)?.body)),
  );
  world.telegram.setMembership(CHAT, 'kicked');
  await until('it is noted', async () => (await world.peek.zscore(world.keys.gone, String(CHAT))) !== null);
  await stopGateways();
  await start();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'undeliverable' });
  expect(await sessionOf(CHAT)).toBe(old);
});

test('/stop during the trial of a fresh session leaves the chat in its session', async () => {
  const old = await givenLines(guiltyConversation(20));
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: 'page400' };
  world.claude.react(({ kind, pendingText }) =>
    kind === 'main' && pendingText === 'Hello?' ? { do: 'hang' } : undefined,
  );
  world.claude.react(({ body, pendingText }) =>
    pendingText === 'Hello?' && GUILTY.test(JSON.stringify(body))
      ? { do: 'error', status: 400, type: 'x', message: 'No.' }
      : undefined,
  );
  world.telegram.say(CHAT, 'Hello?');
  await world.claude.waitForCall(({ reaction }) => reaction === 'hang');
  expect(await ask('/stop')).toMatchObject({ outcome: 'cancelled' });
  expect(await sessionOf(CHAT)).toBe(old);
});

test('an endpoint that refuses every request changes none of 5 sessions and causes one alert', async () => {
  const chats = Array.from({ length: 5 }, (_, at) => CHAT + at);
  const sessions = await Promise.all(chats.map((chat) => givenLines(guiltyConversation(20), chat)));
  world.claude.guard.rejectsText = { pattern: /./, respond: 'page403' };
  for (const chat of chats) world.telegram.say(chat, 'Hello?');
  for (const [at, chat] of chats.entries()) {
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'failed' });
    expect(shown(chat)).toEqual([expect.stringMatching(/can't answer at the moment/)]);
    expect(await sessionOf(chat)).toBe(sessions[at]);
  }
  expect(asked()).toHaveLength(2 * chats.length);
  expect(mainCalls().filter(isProbe)).toHaveLength(1);
  await world.telegram.waitForText(ALERT_CHAT, /rejects every request/);
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
  delete world.claude.guard.rejectsText;
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

test('when only one conversation gets a 500, its second message is answered without the history, after a round of tools', async () => {
  const callsTool = callsTools([call('t1', { name: 'recall', input: { query: 'boats' } })]);
  let isOverloaded = true;
  world.claude.react((asked) => {
    if (isProbe(asked) || resultsIn(asked).length === 0 || !isOverloaded) return callsTool(asked);
    isOverloaded = false;
    return { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };
  });
  await stopGateways();
  await start({ OUTAGE_PATIENCE_MS: '300' });
  const old = await givenLines(guiltyConversation(20));
  const error = { do: 'error', status: 500, type: 'api_error', message: 'Internal server error' } as const;
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: error };
  expect(await ask('Hello?')).toMatchObject({ outcome: 'failed', session: old });
  expect(await ask('Still there?', 2)).toMatchObject({ outcome: 'answered' });
  expect(shown()[1]).toMatch(/got stuck on something in our conversation/);
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

test('a system prompt larger than the window changes no session and causes one alert', async () => {
  await stopGateways();
  const prompt = await temporaryFile('You are a helpful assistant. '.repeat(900));
  world.claude.windowTokens = 4_000;
  await start({ CONTEXT_WINDOW_TOKENS: '4000', SYSTEM_PROMPT_FILE: prompt });
  const chats = [CHAT, CHAT + 1];
  const sessions = await Promise.all(chats.map((chat) => givenLines(guiltyConversation(20), chat)));
  for (const chat of chats) world.telegram.say(chat, 'Hello?');
  for (const [at, chat] of chats.entries()) {
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'failed', reason: 'counted_too_long' });
    expect(await sessionOf(chat)).toBe(sessions[at]);
  }
  await world.telegram.waitForText(ALERT_CHAT, /system prompt/);
  expect(world.telegram.shown(ALERT_CHAT)).toHaveLength(1);
});

const CHATS = Array.from({ length: 6 }, (_, at) => CHAT + at);

test('every chat that is moved to a fresh session is named with its entries, also while the incident is open', async () => {
  const turnsOf = (chat: number) => 20 + chat - CHAT;
  for (const chat of CHATS) await givenLines(conversation(turnsOf(chat), 300), chat);
  world.claude.react((call) => {
    if (call.kind === 'compaction') return { do: 'answer', text: ' ' };
    return isSeeded(call) || isProbe(call) ? undefined : { do: 'overflow' };
  });
  for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
  for (const chat of CHATS) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  for (const chat of CHATS) {
    const named = new RegExp(`[Cc]hat ${chat}\\b[^\\n]*\\b${2 * turnsOf(chat)} entries`);
    await world.telegram.waitForText(ALERT_CHAT, named, 15_000);
  }
  expect(world.telegram.shown(ALERT_CHAT).length).toBeLessThanOrEqual(2);
});
