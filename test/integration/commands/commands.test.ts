import { readFileSync } from 'node:fs';
import { beforeEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { ZH_HANT } from '../../../shared/texts/zh-hant.ts';
import {
  buttons,
  FAIL,
  HANG,
  newest,
  outcomes,
  press,
  redButtons,
  scriptCommands,
  untilAsked,
} from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask } from '../../fixture/whole-chat.ts';

const GROUP = -1_001_234;
const OTHER_MODEL = 'claude-haiku-4-5';

eachInWorld();

let script: ReturnType<typeof scriptCommands>;
beforeEach(() => {
  script = scriptCommands();
});

test('commands that only look or choose do not wait for what is being answered; /help names each that is documented', async () => {
  const commands = ['/status', '/usage', '/help', '/lang', '/busy', '/model', '/recall words', '/reminders', '/tools'];
  await start();
  world.telegram.say(CHAT, HANG);
  await untilAsked(HANG);
  for (const [at, command] of commands.entries()) await ask(command, at + 1);
  expect(newest()?.text).toBe(EN.tools.none);
  const help = shown().find((text) => text.includes(`${EN.helpTitle}\n${EN.helpReminders}\n`)) ?? '';
  const [documented = ''] = readFileSync('docs/commands.md', 'utf8').split('## For operators');
  const names = [...documented.matchAll(/^\| `\/(\w+)/gm)].map(([, name]) => name);
  expect(names).toContain('whoami');
  expect([...help.matchAll(/^\/(\w+) \S/gm)].map(([, name]) => name).toSorted()).toEqual(names.toSorted());
  await ask('/export', commands.length + 1);
  expect(await outcomes()).toEqual(
    [...commands, '/export'].map((command) => `command ${command.slice(1).split(' ')[0]}`),
  );
  expect(mainCalls()).toHaveLength(1);
  expect(mainCalls()[0]?.aborted).toBeUndefined();
});

test('/status says how full the context is, what waits, and what today cost; /usage adds up what was billed', async () => {
  await start();
  await ask('first', 1);
  await ask('/status', 2);
  expect(newest()?.text).toMatch(
    /^Model: \S+\nContext: [▓░]{10} \d+% \([\d,]+ of 200,000 tokens\)\nConversation: 2 messages since .*\nNothing summarized.*\nNothing is waiting\.\nCost today: about \$0\.0\d+$/,
  );
  await ask('second', 3);
  await ask('/usage', 4);
  const sums = `${mainCalls().length} calls, [\\d,]+ tokens in, [\\d,]+ out`;
  expect(newest()?.text).toMatch(new RegExp(`^Today: \\$0\\.0\\S+ \\(${sums}\\)$`, 'm'));
  expect(newest()?.text).toMatch(new RegExp(`^Last 30 days: \\$0\\.0\\S+ \\(${sums}`, 'm'));
  expect(newest()?.text).not.toContain(EN.usage.persons);
  world.telegram.say(CHAT, HANG);
  await untilAsked(HANG);
  for (const text of ['third', 'fourth']) world.telegram.say(CHAT, text);
  await ask('/status', 5);
  expect(newest()?.text).toMatch(/\nI've been working on a message for \d+ s\.\n2 messages are waiting\.\n/);
});

test('/usage in a group names who cost most, and those of one name by their ids; /forget erases that too', async () => {
  const names = ['Ann', 'Bob', 'Cid', 'Eve', 'Eve\u200b ', 'Fay'];
  const people = names.map((firstName, at) => ({ firstName, fromId: 5001 + at }));
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` });
  let nth = 0;
  const inGroup = async (text: string, options: object) => {
    await ask(text, ++nth, GROUP, options);
    return shown(GROUP).at(-1) ?? '';
  };
  for (const [at, person] of people.entries()) await inGroup('word '.repeat((at + 1) * 3_000), person);
  await inGroup('once more', { fromId: 5006, firstName: 'Fay: $9.00\nTotal' });
  const usage = await inGroup('/usage', { fromId: 5001, firstName: 'Ann' });
  const [, first = '', ...others] = usage.split('\n\n')[1]?.split('\n') ?? [];
  expect(first).toMatch(/^"Fay: \$9\.00 Total": \$\d\.\d\d \(\d\d%\)$/);
  expect(others.map((line) => line.split(':')[0])).toEqual([
    ...['"Eve" (id 5005)', '"Eve" (id 5004)', '"Cid"', '"Bob"', 'Everyone else'],
  ]);
  const percents = [first, ...others].map((line) => Number(/\((\d+)%\)$/.exec(line)?.[1]));
  expect(Math.abs(percents.reduce((sum, each) => sum + each, 0) - 100)).toBeLessThanOrEqual(3);
  expect(usage).toContain(EN.usage.estimated);
  await inGroup('/forget yes', { fromId: CHAT });
  expect(await inGroup('/usage', { fromId: CHAT })).not.toContain('Eve');
  expect(await world.peek.keys('*:usage:*')).toEqual([]);
});

test('a call without a known price is no share of anybody', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}`, MODEL: 'some-model' });
  for (const [at, text] of ['hello', '/usage'].entries()) {
    await ask(text, at + 1, GROUP, { fromId: CHAT });
  }
  expect(shown(GROUP).at(-1)).not.toContain(EN.usage.persons);
  expect(shown(GROUP).at(-1)).toContain(EN.usage.unpriced);
});

test('/model switches this chat to a model that the operator allows, and to no other', async () => {
  await start({ MODELS: OTHER_MODEL });
  await ask('/model gpt-5', 1);
  expect(newest()?.text).toContain(OTHER_MODEL);
  expect(buttons()).toContain(`/model ${OTHER_MODEL}`);
  expect(redButtons()).toEqual([]);
  await press(`/model ${OTHER_MODEL}`, 2);
  expect(newest()?.text).toBe(EN.modelSet(OTHER_MODEL));
  await ask('hello', 3);
  expect(mainCalls().at(-1)?.body.model).toBe(OTHER_MODEL);
  await ask('hello', 1, CHAT + 1);
  expect(mainCalls().at(-1)?.body.model).not.toBe(OTHER_MODEL);
});

test("notices are in the language of the person's app, until the chat chooses another", async () => {
  await start();
  await ask('/stop', 1, CHAT, { languageCode: 'zh-hant' });
  expect(newest()?.text).toBe(ZH_HANT.nothingToStop);
  await ask('/lang', 2, CHAT, { languageCode: 'zh-hant' });
  await press('/lang en', 3);
  expect(newest()?.text).toBe(EN.languageIs);
  await ask('/stop', 4, CHAT, { languageCode: 'zh-hant' });
  expect(newest()?.text).toBe(EN.nothingToStop);
  await ask('/lang auto', 5, CHAT, { languageCode: 'zh-hant' });
  expect(newest()?.text).toBe(ZH_HANT.languageAuto);
  await ask('/reminders', 6, CHAT, { languageCode: 'zh-hant' });
  expect(newest()?.text).toBe(ZH_HANT.reminders.none);
  await ask('/lang klingon', 7);
  expect(newest()?.text).toBe(EN.languageUnknown(['en', 'zh-hant']));
});

test('the button under a failure notice tries the message again, once', async () => {
  await start();
  await ask(FAIL, 1);
  expect(buttons()).toEqual([expect.stringMatching(/^\/retry \d+-\d+$/)]);
  const [data = ''] = buttons();
  script.mend();
  const { messageId = 0 } = newest() ?? {};
  world.telegram.press(CHAT, messageId, data);
  world.telegram.press(CHAT, messageId, data);
  await nextOutcome(world, CHAT, 4);
  expect((await outcomes()).sort()).toEqual(['answered', 'command retry', 'command retry', 'failed authentication']);
  expect(shown()).toContain(EN.retrying);
  expect(shown()).toContain(EN.nothingToRetry);
  expect(shown().filter((text) => text === `You said: ${FAIL}`)).toHaveLength(1);
  expect(world.telegram.answers).toHaveLength(2);
  expect(world.telegram.shown(CHAT)[0]?.replyMarkup).toBeUndefined();
});

test('in a group, a guest may ask and stop, but not what costs, forgets or searches the past', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` });
  for (const [at, text] of ['/forget yes', '/export', '/model', '/recall watermelon', '/status'].entries()) {
    await ask(text, at + 1, GROUP, { chatType: 'supergroup', fromId: 77 });
  }
  expect(shown(GROUP)).toEqual([...Array(4).fill(EN.notPermitted), expect.stringMatching(/^Model: /)]);
});

test('apps offer the commands in the languages of the texts, all of them in private chats and few in groups', async () => {
  await start();
  await world.telegram.waitForCall(
    ({ method, params }) =>
      method === 'setMyCommands' && params.language_code === 'zh' && /group/.test(JSON.stringify(params.scope)),
  );
  const menus = world.telegram.menus();
  expect(Object.keys(menus).sort()).toEqual([
    'all_group_chats/',
    'all_group_chats/zh',
    'all_private_chats/',
    'all_private_chats/zh',
  ]);
  expect(menus['all_private_chats/zh']?.[0]).toEqual({ command: 'stop', description: ZH_HANT.menu.stop });
});
