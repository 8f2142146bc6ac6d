import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, killAt, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, use } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';
import { alerts, ask } from '../../fixture/whole-chat.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';

const USUAL = 'claude-opus-5-5';
const CHOSEN = 'claude-haiku-4-5-20251001';
const OTHER = 'claude-sonnet-4-6';
const DAY_MS = 24 * 3600_000;

const NOT_FOUND: Reaction = { do: 'error', status: 404, type: 'not_found_error', message: `model: ${CHOSEN}` };

eachWithNotebook({ env: { MODEL: USUAL, MODELS: `${CHOSEN},${OTHER}` } });

const models = () => mainCalls().map(({ body }) => body.model);
const choice = () => world.peek.hget(world.keys.chat(chatKey(CHAT)), 'model');

/** A gateway, and a chat that has chosen another model than the usual one. */
async function startChosen(): Promise<void> {
  await start();
  await ask(`/model ${CHOSEN}`);
}

test('one stray 404 for a chosen model costs no message, no choice and no conversation', async () => {
  await startChosen();
  const { session } = await ask('Hello', 2);
  world.claude.react(({ index }) => (index === 1 ? NOT_FOUND : undefined));
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0, session });
  expect(models()).toEqual([CHOSEN, CHOSEN, CHOSEN]);
  expect(shown()).toHaveLength(3);
});

