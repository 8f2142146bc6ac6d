import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { EN } from '../../../shared/texts/en.ts';
import { outcomes } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { call, text } from '../../stand-in/claude/specimens.ts';

const CSV = 'city,people\nTainan,1856642\n';

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

// Fewer tokens would not hold the largest of the files.
eachInWorld(() => ({ env: { ...notebook.env, MAX_OUTPUT_TOKENS: '64000' }, claude: { maxOutputTokens: 64_000 } }));

afterEach(() => notebook.remove());

function file(id: string, input: object) {
  return call(id, { name: 'send_file', input });
}

function documents() {
  return world.telegram.shown(CHAT).flatMap(({ document }) => (document ? [document] : []));
}

/** The texts of the newest results that the model got. */
function results(): string[] {
  const last = mainCalls().at(-1);
  return (last ? resultsIn(last) : []).map(({ content }) => (content as { text: string }[])[0]?.text ?? '');
}

async function ask(): Promise<void> {
  world.telegram.say(CHAT, 'Send it');
  await nextOutcome(world, CHAT);
}

test('files that the model sends come after its answer, in the order of its calls', async () => {
  await start();
  world.claude.react(
    callsTools(
      [text('Here.'), file('f1', { name: 'cities.csv', content: CSV })],
      [file('f2', { name: 'docs/notes.md', content: '# Notes', ref: '' })],
    ),
  );
  await ask();
  expect(documents()).toEqual([
    { name: 'cities.csv', bytes: CSV.length },
    { name: 'notes.md', bytes: 7 },
  ]);
  expect(shown()[0]).toBe('Done after 2 rounds.');
  expect(results()).toEqual(['"notes.md" will be sent with your answer.']);
  expect(await outcomes()).toEqual(['answered']);
  expect(world.claude.violations()).toEqual([]);
});

test('a picture of a tool can be sent: its result names the reference', async () => {
  await start();
  world.claude.react((request) => {
    const [first] = request.kind === 'main' ? resultsIn(request) : [];
    const ref = /\{\\"ref\\":\\"(\w{64})\\"\}/.exec(JSON.stringify(first ?? ''))?.[1];
    if (ref !== undefined) return { do: 'answer', content: [file('f1', { name: 'dot.png', ref })] };
    return callsTools([use('t1', 'picture')])(request);
  });
  await ask();
  expect(documents()).toEqual([{ name: 'dot.png', bytes: expect.any(Number) }]);
  expect(world.claude.violations()).toEqual([]);
});

variants([
  [{ name: 'no extension', content: 'x' }, /"name" must be/],
  [{ name: 'empty.txt', content: '' }, /either "content"/],
  [{ name: 'both.txt', content: 'x', ref: '0'.repeat(64) }, /either "content"/],
  [{ name: 'unknown.png', ref: '0'.repeat(64) }, /No bytes are kept/],
  [{ name: 'odd.png', ref: '{sw:0}:chat:1' }, /"ref" must be/],
  [{ name: 'number.txt', content: 7 }, /must be a text/],
  [{ name: 'large.txt', content: 'é'.repeat(500_001) }, /has 1000002 bytes/],
])('a bad call gets an error that says why, and nothing is sent: %j', async (input, why) => {
  await start();
  world.claude.react(callsTools([file('f1', input)]));
  await ask();
  expect(results()[0]).toMatch(why);
  expect(documents()).toEqual([]);
});

test('the eleventh file of an answer is refused, and ten are sent', async () => {
  await start();
  const all = Array.from({ length: 11 }, (_, at) => file(`f${at}`, { name: `${at}.txt`, content: 'x'.repeat(at + 1) }));
  world.claude.react(callsTools(all.slice(0, 6), all.slice(6)));
  await ask();
  expect(documents().map(({ name }) => name)).toEqual(all.slice(0, 10).map((_, at) => `${at}.txt`));
  expect(results().filter((result) => result.includes('at most 10 files'))).toHaveLength(1);
});

test('a turn that ends without an answer sends no file', async () => {
  await start({ MAX_ATTEMPTS: '1' });
  world.claude.react((request) =>
    resultsIn(request).length > 0
      ? { do: 'error', status: 401, type: 'authentication_error', message: 'no key' }
      : callsTools([file('f1', { name: 'cities.csv', content: CSV })])(request),
  );
  await ask();
  expect(shown()).toEqual([EN.misconfigured]);
});

test('what is kept only to be sent is gone after a day, and sending it does not prolong that', async () => {
  await start();
  world.claude.react(callsTools([file('f1', { name: 'cities.csv', content: CSV })]));
  await ask();
  const [kept = ''] = await world.peek.keys('*:blob:*');
  expect(await world.peek.ttl(kept)).toBeLessThanOrEqual(7 * 24 * 3_600);
});

variants<[Failpoint, number]>([
  ['round stored', 1],
  ['tool called', 1],
  ['tool result stored', 2],
  ['results stored', 1],
  ['model called', 2],
  ['answer stored', 1],
  ['part marked', 1],
])('killed at "%s" for the %ith time: each file is sent once', async (step, nth) => {
  world.claude.react(
    callsTools([
      file('f1', { name: 'cities.csv', content: CSV }),
      file('f2', { name: 'notes.md', content: '# Notes' }),
    ]),
  );
  const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${nth}` });
  world.telegram.say(CHAT, 'Send it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT);
  expect(documents().map(({ name }) => name)).toEqual(['cities.csv', 'notes.md']);
  expect(shown().filter((said) => said.includes('Done after'))).toHaveLength(1);
});

variants([2, 3])('killed after part %i was sent: that file alone comes once more, marked', async (nth) => {
  world.claude.react(
    callsTools([
      file('f1', { name: 'cities.csv', content: CSV }),
      file('f2', { name: 'notes.md', content: '# Notes' }),
    ]),
  );
  const victim = await spawn({ SPILLWAY_FAIL_AT: `part sent:${nth}` });
  world.telegram.say(CHAT, 'Send it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT);
  const names = ['cities.csv', 'notes.md'];
  expect(documents().map(({ name }) => name)).toEqual(
    names.flatMap((name, at) => (at === nth - 2 ? [name, name] : [name])),
  );
  expect(shown().filter((said) => said.startsWith(EN.repeat))).toHaveLength(1);
});
