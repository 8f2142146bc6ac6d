import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { buttonsOf } from '../../fixture/buttons.ts';
import { runCli } from '../../fixture/cli.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { untilSettled } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import {
  ASKING,
  GROUP,
  outcomes,
  PATIENCE_MS,
  press,
  question,
  untilParked,
  wantsToWrite,
} from '../../fixture/parked.ts';
import { givenReminder, makeDue, OFTEN, TEXT } from '../../fixture/reminders.ts';

eachWithNotebook(ASKING);

test('a tool that may change something waits for a press without a job; of several presses the first decides, and it is called once', async () => {
  await start();
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  expect(await notebook.notes()).toEqual([]);
  const asked = await question();
  expect(asked.text).toBe('May I do this?\n\nnotebook: write\n▸ text: t1');
  expect(buttonsOf(asked).map(({ text }) => text)).toEqual(['Allow once', 'Always here', 'Decline']);
  expect(buttonsOf(asked).map(({ style }) => style)).toEqual([undefined, undefined, 'danger']);
  for (const word of ['once', 'no', 'once']) {
    const button = buttonsOf(asked).find(({ callback_data }) => callback_data?.endsWith(` ${word}`));
    world.telegram.press(CHAT, asked.messageId, button?.callback_data ?? '');
  }
  await untilSettled(world, 4, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', ...Array(3).fill('command')]);
  expect(await notebook.notes()).toEqual(['write t1']);
  const [, ...others] = shown();
  const told = ['Allowed once by User 1001.', 'Done after 1 rounds.', ...Array(2).fill(EN.approval.over)];
  expect(others.sort()).toEqual(told.sort());
  const rings = world.telegram.shown(CHAT).flatMap(({ notified }) => notified ?? []);
  expect(rings.filter((text) => text !== EN.approval.over)).toEqual([asked.text, 'Done after 1 rounds.']);
  expect(buttonsOf(await question())).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

test('a press from another chat, or of no question, decides nothing; /stop ends the turn, and a press after it is told so', async () => {
  await start();
  wantsToWrite('t1');
  world.telegram.say(CHAT, 'Write it down');
  await untilParked();
  const data = buttonsOf(await question())[0]?.callback_data ?? '';
  for (const forged of [data, '/decide', '/decide 1-1 1 once', `${data} x`, data.replace(/once$/, '7')])
    world.telegram.say(1002, forged);
  await untilSettled(world, 5, PATIENCE_MS);
  expect(shown(1002)).toEqual(Array(5).fill(EN.approval.over));
  world.telegram.say(CHAT, '/stop');
  await untilSettled(world, 7, PATIENCE_MS);
  expect((await outcomes()).slice(5).sort()).toEqual(['cancelled', 'command']);
  world.telegram.say(CHAT, data);
  await untilSettled(world, 8, PATIENCE_MS);
  expect(shown().at(-1)).toBe(EN.approval.over);
  expect(await notebook.notes()).toEqual([]);
});

test('the model asks with choices: a press answers, and a written text does as well', async () => {
  await start();
  const ask = (id: string) =>
    call(id, { name: 'ask_user', input: { question: 'Which colour?', choices: ['red', 'blue'] } });
  world.claude.react(callsTools([ask('q1')], [ask('q2')]));
  world.telegram.say(CHAT, 'Paint it');
  await press('1', { title: /^Which colour/ });
  await until('asked again', () => shown().filter((text) => text === 'Which colour?').length === 2);
  world.telegram.say(CHAT, 'rather green');
  await untilSettled(world, 3, PATIENCE_MS);
  const answers = mainCalls().flatMap((each) => resultsIn(each).map(({ content }) => JSON.stringify(content)));
  expect(answers).toEqual([expect.stringContaining('blue'), expect.stringContaining('rather green')]);
  expect(world.claude.violations()).toEqual([]);
});

test('thirty calls in one round are one question about five; the model is told to make the others later', async () => {
  await start();
  wantsToWrite(...Array.from({ length: 30 }, (_, at) => `t${at}`));
  world.telegram.say(CHAT, 'Write all of it');
  await press('once');
  await untilSettled(world, 2, PATIENCE_MS);
  expect(await notebook.notes()).toHaveLength(5);
  const last = mainCalls().at(-1);
  const refused = (last ? resultsIn(last) : []).filter(({ is_error }) => is_error);
  expect(refused.map(({ content }) => JSON.stringify(content))).toEqual(
    Array(25).fill(expect.stringContaining('At most 5 calls')),
  );
});

test('a message whose question cannot be shown waits for nobody: it is overdue, and the operator is told', async () => {
  await start({ UNANSWERED_ALERT_MS: '1000' }, { watchEveryMs: 50 });
  wantsToWrite('t1');
  const throttled = { status: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  world.telegram.fail('sendMessage', throttled, 1_000, ({ text }) => String(text).startsWith('May I'));
  world.telegram.say(CHAT, 'Write it down');
  await world.telegram.waitForText(9001, /1 message of 1 chat/, PATIENCE_MS);
});

const BEN = 1002;
const GUEST = 3003;
const say = (text: string, fromId: number) =>
  world.telegram.say(GROUP, `/x@${world.telegram.username} ${text}`, { fromId, chatType: 'supergroup' });

test('who writes behind a question is told once what it waits for and who can decide; status counts who waits', async () => {
  await start();
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((call) => (/Write it down/.test(call.pendingText) ? wants(call) : undefined));
  say('Write it down', CHAT);
  await question(GROUP);
  say('Is it going to rain?', BEN);
  say('And tomorrow?', BEN);
  say('Hello', GUEST);
  const line = EN.approval.behind('User 1001');
  await until('both are told', () => shown(GROUP).filter((text) => text === line).length === 2);
  await until('all wait', async () => (await world.peek.llen(world.keys.lane(chatKey(GROUP)))) === 4);
  expect((await runCli(['status'], world.env)).stdout).toMatch(
    /1 chat waits for somebody's decision; messages behind: 3/,
  );
  await press('no', { chat: GROUP });
  await untilSettled(world, 5, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'answered', 'answered', 'answered', 'command']);
  expect(shown(GROUP).filter((text) => text === line)).toHaveLength(2);
});

test('a reminder that falls due behind a question says its own words at once, and is answered later', async () => {
  await start({}, OFTEN);
  const wants = callsTools([use('t1', 'write')]);
  world.claude.react((call) => (/Write it down/.test(call.pendingText) ? wants(call) : undefined));
  world.telegram.say(CHAT, 'Write it down');
  await question();
  await givenReminder();
  await makeDue();
  await until('it is said', () => shown().includes(EN.reminders.behindQuestion(TEXT)));
  await press('once');
  await untilSettled(world, 3, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'answered', 'command']);
  expect(shown().filter((text) => text === EN.reminders.behindQuestion(TEXT))).toHaveLength(1);
});
