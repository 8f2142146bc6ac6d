import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { GUARDRAILS, type Guardrail } from '../../stand-in/claude/guardrails.ts';
import type { ReactionRule } from '../../stand-in/claude/reaction.ts';

const BINDING = ['claude-opus-5-5', 'claude-sonnet-4-6'];

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

eachInWorld(() => ({ env: notebook.env }));

afterEach(() => notebook.remove());

const noted = () => mainCalls().filter(({ body }) => JSON.stringify(body.messages).includes('Recovery note'));

/** The model writes twice and then answers; where it reads that both are done, it does nothing more. */
const writesTwice: ReactionRule = (call) => {
  const sent = JSON.stringify(call.body.messages);
  if (/Do not make any of them again/.test(sent)) return { do: 'answer', text: 'Both are written.' };
  return callsTools([use('t1', 'write', { text: 'first line' })], [use('t2', 'write', { text: 'second line' })])(call);
};

test.each(BINDING)(
  'a fresh session in the middle of a turn shows each finished tool call and repeats no call (%s)',
  async (model) => {
    Object.assign(world.env, { MODEL: model });
    await start();
    // After both calls the provider takes the conversation no more, however it is shortened.
    world.claude.react((call) => {
      const sent = JSON.stringify(call.body.messages);
      const isDone = /write: second line/.test(sent) && !/Recovery note/.test(sent);
      return call.kind === 'main' && isDone ? { do: 'overflow' } : writesTwice(call);
    });
    world.telegram.say(CHAT, 'Write two lines');
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
    expect(await notebook.notes()).toEqual(['write first line', 'write second line']);
    const seed = JSON.stringify(noted().at(-1)?.body.messages[0]);
    expect(seed).toMatch(/notebook__write \{\\+"text\\+":\\+"first line\\+"\} returned: write: first line/);
    expect(seed).toMatch(/second line/);
    expect(noted().at(-1)?.pendingText).toBe('Write two lines');
    expect(shown().at(-1)).toBe('Both are written.');
    expect(world.claude.violations()).toEqual([]);
  },
);

variants(Object.keys(GUARDRAILS) as Guardrail[])(
  'refused by %s after a tool returned: no call is repeated, and the next message is answered',
  async (respond) => {
    await start();
    world.claude.guard.rejectsText = { pattern: /write: second line/, respond };
    world.claude.react(writesTwice);
    world.telegram.say(CHAT, 'Write two lines');
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: expect.stringMatching(/answered|failed/) });
    expect(await notebook.notes()).toEqual(['write first line', 'write second line']);
    world.telegram.say(CHAT, 'And now?');
    world.claude.react(({ pendingText }) => (pendingText === 'And now?' ? { do: 'answer', text: 'Here.' } : undefined));
    expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
    expect(world.claude.violations()).toEqual([]);
  },
);

test('a tool whose definition the API refuses is removed with one alert, and both chats are answered', async () => {
  await start();
  world.claude.guard.rejectsTool = /notebook__write/;
  for (const chat of [CHAT, CHAT + 1]) world.telegram.say(chat, 'Hello');
  for (const chat of [CHAT, CHAT + 1]) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  const alert = await world.telegram.waitForText(ALERT_CHAT, /refuses the tool notebook: write/);
  expect(world.telegram.shown(ALERT_CHAT).map(({ text }) => text)).toEqual([alert.text]);
  const names = mainCalls()
    .at(-1)
    ?.body.tools?.map(({ name }) => name);
  expect(names).toContain('notebook__look');
  expect(names).not.toContain('notebook__write');
});

test('a turn that is silent twice fails, and its conversation stays whole', async () => {
  Object.assign(world.env, { TURN_TIMEOUT_MS: '700' });
  await start();
  for (const [at, words] of ['one', 'two', 'three'].entries()) {
    world.telegram.say(CHAT, `${words} ${'lorem ipsum '.repeat(150)}`);
    await nextOutcome(world, CHAT, at + 1);
  }
  world.claude.react(({ pendingText }) =>
    pendingText === 'Still there?' ? { do: 'answer', text: 'Too late.', afterMs: 2_000 } : undefined,
  );
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ outcome: 'failed', reason: 'fell_silent' });
  expect(mainCalls().filter(({ aborted }) => aborted)).toHaveLength(2);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 5)).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('one lorem ipsum');
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
});
