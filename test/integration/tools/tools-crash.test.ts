import { expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { text } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, killAt, shown, spawn, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';

eachWithNotebook();

const said = (words: string) => ({ content: [text(words)] });
const interrupted = { is_error: true, content: [{ type: 'text', text: expect.stringMatching(/interrupted/) }] };

test.each<[what: string, step: Failpoint, tool: string, notes: string[], result: object]>([
  ['a read-only call: it is repeated', 'tool called', 'look', ['look t1', 'look t1'], said('look: t1')],
  ['a call that writes: the model is told of an interrupted call', 'tool called', 'write', ['write t1'], interrupted],
  ['its result was stored: it is not repeated', 'tool result stored', 'write', ['write t1'], said('write: t1')],
])('killed after %s', async (_what, step, tool, notes, result) => {
  world.claude.react(callsTools([use('t1', tool)]));
  await killAt(`${step}:1`, () => world.telegram.say(CHAT, 'Do it'));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['Done after 1 rounds.']);
  expect(await settledOutcomes(world)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
  expect(await notebook.notes()).toEqual(notes);
  expect(resultsIn(world.claude.calls.at(-1) as never)).toEqual([expect.objectContaining(result)]);
});

test('SIGTERM during a call: the turn is handed back without using up an attempt, and the next process ends it', async () => {
  world.claude.react(callsTools([use('t1', 'hang'), use('t2', 'write')]));
  const first = await spawn({ TOOL_TIMEOUT_MS: '60000' });
  world.telegram.say(CHAT, 'Do it');
  await world.claude.waitForCall((call) => call.kind === 'main');
  await until('both calls', async () => (await notebook.notes())[1]);
  await first.stop();
  expect(await first.ended).toBe('0');
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect((await notebook.notes()).filter((note) => note === 'write t2')).toHaveLength(1);
});