test('a chosen model that is gone leaves the chat to the usual one, told once', async () => {
  await startChosen();
  world.claude.react(({ body }) => (body.model === CHOSEN ? NOT_FOUND : undefined));
  expect(await ask('Hello', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(await choice()).toBeNull();
  expect(shown().slice(1)).toEqual([
    `The model ${CHOSEN} is no longer available, so this chat now uses ${USUAL}. Use /model to choose another one.`,
    expect.stringMatching(/Hello/),
  ]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /no longer offers the model/);
  expect(alert.text).toMatch(new RegExp(`${CHOSEN}\\.(?:.|\\n)*Chats: ${CHAT}\\n`));
  await ask('And now?', 3);
  expect(models()).toEqual([CHOSEN, CHOSEN, USUAL, USUAL]);
  expect(shown()).toHaveLength(4);
});

test('an endpoint that knows no model at all is at fault itself: the chat keeps its choice', async () => {
  await startChosen();
  let isAway = true;
  world.claude.react(({ body }) =>
    isAway ? { do: 'error', status: 404, type: 'not_found_error', message: `model: ${body.model}` } : undefined,
  );
  expect(await ask('Hello', 2)).toMatchObject({ outcome: 'failed', reason: 'not_found' });
  expect(models()).toEqual([CHOSEN, CHOSEN, USUAL, USUAL]);
  expect(shown().slice(1)).toEqual([expect.stringMatching(/can't answer at the moment/)]);
  await world.telegram.waitForText(ALERT_CHAT, /does not know the model/);
  expect(await choice()).toBe(CHOSEN);
  isAway = false;
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered' });
  expect(models().at(-1)).toBe(CHOSEN);
});

test('what the user chooses while the usual model answers stands', async () => {
  await startChosen();
  world.claude.lives.set(CHOSEN, { lifecycle: 'retired' });
  const { promise: after, resolve: release } = Promise.withResolvers<void>();
  world.claude.react(({ body }) => (body.model === USUAL ? { do: 'answer', text: 'Here.', after } : undefined));
  world.telegram.say(CHAT, 'Hello');
  await world.claude.waitForCall(({ body }) => body.model === USUAL);
  world.telegram.say(CHAT, `/model ${OTHER}`);
  await until('the choice', async () => ((await choice()) === OTHER ? true : undefined));
  release();
  await world.telegram.waitForText(CHAT, /Here\./);
  expect(await choice()).toBe(OTHER);
  expect(shown().join('\n')).not.toContain('no longer available');
});

test('a model that is retired between two rounds of tools is left in the middle of the message', async () => {
  await startChosen();
  world.claude.react((call: ClaudeCall) => callsTools([use('t1', 'look')])(call));
  world.claude.react(({ index }) => {
    if (index === 1) world.claude.lives.set(CHOSEN, { lifecycle: 'retired' });
    return undefined;
  });
  expect(await ask('Look it up', 2)).toMatchObject({ outcome: 'answered' });
  expect(models()).toEqual([CHOSEN, CHOSEN, CHOSEN, USUAL]);
  expect(await notebook.notes()).toEqual(['look t1']);
  expect(shown().at(-2)).toContain('no longer available');
  expect(world.claude.violations()).toEqual([]);
});

test('killed while the chosen model is left: one answer, one notice, and the choice has ended', async () => {
  world.claude.lives.set(CHOSEN, { lifecycle: 'retired' });
  await world.peek.hset(world.keys.chat(chatKey(CHAT)), 'model', CHOSEN);
  await killAt('model called:2', () => world.telegram.say(CHAT, 'Hello'));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(await choice()).toBeNull();
  expect(shown().filter((text) => text.includes('You said'))).toHaveLength(1);
  expect(shown().filter((text) => text.includes('is no longer available'))).toHaveLength(1);
  expect(models().length).toBeLessThanOrEqual(4);
});

test('two 404s with an answer between them say nothing about the model', async () => {
  await startChosen();
  world.claude.react((call: ClaudeCall) => callsTools([use('t1', 'look')])(call));
  world.claude.react(({ index }) => (index === 0 || index === 2 ? NOT_FOUND : undefined));
  expect(await ask('Look it up', 2)).toMatchObject({ outcome: 'answered' });
  expect(models()).toEqual([CHOSEN, CHOSEN, CHOSEN, CHOSEN]);
  expect(await choice()).toBe(CHOSEN);
});

test('a chosen model that MODELS does not name any more is left at once, and comes back with its name', async () => {
  await startChosen();
  await stopGateways();
  await start({ MODELS: OTHER });
  expect(await ask('Hello', 2)).toMatchObject({ outcome: 'answered' });
  expect(models()).toEqual([USUAL]);
  await stopGateways();
  await start({ MODELS: CHOSEN });
  await ask('And now?', 3);
  expect(models()).toEqual([USUAL, CHOSEN]);
});

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
const retiring = (days: number) => ({ lifecycle: 'deprecated', deprecated_at: inDays(-30), retires_at: inDays(days) });
const FAST = { watchEveryMs: 50, modelLivesEveryMs: 100 };

test('a model that retires within 30 days is one alert for all workers, which ends when its date moves, or no setting names it any more', async () => {
  world.claude.lives.set(CHOSEN, retiring(29)).set(OTHER, retiring(31));
  await start({}, FAST);
  await start({}, FAST);
  const first = await world.telegram.waitForText(ALERT_CHAT, /will be retired/);
  expect(first.text).toContain(`The model ${CHOSEN} (MODELS) will be retired`);
  expect(first.text).toContain(inDays(29).slice(0, 10));
  world.claude.lives.set(CHOSEN, retiring(10));
  await world.telegram.waitForText(ALERT_CHAT, new RegExp(inDays(10).slice(0, 10)));
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved: the settings no longer name the model/);
  // It is only for information: its end stands in its own message, and nobody is rung.
  expect(alerts()).toHaveLength(2);
  world.claude.lives.set(CHOSEN, { ...retiring(10), lifecycle: 'retired' });
  await world.telegram.waitForText(ALERT_CHAT, /is retired\. Calls to it fail/);
  expect(alerts().join('\n')).not.toContain(OTHER);
  const ends = () => alerts().filter((text) => text.startsWith('Resolved'));
  const before = ends().length;
  await stopGateways();
  await start({ MODELS: OTHER }, FAST);
  await until('the end', async () => ends().length > before || undefined);
});

test('nonsense about a life alerts nobody, and what was known outlives an endpoint that is away', async () => {
  world.claude.lives
    .set(USUAL, { lifecycle: 'eternal', retires_at: 'soon' })
    .set(OTHER, { lifecycle: null, retires_at: '0001-01-01T00:00:00Z' });
  await start({}, FAST);
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  expect(alerts()).toEqual([]);
  world.claude.lives.set(CHOSEN, retiring(3));
  await world.telegram.waitForText(ALERT_CHAT, /will be retired/);
  for (const status of [500, 404] as const) {
    world.claude.modelsStatus = status;
    const asked = world.claude.otherRequests.length;
    await until('three more questions', async () => world.claude.otherRequests.length > asked + 2 || undefined);
  }
  expect(alerts()).toHaveLength(1);
});
