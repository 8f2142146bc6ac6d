import { expect, test } from '@jest/globals';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { isProbe } from '../../fixture/history.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, EXCHANGES, givenExchanges, invalid, sessionOf } from '../../fixture/whole-chat.ts';
import { LIES, type Lie } from '../../stand-in/claude/lies.ts';

const GUILTY = /GUILTY/;
/** The design's bound for one message, transient retries and the question about the fixed parts not counted. */
const CALLS_MAX = 6;

eachWithNotebook();

const asked = () => mainCalls().filter((made) => !isProbe(made));

test('a fresh session in which a tool was called and then nothing was answered is taken back: the chat has its own again', async () => {
  await start();
  const old = await givenExchanges({ guilty: 3 });
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: 'invalidData' };
  world.claude.react(callsTools([use('t1', 'look')]));
  // Without the history a tool is called, and what it returned is refused as well, however little of it is shown.
  world.claude.react((made) => (resultsIn(made).length > 0 ? invalid('Invalid request data') : undefined));
  expect(await ask('Look it up')).toMatchObject({ outcome: 'failed' });
  expect(await sessionOf()).toBe(old);
  expect(await notebook.notes()).toEqual(['look t1']);
  expect(shown()).toEqual([expect.stringMatching(/couldn't answer this message/)]);
  // What is refused is the history, and this message is answered without it.
  world.claude.react(({ pendingText }) => (pendingText === 'And now?' ? { do: 'answer', text: 'Here.' } : undefined));
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
  expect(shown().at(-1)).toBe('Here.');
});

/** Refusals that name a cause of their own. */
const REFUSALS =
  'permission credit key paymentRequired moderation gone tooLarge teapot orphan signature picture tooLongWithoutNumbers refusal'.split(
    ' ',
  ) as Lie[];
/** In the oldest exchanges, and in the newest, which a recovery note would quote. */
const PLACES = [3, EXCHANGES - 1];

variants(REFUSALS.flatMap((lie) => PLACES.map((place): [Lie, number] => [lie, place])))(
  '"%s" to every request with exchange %d: by the second message at the latest the chat is answered, without its help',
  async (lie, guilty) => {
    await start();
    const old = await givenExchanges({ guilty });
    world.claude.react(({ kind, body }) =>
      kind === 'main' && GUILTY.test(JSON.stringify(body)) ? LIES[lie] : undefined,
    );
    const first = await ask('Hello?');
    expect(first.outcome).toMatch(/^(?:answered|failed)$/);
    if (first.outcome === 'failed') expect(await sessionOf()).toBe(old);
    expect(asked().length).toBeLessThanOrEqual(CALLS_MAX);
    const before = asked().length;
    expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
    expect(asked().length - before).toBeLessThanOrEqual(CALLS_MAX);
    expect(shown().at(-1)).toContain('And now?');
    expect(await ask('And then?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0 });
    expect(await world.peek.llen(world.keys.log(old))).toBeGreaterThanOrEqual(2 * EXCHANGES);
  },
);
