import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, shown, start, world } from '../../fixture/each-test.ts';
import { untilSettled } from '../../fixture/ledger.ts';
import { callsTools, use } from '../../fixture/notebook.ts';
import { eachWithNotebook, GROUP, outcomes, PATIENCE_MS, press, question } from '../../fixture/parked.ts';
import { givenReminder, makeDue, OFTEN, TEXT } from '../../fixture/reminders.ts';

eachWithNotebook();

const BEN = 1002;
const GUEST = 3003;
const say = (text: string, fromId: number) =>
  world.telegram.say(GROUP, `/x@${world.telegram.username} ${text}`, { fromId, chatType: 'supergroup' });
const untilShown = (text: string, chat = GROUP) => until(text, () => shown(chat).includes(text));

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
    /1 chat waits for somebody's decision, with 3 messages behind it/,
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
  await untilShown(EN.reminders.behindQuestion(TEXT), CHAT);
  await press('once');
  await untilSettled(world, 3, PATIENCE_MS);
  expect((await outcomes()).sort()).toEqual(['answered', 'answered', 'command']);
  expect(shown().filter((text) => text === EN.reminders.behindQuestion(TEXT))).toHaveLength(1);
});
