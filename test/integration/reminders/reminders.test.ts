import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { nextPeriodMs } from '../../../shared/state/spending/limit.ts';
import { EN } from '../../../shared/texts/en.ts';
import { runCli } from '../../fixture/cli.ts';
import { HANG, newest, outcomes, scriptCommands, untilAsked, untilWaiting } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools } from '../../fixture/notebook.ts';
import {
  asks,
  coming,
  dueTimes,
  givenReminder,
  makeDue,
  OFTEN,
  TEXT,
  tell,
  toolTexts,
} from '../../fixture/reminders.ts';
import { until } from '../../fixture/root.ts';
import { ask } from '../../fixture/whole-chat.ts';

const MINUTE_MS = 60_000;

/** The answer to `hold` takes a while. */
function holdUp(): void {
  world.claude.react(({ pendingText }) =>
    pendingText === 'hold' ? { do: 'answer', text: 'held', afterMs: 1_000 } : undefined,
  );
}

eachInWorld({ env: { TZ: 'Asia/Taipei' } });

test('a reminder that the model sets becomes a message of its own at its time, once, and is answered; it sets none that is sooner', async () => {
  await start({}, OFTEN);
  await tell(1, [asks('r1', { action: 'set', in: 60, text: TEXT })]);
  expect(toolTexts()).toEqual([expect.stringMatching(/^Set: \w{8}: \d{4}-\d\d-\d\d \d\d:\d\d Asia\/Taipei: call Ann/)]);
  const [dueAt = 0] = await dueTimes();
  expect(Math.abs(dueAt - Date.now() - 60 * MINUTE_MS)).toBeLessThan(MINUTE_MS);
  const sooner = callsTools([asks('r2', { action: 'set', in: 1, text: TEXT })]);
  world.claude.react((request) => (request.body.messages.length > 4 ? sooner(request) : undefined));
  await makeDue();
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(await coming()).toEqual([]);
  expect(toolTexts()[0]).toMatch(/60 minutes ahead or later/);
  const asked = mainCalls().find(({ pendingText }) => pendingText === TEXT);
  expect(JSON.stringify(asked?.body.messages.at(-1))).toMatch(
    /Asia\/Taipei, a reminder that you set yourself, while answering a message of .*\(id 1001\), which began .{0,2}"message 1.{0,2}", is due now: /,
  );
  expect(shown().slice(2)).toEqual(['Done after 1 rounds.']);
  expect(world.claude.violations()).toEqual([]);
});

