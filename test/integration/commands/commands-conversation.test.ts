import { beforeEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import {
  FAIL,
  HANG,
  newest,
  outcomes,
  press,
  redButtons,
  scriptCommands,
  untilAsked,
  untilWaiting,
} from '../../fixture/commands.ts';
import { CHAT, eachInWorld, killAt, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';
import { forwarded } from '../../stand-in/telegram/inbound-kinds.ts';

eachInWorld();

let script: ReturnType<typeof scriptCommands>;
beforeEach(() => {
  script = scriptCommands();
});

test('/busy merge answers all that wait together, each with its outcome; /busy queue one after the other', async () => {
  await start();
  await ask('/busy merge', 1);
  expect(newest()?.text).toBe(EN.busy.merge);
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => (pendingText === 'zeroth' ? { do: 'answer', after: promise } : undefined));
  world.telegram.say(CHAT, 'zeroth');
  await untilAsked('zeroth');
  for (const text of ['first', 'second', '/unknown', 'third']) world.telegram.say(CHAT, text);
  await untilWaiting(5);
  resolve();
  await nextOutcome(world, CHAT, 6);
  expect(await outcomes()).toEqual(['command busy', 'answered', 'merged', 'merged', 'merged', 'answered']);
  expect(mainCalls()).toHaveLength(2);
  const call = mainCalls().at(-1);
  const asked = JSON.stringify(call?.body.messages);
  expect(['first', 'second', 'third'].map((text) => asked.indexOf(text))).toEqual(
    ['first', 'second', 'third'].map((text) => asked.indexOf(text)).sort((one, other) => one - other),
  );
  expect(shown()).toHaveLength(3);
  await ask('/busy queue', 7);
  await stopGateways();
  for (const text of ['first', 'second']) world.telegram.say(CHAT, text);
  await start();
  await nextOutcome(world, CHAT, 9);
  expect((await outcomes()).slice(7)).toEqual(['answered', 'answered']);
  expect(world.claude.violations()).toEqual([]);
});

test('/busy interrupt cuts the running turn short, and answers both messages together', async () => {
  await start();
  await ask('/busy interrupt', 1);
  world.telegram.say(CHAT, HANG);
  const asked = await untilAsked(HANG);
  await ask('and this as well', 3);
  expect(await outcomes()).toEqual(['command busy', 'merged', 'answered']);
  expect(asked.aborted).toBe(true);
  const last = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(last).toContain(HANG);
  expect(last).toContain('and this as well');
  expect(world.claude.violations()).toEqual([]);
});

test('/compact makes a summary, killed then repeats only its reply, and the next answer does not say it again', async () => {
  await killAt('compaction stored:1', async () => {
    await ask('/compact', 1);
    expect(newest()?.text).toBe(EN.nothingToCompact);
    for (let n = 2; n <= 7; n++) await ask(`${n}: ${'many words about boats '.repeat(400)}`, n);
    world.telegram.say(CHAT, '/compact');
  });
  await nextOutcome(world, CHAT, 8);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toHaveLength(1);
  expect(newest()?.text).toMatch(
    /^Done: I replaced older messages with a summary\. .* The context is now \d+% full\.$/,
  );
  await ask('go on', 9);
  expect(newest()?.text).toBe('You said: go on');
  await ask('/status', 10);
  expect(newest()?.text).toMatch(/\nOlder messages last summarized: \d{4}-/);
  expect(world.claude.violations()).toEqual([]);
});

test('/recall finds what a new conversation has left behind', async () => {
  await start();
  await ask('the harbour is called Anping', 1);
  await ask('/new', 2);
  await ask('/recall Anping', 3);
  expect(newest()?.text).toMatch(/^I found \d match(?:es)?.*\n\n1\. .*harbour is called Anping/s);
  await ask('/recall xylophone', 4);
  expect(newest()?.text).toBe(EN.nothingRecalled);
  await ask('/recall', 5);
  expect(newest()?.text).toBe(EN.recallUsage);
  await world.peek.rpush(world.keys.archive(await sessionOf()), 'no segment');
  await ask('/recall Anping', 6);
  expect(newest()?.text).toMatch(/harbour is called Anping.*\n\nI couldn't search some of the older messages\.$/s);
  await ask('/recall xylophone', 7);
  expect(newest()?.text).toBe(`${EN.nothingRecalled}\n\n${EN.recalledInPart}`);
});

test('/export sends every conversation of the chat as a text and as lines; a send of unknown result is repeated', async () => {
  await start();
  await ask('the harbour is called Anping', 1);
  await ask('/new', 2);
  await ask('and the river?', 3);
  await ask('/export', 4);
  const files = world.telegram.shown(CHAT).filter(({ document }) => document !== undefined);
  expect(files.map(({ document }) => document?.name)).toEqual(['chat.md', 'chat.jsonl']);
  expect(shown().at(-3)).toBe(EN.exported('4'));
  world.telegram.fail('sendDocument', { do: 'loseReply' }, 1);
  await ask('/export', 5);
  const captions = world.telegram.shown(CHAT).flatMap(({ document, text }) => (document ? [text] : []));
  expect(captions).toHaveLength(2 + 3);
  expect(captions[3]).toContain(EN.repeat);
});

test('/forget asks first; its button erases every conversation, file and failed message of the chat', async () => {
  await start();
  await ask('the harbour is called Anping', 1);
  await ask('/new', 2);
  await ask(FAIL, 3);
  await ask('/forget', 4);
  expect(newest()?.text).toBe(EN.forgetAsks);
  expect(redButtons()).toEqual(['/forget yes']);
  expect(await world.peek.keys('*:log:*')).not.toHaveLength(0);
  script.mend();
  await press('/forget yes', 5);
  expect(newest()?.text).toBe(EN.forgotten);
  for (const key of ['*:log:*', '*:session:*', '*:archive:*', '*:media:*', '*:usage:*'])
    expect(await world.peek.keys(key)).toEqual([]);
  expect(await world.peek.xlen(world.keys.dead)).toBe(0);
  await ask('what was the harbour called?', 6);
  expect(mainCalls().at(-1)?.body.messages).toHaveLength(1);
});

test('/new with words begins anew with these words; a slip of a finger that was not forwarded and a wide slash cost no call', async () => {
  await start();
  await ask('Remember the boat', 1);
  await ask('/new What is a lane?', 2);
  expect(shown().slice(-2)).toEqual([EN.newConversation, 'You said: What is a lane?']);
  expect([mainCalls().length, JSON.stringify(mainCalls().at(-1)?.body.messages)]).toEqual([
    2,
    expect.not.stringContaining('boat'),
  ]);
  expect(mainCalls().at(-1)?.pendingText).toBe('What is a lane?');
  await ask('／WhoAmI', 3);
  expect(newest()?.text).toContain(`Your ID is ${CHAT}`);
  await ask('/modle', 4);
  expect(newest()?.text).toBe(EN.didYouMean('model'));
  await press('/model', 5);
  await ask('/path', 6);
  expect([await outcomes(), mainCalls().length]).toEqual([
    ['answered', 'answered', 'command whoami', 'command suggested', 'command model', 'answered'],
    3,
  ]);
  expect(await ask('/modle', 7, CHAT, { extra: forwarded({ type: 'hidden_user', name: 'Ben' }) })).toMatchObject({
    outcome: 'answered',
  });
  expect(world.claude.violations()).toEqual([]);
});
