import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { text } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, spawn, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import type { Block } from '../../stand-in/claude/request.ts';

const PATIENCE_MS = 25_000;

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

eachInWorld(() => ({ env: notebook.env }));

afterEach(() => notebook.remove());

/** Runs a gateway that kills itself at a step of a tool round, then one that does not, until the message has its outcome. */
async function killedAt(step: Failpoint, nth: number, ...rounds: Block[][]) {
  world.claude.react(callsTools(...rounds));
  const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${nth}` });
  world.telegram.say(CHAT, 'Do it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(world.telegram.shown(CHAT).map((message) => message.text)).toEqual([`Done after ${rounds.length} rounds.`]);
  expect(await settledOutcomes(world)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
  const last = world.claude.calls.at(-1);
  return { notes: await notebook.notes(), results: last ? resultsIn(last) : [] };
}

test('killed after a read-only call: the call is repeated', async () => {
  const { notes, results } = await killedAt('tool called', 1, [use('t1', 'look')]);
  expect(notes).toEqual(['look t1', 'look t1']);
  expect(results).toEqual([expect.objectContaining({ content: [text('look: t1')] })]);
});

test('killed after a call that writes: it is not repeated, and its result is an error that it was interrupted', async () => {
  const { notes, results } = await killedAt('tool called', 1, [use('t1', 'write')]);
  expect(notes).toEqual(['write t1']);
  expect(results).toEqual([
    expect.objectContaining({
      is_error: true,
      content: [{ type: 'text', text: expect.stringMatching(/interrupted/) }],
    }),
  ]);
});

test('killed after a result was stored: the call is not repeated, and the model gets its result', async () => {
  const { notes, results } = await killedAt('tool result stored', 1, [use('t1', 'write')]);
  expect(notes).toEqual(['write t1']);
  expect(results).toEqual([expect.objectContaining({ content: [text('write: t1')] })]);
});

variants<[Failpoint, number]>([
  ['round stored', 1],
  ['results stored', 1],
  ['model called', 2],
  ['tool result stored', 3],
])(
  'killed at "%s" for the %ith time: the turn goes on where it was, and no finished call is repeated',
  async (step, nth) => {
    const { notes } = await killedAt(step, nth, [use('t1', 'write'), use('t2', 'look')], [use('t3', 'write')]);
    expect(notes.filter((note) => note.startsWith('write'))).toEqual(['write t1', 'write t3']);
    expect(notes.filter((note) => note === 'look t2')).toHaveLength(1);
  },
);

test('SIGTERM during a call: the turn is handed back without using up an attempt, and the next process ends it', async () => {
  world.claude.react(callsTools([use('t1', 'hang'), use('t2', 'write')]));
  const first = await spawn({ TOOL_TIMEOUT_MS: '60000' });
  world.telegram.say(CHAT, 'Do it');
  await world.claude.waitForCall((call) => call.kind === 'main');
  const deadline = Date.now() + PATIENCE_MS;
  while ((await notebook.notes()).length < 2 && Date.now() < deadline) await new Promise(setImmediate);
  await first.stop();
  expect(await first.ended).toBe('0');
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect((await notebook.notes()).filter((note) => note === 'write t2')).toHaveLength(1);
});