test('what was due while no gateway ran comes once at the start, late, and a repeat goes on at its next time', async () => {
  const repeating = CHAT + 1;
  await givenReminder({}, -2 * 3_600_000);
  await givenReminder({ repeat: { everyMinutes: 60 } }, -5.5 * 3_600_000, repeating);
  await start({}, OFTEN);
  for (const chat of [CHAT, repeating]) expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered' });
  expect(shown()[0]).toMatch(/^This reminder was due at \d{4}-\d\d-\d\d \d\d:\d\d, but I couldn't send it then\.$/);
  expect(JSON.stringify(mainCalls()[0]?.body.messages.at(-1))).toMatch(/was due at \w+ \d{4}-.* and comes late/);
  const [next = 0, ...others] = await dueTimes();
  expect([Math.abs(next - Date.now() - 30 * MINUTE_MS) < MINUTE_MS, others]).toEqual([true, []]);
  await stopGateways();
  expect(await outcomes()).toEqual(['answered', 'answered']);
  expect(shown()).toHaveLength(2);
});

test('a reminder that is due waits for what was written before it, in order, and a full lane refuses none', async () => {
  await start({ LANE_MAX_MESSAGES: '2' }, OFTEN);
  holdUp();
  await givenReminder();
  world.telegram.say(CHAT, 'hold');
  await untilAsked('hold');
  world.telegram.say(CHAT, 'before');
  await untilWaiting(2);
  await makeDue();
  await nextOutcome(world, CHAT, 3);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual(['hold', 'before', TEXT]);
});

const REFUSALS: [input: object, why: RegExp][] = [
  [{ action: 'set', text: TEXT }, /Say when/],
  [{ action: 'set', in: 5 }, /"text" must say/],
  [{ action: 'set', in: 5, text: 'x'.repeat(1_001) }, /1001 characters; 1000 are the most/],
  [{ action: 'set', at: '2020-01-01T09:00', text: TEXT }, /in the past\. It is \d{4}-.* in Asia\/Taipei now/],
  [{ action: 'set', at: 'tomorrow', text: TEXT }, /must be a local time/],
  [{ action: 'set', every: 59, text: TEXT }, /60 or more: the operator allows no shorter repeat/],
  [{ action: 'set', cron: '0,30 * * * *', text: TEXT }, /every 60 minutes at most/],
  [{ action: 'set', in: 2 * 366 * 24 * 60 + 1, text: TEXT }, /number of minutes/],
  [{ action: 'set', at: '2099-01-01T09:00', text: TEXT }, /two years/],
  [{ action: 'cancel', id: 'nothing' }, /no such reminder/],
  [{ action: 'dance' }, /"action" must be/],
];

test('a bad call gets an error that says why, and sets nothing; the model lists what is to come, at most 50 of a chat', async () => {
  await start({}, OFTEN);
  await tell(
    1,
    REFUSALS.map(([input], at) => asks(`r${at}`, input)),
  );
  expect(toolTexts()).toEqual(REFUSALS.map(([, why]) => expect.stringMatching(why)));
  expect(await coming()).toEqual([]);
  const id = await givenReminder({ repeat: { cron: '0 9 * * 1' } });
  await tell(2, [asks('list', { action: 'list' })]);
  expect(toolTexts()[0]).toMatch(new RegExp(`^${id}: .* Asia/Taipei, then by cron 0 9 \\* \\* 1 in UTC: ${TEXT}$`));
  for (let count = 1; count < 50; count++) await givenReminder();
  await tell(3, [asks('more', { action: 'set', in: 60, text: TEXT })]);
  expect(toolTexts()[0]).toMatch(/has 50 reminders already/);
  expect(await coming()).toHaveLength(50);
});

test('with /busy merge a reminder is answered neither together with what came before it nor with what comes after', async () => {
  holdUp();
  await start({}, OFTEN);
  await ask('/busy merge', 1);
  const sayOther = async () => void world.telegram.say(CHAT, 'other');
  for (const [round, order] of [
    [() => makeDue(), sayOther],
    [sayOther, () => makeDue()],
  ].entries()) {
    await givenReminder();
    world.telegram.say(CHAT, 'hold');
    await until('a held message', () => mainCalls().filter(({ pendingText }) => pendingText === 'hold')[round]);
    for (const [at, come] of order.entries()) {
      await come();
      await untilWaiting(2 + at);
    }
    await nextOutcome(world, CHAT, 4 + round * 3);
  }
  expect((await outcomes()).slice(1)).toEqual(Array(6).fill('answered'));
});

test('over the budget, the user gets the reminder in its own words', async () => {
  const tomorrow = { atMs: nextPeriodMs('day', Date.now()), timeZone: 'Asia/Taipei' };
  await start({ CHAT_DAILY_TOKENS: '1' }, OFTEN);
  await givenReminder();
  await makeDue();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused' });
  expect(shown()).toEqual([`${EN.reminders.plain(TEXT)}\n\n${EN.budget.usedUp('chat', 'day', tomorrow)}`]);
});

test('/stop cancels what is due, which is said in its own words, and nothing else; /forget erases all, also what is being answered', async () => {
  scriptCommands();
  await start({}, OFTEN);
  world.telegram.say(CHAT, HANG);
  await untilAsked(HANG);
  await givenReminder({}, 0);
  await untilWaiting(2);
  const later = await givenReminder();
  await ask('/stop', 3);
  expect(shown()).toEqual([EN.reminders.plain(TEXT), EN.stopped]);
  expect(await coming()).toEqual([`${CHAT}:${later}`]);
  await givenReminder({ text: HANG }, 0);
  await until('the reminder is asked', () => mainCalls()[1]);
  await ask('/forget yes', 5);
  const [stopped, forgot] = ['cancelled stop', 'cancelled forget'];
  expect(await outcomes()).toEqual([stopped, stopped, 'command stop', forgot, 'command forget']);
  expect(await world.peek.keys('*reminders*')).toEqual([]);
  expect(newest()?.text).toBe(EN.forgotten);
  expect(shown().filter((text) => text.includes(HANG))).toEqual([]);
});

test('a stored reminder that cannot be read is told like a message that cannot be read, and blocks no other', async () => {
  await givenReminder();
  await world.peek.hset(world.keys.remindersOf(chatKey(CHAT)), 'given0', '{"torn');
  await givenReminder();
  await start({}, OFTEN);
  await makeDue();
  await nextOutcome(world, CHAT, 2);
  expect((await outcomes()).sort()).toEqual(['answered', 'failed undecodable']);
  expect(await coming()).toEqual([]);
});

const BLOCKED = { status: 403, description: 'Forbidden: bot was blocked by the user' };

/** Makes the first reminder due, `nth` message of the chat, and waits for its outcome. */
async function comesOnce(nth: number): Promise<void> {
  const [first = ''] = await coming();
  await world.peek.zadd(world.keys.reminders, String(Date.now() - 1_000), first);
  await nextOutcome(world, CHAT, nth);
}

test('a repeat goes on when its chat was gone once, and ends when it was at two times in a row, no other reminder with it', async () => {
  const own = await givenReminder({ repeat: { everyMinutes: 60 } });
  const other = await givenReminder({ repeat: { everyMinutes: 60 } }, 7_200_000);
  await start({}, OFTEN);
  const refuse = (times: number) =>
    world.telegram.fail('sendMessage', BLOCKED, times, ({ chat_id }) => String(chat_id) === String(CHAT));
  refuse(2);
  await comesOnce(1);
  await comesOnce(2);
  // What was refused comes back once the chat takes another message.
  await nextOutcome(world, CHAT, 3);
  refuse(100);
  await comesOnce(4);
  expect(await coming()).toEqual([`${CHAT}:${own}`, `${CHAT}:${other}`]);
  // The time that followed comes: nothing but its own due time is moved.
  const stored = world.keys.remindersOf(chatKey(CHAT));
  await world.peek.hset(stored, `gone:${own}`, Date.now() - 1_000);
  await world.peek.zadd(world.keys.reminders, String(await world.peek.hget(stored, `gone:${own}`)), `${CHAT}:${own}`);
  await nextOutcome(world, CHAT, 5);
  const gone = 'undeliverable telegram_gone';
  expect(await outcomes()).toEqual([gone, 'answered', 'answered', gone, gone]);
  expect(await coming()).toEqual([`${CHAT}:${other}`]);
  expect(await world.peek.hkeys(stored)).toEqual([other]);
});

test('a chat that is not on the allow list any more is not reminded; once it is let in again, it is', async () => {
  const stranger = 4_004;
  await givenReminder({}, 3_600_000, stranger);
  await start({}, OFTEN);
  await makeDue();
  await until('it is put off', async () => ((await dueTimes())[0] ?? 0) > Date.now() + 30 * MINUTE_MS || undefined);
  expect(await world.peek.xlen(world.keys.outcomes)).toBe(0);
  await runCli(['allow', String(stranger)], world.env);
  await until('it is due and taken', async () => {
    await makeDue();
    return (await dueTimes()).length === 0 || undefined;
  });
  expect(await nextOutcome(world, stranger)).toMatchObject({ outcome: 'answered' });
});
