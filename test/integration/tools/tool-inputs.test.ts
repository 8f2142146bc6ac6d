import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { call } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

eachInWorld(() => ({ env: notebook.env }));

afterEach(() => notebook.remove());

/** A call whose input goes over the wire as it stands here. */
const raw = (id: string, input: string) => call(id, { name: 'notebook__write', input });
const REFUSED = { is_error: true, content: [{ type: 'text', text: expect.stringMatching(/was not valid JSON/) }] };

variants([
  ['that breaks off', '{"text": "half'],
  ['with something behind it', '{"text": "a"} and so on'],
  ['that is a text', '"text"'],
  ['that is a list', '[1]'],
  ['that is nothing but words', 'I write it down.'],
  ['that nests without an end', '['.repeat(20_000)],
])('an input %s goes back to the model; its call is not made, the one beside it is', async (_what, input) => {
  await start();
  world.claude.react(callsTools([raw('t1', input), use('t2', 'write')], [use('t3', 'write')]));
  world.telegram.say(CHAT, 'Write it down');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1, recoveries: 0 });
  expect(shown()).toEqual(['Done after 2 rounds.']);
  expect(await notebook.notes()).toEqual(['write t2', 'write t3']);
  const [, second] = mainCalls();
  expect(second && resultsIn(second)).toMatchObject([{ tool_use_id: 't1', ...REFUSED }, { tool_use_id: 't2' }]);
  const made = blocksOf(second?.body.messages.at(-2)?.content ?? []).find(({ id }) => id === 't1');
  expect(made?.input).toEqual({ unreadable: expect.stringContaining(input.slice(0, 900)) });
  expect(mainCalls()).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});

test('a model that never writes JSON is called three times, and its message fails with what it said', async () => {
  await start();
  let ids = 0;
  const content = () => [{ type: 'text', text: 'I write it down.' }, raw(`t${ids++}`, '{"text": ')];
  world.claude.react(({ kind }) => (kind === 'main' ? { do: 'answer', content: content() } : undefined));
  world.telegram.say(CHAT, 'Write it down');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'unreadable_calls' });
  expect(shown()).toEqual([expect.stringMatching(/^I write it down\..*breaks off here.*couldn't answer/s)]);
  expect(mainCalls()).toHaveLength(3);
  expect(await notebook.notes()).toEqual([]);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  world.claude.react(() => ({ do: 'answer', text: 'Well.' }));
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});

test('killed behind a round with such a call: it is not made by the next process either', async () => {
  const gateway = await spawn({ SPILLWAY_FAIL_AT: 'round stored:1' });
  world.claude.react(callsTools([raw('t1', '{"text": "half')]));
  world.telegram.say(CHAT, 'Write it down');
  expect(await gateway.ended).toBe('SIGKILL');
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(await notebook.notes()).toEqual([]);
  const last = mainCalls().at(-1);
  expect(last && resultsIn(last)).toMatchObject([REFUSED]);
  expect(mainCalls()).toHaveLength(2);
});
