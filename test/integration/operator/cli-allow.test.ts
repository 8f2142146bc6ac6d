import { expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { givenReminder, makeDue, OFTEN } from '../../fixture/reminders.ts';
import { until } from '../../fixture/root.ts';

const RITA = 4_004;
const GROUP = -100_400;

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: String(CHAT) } });

const cli = (...args: string[]) => runCli(args, world.env);
const accepted = async () => Number(await world.peek.hget(world.keys.counts, 'accepted'));

/** Says something, and answers whether it was accepted. */
async function isHeard(chat: number, text: string): Promise<boolean> {
  const before = await accepted();
  const at = world.telegram.say(chat, text);
  await until('it is confirmed', () => world.telegram.confirmedUpTo() >= at || undefined);
  return (await accepted()) > before;
}

/** Says it until it is taken or not, as it is wanted: a list that was read is used for a second. */
const untilHeard = (chat: number, text: string, isWanted: boolean) =>
  until('the list is read', async () => (await isHeard(chat, text)) === isWanted || undefined);

test('somebody is let in without a restart, stays after one, and is out again as soon', async () => {
  await start();
  expect(await isHeard(RITA, 'may I?')).toBe(false);
  const added = await cli('allow', String(RITA), '--why', 'support', '--by', 'ann');
  expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^4004 will be allowed within a second/) });
  await untilHeard(RITA, 'and now?', true);
  expect(await nextOutcome(world, RITA)).toMatchObject({ outcome: 'answered' });
  expect(await cli('allow', String(RITA))).toMatchObject({ code: 0, stdout: '4004 was allowed already.\n' });
  await stopGateways();
  await start();
  expect(await isHeard(RITA, 'still?')).toBe(true);
  await nextOutcome(world, RITA, 2);
  expect(await cli('allow', '--remove', String(RITA))).toMatchObject({ code: 0 });
  await untilHeard(RITA, 'and after?', false);
  expect(await isHeard(CHAT, 'the others go on')).toBe(true);
  const unknown = { code: 1, stdout: expect.stringMatching(/was not on the list/) };
  expect(await cli('allow', '--remove', String(RITA))).toMatchObject(unknown);
});

/** The tools of the nth answer in the group. */
async function toolsFor(nth: number): Promise<unknown[]> {
  await nextOutcome(world, GROUP, nth);
  return (mainCalls().at(-1)?.body.tools ?? []).map(({ name }) => name);
}

test('a group that is let in is answered, and of its members only those whose own ids are allowed are no guests', async () => {
  await cli('allow', String(GROUP));
  await start({ TELEGRAM_ANSWER_ALL_IDS: String(GROUP) });
  const toolsOf = async (fromId: number, nth: number) => {
    world.telegram.say(GROUP, 'hello', { fromId });
    return toolsFor(nth);
  };
  expect(await toolsOf(RITA, 1)).not.toContain('send_file');
  await stopGateways();
  await cli('allow', String(RITA));
  await start();
  expect(await toolsOf(RITA, 2)).toContain('send_file');
});

test('in a group, what somebody set who is not on the allow list any more has the tools of a guest', async () => {
  const asked = { chatId: GROUP, chatType: 'supergroup', messageId: 1, from: { id: RITA, name: 'Rita' } };
  await givenReminder({ asked, repeat: { everyMinutes: 60 } }, 3_600_000, GROUP);
  await cli('allow', String(RITA));
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` }, OFTEN);
  const toolsAt = async (nth: number) => {
    await makeDue();
    return toolsFor(nth);
  };
  expect(await toolsAt(1)).toContain('send_file');
  await cli('allow', '--remove', String(RITA));
  await stopGateways();
  await start({}, OFTEN);
  expect(await toolsAt(2)).not.toContain('send_file');
});

test('a group that is let in is followed when it becomes a supergroup, and taken off it is not', async () => {
  const group = -4_400;
  await cli('allow', String(group));
  await start();
  world.telegram.say(group, '/whoami', { chatType: 'group', fromId: RITA });
  await nextOutcome(world, group);
  const moved = world.telegram.migrate(group);
  expect(await isHeard(moved, '/whoami')).toBe(true);
  await cli('allow', '--remove', String(group));
  await untilHeard(moved, '/whoami', false);
});

test('what the settings say cannot be taken back here, and everybody needs nobody added', async () => {
  const stdout = `${CHAT} is already allowed by TELEGRAM_ALLOWED_IDS.\n`;
  expect(await cli('allow', String(CHAT))).toMatchObject({ code: 0, stdout });
  const stays = expect.stringMatching(/is still allowed by TELEGRAM_ALLOWED_IDS: remove it/);
  expect(await cli('allow', '--remove', String(CHAT))).toMatchObject({ code: 1, stdout: stays });
  const already = { code: 0, stdout: expect.stringMatching(/already/) };
  const open = { ...world.env, TELEGRAM_ALLOWED_IDS: '*' };
  expect(await runCli(['allow', String(RITA)], open)).toMatchObject(already);
  expect(JSON.parse((await cli('allow', '--json')).stdout)).toEqual({ set: [String(CHAT)], added: [], waiting: [] });
});

test('the list, the state of everything and the check name who was let in, and by whom', async () => {
  await cli('allow', String(RITA), '--why', 'support', '--by', 'ann');
  await cli('allow', String(GROUP), '--by', 'bob');
  const { stdout } = await cli('allow');
  expect(stdout).toMatch(/^\nTELEGRAM_ALLOWED_IDS {2}1001\n/);
  expect(stdout).toMatch(/4004 .* ann {2}support\n {2}-100400 .* bob {2}no reason given/s);
  expect((await cli('status')).stdout).toMatch(/Allowed besides TELEGRAM_ALLOWED_IDS\n.*\n {2}4004/);
  expect((await cli('check')).stdout).toMatch(/^ok {4} allowed ids: 4004, -100400 besides TELEGRAM_ALLOWED_IDS$/m);
  await world.peek.hset(world.keys.allowed, String(RITA), 'written by a later version');
  const [added] = JSON.parse((await cli('allow', '--json')).stdout).added;
  expect(added).toMatchObject({ chat: String(RITA), by: 'unknown' });
});

test('what is no id is refused with the usage, and nothing is done', async () => {
  const words = ['rita', '@rita', '0', '-0', '007', '4004.7', '12345678901234567', '4004,4005', '１００１', '*', ''];
  const stderr = expect.stringMatching(/not a valid argument: expected the number/);
  for (const word of words) {
    expect({ word, ...(await cli('allow', word)) }).toEqual({ word, code: 2, stdout: '', stderr });
    expect(await cli('allow', '--remove', word)).toMatchObject({ code: 2 });
  }
  expect(await world.peek.exists(world.keys.allowed, world.keys.actions)).toBe(0);
});
