import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../shared/redis/keys.ts';
import { CHAT, eachWithGateway, mainCalls, shown, world } from '../fixture/each-test.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, use } from '../fixture/notebook.ts';

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

eachWithGateway(() => ({ claude: { refusesText: /EVIL/ }, env: notebook.env }));

afterEach(() => notebook.remove());

const sessionNow = () => world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session');

/** Says something and waits for its outcome, the nth of the chat. */
async function outcomeOf(text: string, nth: number) {
  world.telegram.say(CHAT, text);
  return nextOutcome(world, CHAT, nth);
}

test('a message that the model refuses fails with a notice and an alert, and no later request contains it', async () => {
  await outcomeOf('Hello', 1);
  expect(await outcomeOf('Something EVIL', 2)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(shown().at(-1)).toMatch(/declined to answer/);
  await world.telegram.waitForText(ALERT_CHAT, /declined/);
  expect(await outcomeOf('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
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
  expect(await outcomeOf('Read it', 1)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(await notebook.notes()).toEqual(['look EVIL page']);
  expect(await outcomeOf('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  const last = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(last).not.toMatch(/EVIL|tool_use|tool_result/);
  expect(world.claude.violations()).toEqual([]);
});

test('a second refusal in a row is blamed on the history: a fresh session answers it', async () => {
  await outcomeOf('Hello', 1);
  const old = await sessionNow();
  await world.peek.hset(world.keys.session(old as never), 'refusalsInRow', 1);
  world.claude.guard.refusesText = /You said: Hello/;
  expect(await outcomeOf('What about it?', 2)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map(({ reaction }) => reaction)).toHaveLength(5);
  expect(await sessionNow()).not.toBe(old);
  expect(shown().at(-2)).toMatch(/did not accept our conversation/);
  expect(await outcomeOf('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
});

test('two refused messages in a row do not cost the chat its session', async () => {
  await outcomeOf('Hello', 1);
  const old = await sessionNow();
  expect(await outcomeOf('EVIL one', 2)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(await outcomeOf('EVIL two', 3)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(shown().slice(-2)).toEqual([expect.stringMatching(/declined/), expect.stringMatching(/declined/)]);
  expect(await outcomeOf('And now?', 4)).toMatchObject({ outcome: 'answered', session: old, recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).not.toContain('EVIL');
  expect(world.claude.violations()).toEqual([]);
});

test('a refusal with text is not an answer', async () => {
  world.claude.guard.refusesText = { pattern: /EVIL/, said: 'I will not' };
  expect(await outcomeOf('Something EVIL', 1)).toMatchObject({ outcome: 'failed', reason: 'refused' });
  expect(shown()).toEqual([expect.stringMatching(/declined to answer/)]);
});
