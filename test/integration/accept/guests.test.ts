import { expect, test } from '@jest/globals';
import { buttonsOf } from '../../fixture/buttons.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { thinking } from '../../fixture/manners.ts';
import { callsTools, openNotebook, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';

const GROUP = -1005;
const GUEST = 77;

eachWithNotebook({
  claude: thinking(60),
  env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}`, TELEGRAM_ANSWER_ALL_IDS: String(GROUP) },
});

const say = (text: string, fromId: number) => world.telegram.say(GROUP, text, { chatType: 'supergroup', fromId });
const offered = (at: number) =>
  mainCalls()
    .at(at)
    ?.body.tools?.map(({ name }) => name);
const told = () =>
  resultsIn(mainCalls().at(-1) as never).map(({ is_error: isError, content }) => [isError, JSON.stringify(content)]);

test('a guest is offered no tool of a server that was not given to guests, and none is carried out for them', async () => {
  await start();
  say('Hello', CHAT);
  await nextOutcome(world, GROUP);
  expect(offered(-1)).toEqual(
    expect.arrayContaining(['recall', 'notebook__look', 'send_file', 'reminders', 'notebook__write']),
  );
  world.claude.react(
    callsTools([
      use('w', 'write'),
      use('l', 'look'),
      call('s', { name: 'send_file', input: { name: 'a.txt', content: 'a' } }),
      call('r', { name: 'reminders', input: { action: 'set', in: 60, text: 'evil' } }),
      call('p', { name: 'recall', input: { query: 'Hello' } }),
      call('a', { name: 'ask_user', input: { question: 'Which colour?' } }),
      call('n', { name: 'nothing_of_the_kind', input: {} }),
    ]),
  );
  say('Write it down, and remind us', GUEST);
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'answered' });
  expect(offered(-1)).toBeUndefined();
  const barred = [true, expect.stringMatching(/allow list/)];
  expect(told()).toEqual([...Array(6).fill(barred), [true, expect.stringMatching(/no tool/)]]);
  expect(await notebook.notes()).toEqual([]);
  expect(await world.peek.hlen(world.keys.remindersOf(String(GROUP) as never))).toBe(0);
  expect(world.telegram.shown(GROUP).filter(({ document }) => document)).toEqual([]);
  world.claude.react(callsTools([use('w2', 'write')]));
  say('Then write it for me', CHAT);
  await nextOutcome(world, GROUP, 3);
  expect(await notebook.notes()).toEqual(['write w2']);
  expect(world.claude.violations()).toEqual([]);
});

test('a guest is offered the tools of the servers that are for guests, in each round, and of those the ones that are on', async () => {
  const shared = await openNotebook({ approve: 'never', guests: true, tools: { write: 'off' } });
  await start(shared.env);
  world.claude.react(callsTools([use('l', 'look'), use('w', 'write')], [use('w2', 'write')]));
  say('Look, and write', GUEST);
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls()).toHaveLength(3);
  for (const at of mainCalls().keys()) {
    expect(offered(at)).toContain('notebook__look');
    expect(offered(at)?.filter((name) => !String(name).startsWith('notebook__'))).toEqual([]);
  }
  expect(await shared.notes()).toEqual(['look l']);
  await shared.remove();
});

test('people and guests take turns: no thinking is refused, and each sees again what was thought with their tools', async () => {
  await start();
  const thoughts = () =>
    (mainCalls().at(-1)?.body.messages ?? [])
      .filter(({ role }) => role === 'assistant')
      .map(({ content }) => blocksOf(content).some(({ type }) => type === 'thinking'));
  const seen: boolean[][] = [];
  for (const [at, fromId] of [CHAT, GUEST, CHAT, GUEST, GUEST, CHAT].entries()) {
    say(`turn ${at}`, fromId);
    expect(await nextOutcome(world, GROUP, at + 1)).toMatchObject({ outcome: 'answered', recoveries: 0 });
    seen.push(thoughts());
  }
  expect(world.claude.violations()).toEqual([]);
  expect(seen.at(-2)).toEqual([false, true, false, true]);
  expect(seen.at(-1)).toEqual([true, false, true, false, false]);
  expect(mainCalls()).toHaveLength(6);
});

variants(['merge', 'interrupt'])(
  'a chat that wants to %s: what a guest asks is not done with the tools of people, nor what they ask without them',
  async (way) => {
    await start();
    say(`/busy ${way}`, CHAT);
    await nextOutcome(world, GROUP);
    world.claude.react(({ pendingText }) =>
      pendingText === 'first' ? { do: 'answer', text: 'Yes.', afterMs: way === 'merge' ? 1_000 : 3_000 } : undefined,
    );
    say('first', CHAT);
    await world.claude.waitForCall(({ pendingText }) => pendingText === 'first');
    say('of a guest', GUEST);
    say('of one of us', CHAT);
    await nextOutcome(world, GROUP, 4);
    const asked = mainCalls().map(({ pendingText, body }) => [pendingText, (body.tools ?? []).length]);
    const all = asked[0]?.[1];
    expect(asked).toEqual([
      ['first', all],
      ['of a guest', 0],
      ['of one of us', all],
    ]);
    const ends = (await settledOutcomes(world)).map(({ outcome }) => outcome);
    expect(ends).toEqual(['command', 'answered', 'answered', 'answered']);
  },
);

test('the button that undoes what was set stays when a guest presses it', async () => {
  await start();
  world.claude.react(callsTools([call('r', { name: 'reminders', input: { action: 'set', in: 60, text: 'evil' } })]));
  say('Summarise this page', CHAT);
  await nextOutcome(world, GROUP);
  const named = world.telegram.shown(GROUP).at(-1);
  const undo = buttonsOf(named)[0]?.callback_data ?? '';
  const press = (fromId: number) => world.telegram.press(GROUP, named?.messageId ?? 0, undo, fromId);
  press(GUEST);
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  expect(await world.peek.hlen(world.keys.remindersOf(String(GROUP) as never))).toBe(1);
  press(CHAT);
  expect(await nextOutcome(world, GROUP, 3)).toMatchObject({ outcome: 'command' });
  expect(await world.peek.hlen(world.keys.remindersOf(String(GROUP) as never))).toBe(0);
});
