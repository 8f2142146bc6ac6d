import { beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { text, thinking } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';
import type { Reaction, ReactionRule } from '../../stand-in/claude/reaction.ts';

const OVERLOADED: Reaction = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' };

eachWithNotebook({ claude: { refusesText: /EVIL/ } });

beforeEach(() => start());

test('messages that the model refuses, also with a text, fail with a notice and an alert, and cost the chat nothing', async () => {
  await ask('Hello', 1);
  const old = await sessionOf();
  expect(await ask('EVIL one', 2)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  await world.telegram.waitForText(ALERT_CHAT, /rejects it/);
  world.claude.guard.refusesText = { pattern: /EVIL/, said: 'I will not' };
  expect(await ask('EVIL two', 3)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(shown().slice(1)).toEqual(Array(2).fill(expect.stringMatching(/can't help with this message/)));
  expect(await ask('And now?', 4)).toMatchObject({ outcome: 'answered', session: old, recoveries: 0 });
  const last = JSON.stringify(mainCalls().at(-1)?.body);
  expect(last).toContain('Hello');
  expect(last).not.toContain('EVIL');
  expect(world.claude.violations()).toEqual([]);
});

test('a refusal after a tool returned removes the whole turn from later requests, with calls and results', async () => {
  world.claude.react(({ kind, pendingText, body }) =>
    pendingText === 'Read it'
      ? callsTools([use('t1', 'look', { text: 'EVIL page' })])({ kind, pendingText, body } as never)
      : undefined,
  );
  expect(await ask('Read it', 1)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(await notebook.notes()).toEqual(['look EVIL page']);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  const last = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(last).not.toMatch(/EVIL|tool_use|tool_result/);
  expect(world.claude.violations()).toEqual([]);
});

test('a second refusal in a row is blamed on the history: a fresh session answers it', async () => {
  await ask('Hello', 1);
  const old = await sessionOf();
  await world.peek.hset(world.keys.session(old as never), 'refusalsInRow', 1);
  world.claude.guard.refusesText = /You said: Hello/;
  expect(await ask('What about it?', 2)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map(({ reaction }) => reaction)).toHaveLength(5);
  expect(await sessionOf()).not.toBe(old);
  expect(shown().at(-2)).toMatch(/got stuck on something in our conversation/);
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

const USUAL = 'claude-opus-5-5';
const FALLBACK = 'claude-haiku-4-5-20251001';
const models = () => mainCalls().map(({ body }) => body.model);
const isBilled = (model: string) =>
  world.claude.calls.some(({ body, usage }) => body.model === model && usage !== undefined);

/** A gateway with a fallback, whose usual model refuses what is EVIL; with thinking that is bound to its model. */
async function startWithFallback(models = /opus/, fallback = FALLBACK): Promise<void> {
  await stopGateways();
  world.claude.guard.refusesText = { pattern: /EVIL/, models, said: 'I wi' };
  await start({ FALLBACK_MODEL: fallback });
}

test('what the model refuses is asked of the fallback once, whose answer is the answer', async () => {
  await startWithFallback();
  world.claude.react(({ index }) => ({ do: 'answer', content: [thinking(`t${index}`), text('Here it is.')] }));
  await ask('Hello', 1);
  expect(await ask('Something EVIL', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(models()).toEqual([USUAL, USUAL, FALLBACK]);
  expect(shown().slice(1)).toEqual(['Here it is.']);
  // Both calls are on the bill.
  expect(isBilled(USUAL) && isBilled(FALLBACK)).toBe(true);
  const day = new Date().toISOString().slice(0, 10);
  expect(await world.peek.hget(world.keys.usage(day, chatKey(CHAT)), 'calls')).toBe('3');
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).not.toContain('signature');
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('EVIL');
  expect(shown(ALERT_CHAT)).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

variants<[string, () => Promise<void>, string[]]>([
  ['refuses as well', () => startWithFallback(/claude/), [USUAL, FALLBACK, USUAL]],
  ['is the model itself', () => startWithFallback(/claude/, USUAL), [USUAL, USUAL, USUAL]],
  [
    'is retired',
    async () => {
      world.claude.lives.set(FALLBACK, { lifecycle: 'retired' });
      await startWithFallback();
    },
    [USUAL, FALLBACK, USUAL, FALLBACK, USUAL],
  ],
  [
    'is overloaded',
    async () => {
      await startWithFallback();
      world.claude.react(({ body }) => (body.model === FALLBACK ? OVERLOADED : undefined));
    },
    [USUAL, FALLBACK, USUAL, FALLBACK, USUAL],
  ],
])('a refused message whose fallback %s is removed, and the chat goes on', async (_, begin, asked) => {
  await begin();
  expect(await ask('Something EVIL', 1)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(models()).toEqual(asked);
  expect(shown()).toEqual([expect.stringMatching(/can't help with this message/)]);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toContain('EVIL');
});

const noted = () => mainCalls().filter(({ body }) => JSON.stringify(body.messages).includes('Recovery note'));

/** The model writes twice and then answers; where it reads that both are done, it does nothing more. */
const writesTwice: ReactionRule = (call) => {
  const sent = JSON.stringify(call.body.messages);
  if (/Do not make any of them again/.test(sent)) return { do: 'answer', text: 'Both are written.' };
  return callsTools([use('t1', 'write', { text: 'first line' })], [use('t2', 'write', { text: 'second line' })])(call);
};

test('a fresh session in the middle of a turn shows each finished tool call and repeats no call', async () => {
  // After both calls the provider takes the conversation no more, however it is shortened.
  world.claude.react((call) => {
    const sent = JSON.stringify(call.body.messages);
    const isDone = /write: second line/.test(sent) && !/Recovery note/.test(sent);
    return call.kind === 'main' && isDone ? { do: 'overflow' } : writesTwice(call);
  });
  expect(await ask('Write two lines')).toMatchObject({ outcome: 'answered' });
  expect(await notebook.notes()).toEqual(['write first line', 'write second line']);
  const seed = JSON.stringify(noted().at(-1)?.body.messages[0]);
  expect(seed).toMatch(/notebook__write \{\\+"text\\+":\\+"first line\\+"\} returned: write: first line/);
  expect(seed).toMatch(/second line/);
  expect(noted().at(-1)?.pendingText).toBe('Write two lines');
  expect(shown().at(-1)).toBe('Both are written.');
  expect(world.claude.violations()).toEqual([]);
});

test('a tool whose definition the API refuses is removed with one alert, and both chats are answered', async () => {
  world.claude.guard.rejectsTool = /notebook__write/;
  for (const chat of [CHAT, CHAT + 1]) world.telegram.say(chat, 'Hello');
  for (const chat of [CHAT, CHAT + 1]) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  const alert = await world.telegram.waitForText(ALERT_CHAT, /rejects the tool notebook: write/);
  expect(world.telegram.shown(ALERT_CHAT).map(({ text }) => text)).toEqual([alert.text]);
  const names = mainCalls()
    .at(-1)
    ?.body.tools?.map(({ name }) => name);
  expect(names).toContain('notebook__look');
  expect(names).not.toContain('notebook__write');
});
