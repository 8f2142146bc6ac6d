import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { until } from '../../chaos/scenario.ts';
import { type ChangingNotebook, openChangingNotebook } from '../../fixture/changing-notebook.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { GROUP, PATIENCE_MS, press, question, untilParked } from '../../fixture/parked.ts';

const OTHER = 1002;
let notebook: ChangingNotebook;

beforeEach(async () => {
  notebook = await openChangingNotebook();
});
eachInWorld(() => ({ env: { ...notebook.env, TELEGRAM_ALLOWED_IDS: `${CHAT},${OTHER},${GROUP}` } }));
afterEach(() => notebook.remove());

/** The model calls these tools, and answers `Hello` in a word. */
function wants(...uses: ReturnType<typeof use>[]): void {
  world.claude.react(callsTools(uses));
  world.claude.react(({ pendingText }) => (/Hello$/.test(pendingText) ? { do: 'answer', text: 'Hi' } : undefined));
}

/** The tool that waits for an approval turns into one that needs none, and the gateway knows. */
const TURNS: Record<string, () => Promise<void>> = {
  'its server says that the tool only reads': async () => {
    await notebook.change({ description: 'Only reads.', annotations: { readOnlyHint: true } });
    await untilModelSees('Only reads.');
  },
  'the operator lets the tool do everything': async () => {
    await stopGateways();
    await notebook.allow({ approve: 'never' });
    await start();
  },
};

/** The model is asked in other chats until it is shown this description: then the gateway knows it. */
async function untilModelSees(description: string): Promise<void> {
  let before = mainCalls().length;
  const isSeen = () => mainCalls().some(({ body }) => JSON.stringify(body.tools).includes(`"${description}"`));
  world.telegram.say(OTHER, 'Hello');
  await until('the description', () => {
    if (!isSeen() && mainCalls().length > before) {
      before = mainCalls().length;
      world.telegram.say(OTHER, 'Hello');
    }
    return isSeen();
  });
}

/** The results of the calls as the model was last shown them. */
function lastResults(): string[] {
  const last = mainCalls().findLast((each) => resultsIn(each).length > 0);
  return last === undefined ? [] : resultsIn(last).map(({ content }) => JSON.stringify(content));
}

const DECISIONS: Record<string, [act: () => unknown, result: RegExp]> = {
  'by a press': [() => press('no'), /The person declined/],
  'in words': [() => world.telegram.say(CHAT, 'Better not'), /did not allow it, and wrote instead: Better not/],
};

test.each([
  ['by a press', 'its server says that the tool only reads'],
  ['in words', 'the operator lets the tool do everything'],
])('a call that is declined %s never runs, also where %s while the question is open', async (how, turn) => {
  await start();
  wants(use('t1', 'write'), use('t2', 'look'));
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  await TURNS[turn]?.();
  const [act, words] = DECISIONS[how] ?? [];
  await act?.();
  await until('the answer', () => shown().includes('Done after 1 rounds.'), PATIENCE_MS);
  expect(notebook.calls).toEqual(['look t2']);
  expect(lastResults()).toEqual([expect.stringMatching(words ?? /^$/), expect.stringContaining('noted')]);
});

test('a press allows what its question showed, and not what has to be asked for since', async () => {
  await start();
  wants(use('t1', 'write'), use('t2', 'look'));
  const say = (text: string, fromId: number) =>
    world.telegram.say(GROUP, `/x@${world.telegram.username} ${text}`, { fromId, chatType: 'supergroup' });
  say('Write it down', CHAT);
  await question(GROUP);
  await stopGateways();
  await notebook.allow({ approve: 'always' });
  await start();
  // Somebody else's message wakes the turn that waits.
  say('Hello', OTHER);
  await until('it was seen and left', async () => (await behind()) === '1');
  await press('once', { chat: GROUP });
  await untilSettled(world, 2, PATIENCE_MS);
  expect(notebook.calls).toEqual(['write t1']);
  await nextOutcome(world, GROUP);
  expect(lastResults()).toEqual([expect.stringContaining('noted'), expect.stringContaining('could not be asked')]);
});

/** How many messages the waiting turn has seen behind it. */
async function behind(): Promise<string | undefined> {
  const turns = await world.peek.keys(`${world.keys.turnPrefix}*`);
  const seen = await Promise.all(turns.map((turn) => world.peek.hget(turn, 'parkedBehind')));
  return seen.find((each) => each !== null) ?? undefined;
}
