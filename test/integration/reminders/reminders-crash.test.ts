import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { FencedError } from '../../../shared/state/change.ts';
import { createMemoryBook } from '../../../shared/state/memory/book.ts';
import { createReminderBook } from '../../../shared/state/reminder/book.ts';
import { EN } from '../../../shared/texts/en.ts';
import { createMemory } from '../../../worker/features/memory/tool.ts';
import { messageFor } from '../../../worker/features/reminders/reminder.ts';
import { createReminders } from '../../../worker/features/reminders/tool.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { givenAttempt } from '../../fixture/archived-session.ts';
import { runCli } from '../../fixture/cli.ts';
import { outcomes, untilWaiting } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, killAt, mainCalls, shown, start, trouble, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { lines } from '../../fixture/memory.ts';
import { callsTools } from '../../fixture/notebook.ts';
import { asks, coming, dueTimes, givenReminder, makeDue, OFTEN, TEXT, toolTexts } from '../../fixture/reminders.ts';
import { until } from '../../fixture/root.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

const DAY_MS = 24 * 3_600_000;

eachInWorld();

test.each(['later', 'before its message goes on'])(
  'killed after it was set, and due %s: it is set and comes once',
  async (due) => {
    const react = callsTools([asks('r1', { action: 'set', in: 60, text: TEXT })]);
    world.claude.react((request) => (request.pendingText === 'Remind me' ? react(request) : undefined));
    const remind = () => world.telegram.say(CHAT, 'Remind me');
    await killAt('tool called:1', remind, async () => {
      expect(await coming()).toHaveLength(1);
      if (due !== 'later') await makeDue();
    });
    await nextOutcome(world, CHAT);
    if (due === 'later') {
      expect(await coming()).toHaveLength(1);
      expect(shown().filter((text) => text.includes("Reminders I've set"))).toHaveLength(1);
      await makeDue();
    }
    await nextOutcome(world, CHAT, 2);
    expect(await coming()).toEqual([]);
    expect(mainCalls().filter(({ pendingText }) => pendingText === TEXT)).toHaveLength(1);
  },
);

test('killed after a cancellation: the model is told that it is done', async () => {
  const id = await givenReminder();
  world.claude.react(callsTools([asks('r1', { action: 'cancel', id })]));
  await killAt('tool called:1', () => world.telegram.say(CHAT, 'Cancel it'));
  await nextOutcome(world, CHAT);
  expect(toolTexts()).toEqual([`Cancelled: ${id}.`]);
});

test('entered again with what was listed before, a due time changes nothing, whoever tries', async () => {
  await givenReminder({ repeat: { everyMinutes: 60 } }, -1_000);
  const [one, other] = [createReminderBook(world.peek, world.keys), createReminderBook(world.peek, world.keys)];
  const { due, nowMs } = await one.due(10);
  const [each] = due;
  if (each === undefined) throw new Error('nothing is due');
  const facts = { dueAtMs: each.dueAtMs, nowMs, minutesMin: 60, isListed: () => true };
  const { message, nextMs } = messageFor(each.stored, facts);
  const entered = await Promise.all([one, other, one].map((book) => book.enter(each, message, nextMs, '')));
  expect(entered.filter((entry) => entry !== undefined)).toHaveLength(1);
  expect(await world.peek.xlen(world.keys.inbound)).toBe(1);
  expect(await world.peek.hget(world.keys.counts, 'accepted')).toBe('1');
  expect((await one.due(10)).due).toEqual([]);
});

test('an attempt that was taken over sets and notes nothing, and its tools tell it so by a FencedError and not by a text', async () => {
  const session = 's-1' as SessionId;
  const turn = await givenAttempt(world.peek, world.keys, CHAT, session);
  expect((await createLane(world.peek, world.keys).begin(turn.entry, chatKey(CHAT), session)).kind).toBe('begun');
  const settings = { TZ: 'UTC', REMINDER_MINUTES_MIN: 1 };
  const reminders = createReminders(createReminderBook(world.peek, world.keys), settings);
  const memory = createMemory(createMemoryBook(world.peek, world.keys));
  const { signal } = new AbortController();
  const set = { id: 'r1', name: 'reminders', input: { action: 'set', in: 60, text: TEXT }, turn };
  await expect(reminders.call(set, signal)).rejects.toThrow(FencedError);
  const note = { id: 'm1', name: 'memory', input: { action: 'remember', text: TEXT }, turn };
  await expect(memory.call(note, signal)).rejects.toThrow(FencedError);
  expect([await coming(), await lines()]).toEqual([[], []]);
});

test('while the model cannot be reached the user is reminded at once, and the answer follows', async () => {
  const mend = trouble(LIES.overloaded);
  await givenReminder();
  await start({}, { ...OFTEN, WAITING_NOTICE_MS: 1 });
  await makeDue();
  await world.telegram.waitForText(CHAT, /I can't answer right now/);
  expect(shown()).toEqual([EN.reminders.waiting(TEXT)]);
  mend();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toHaveLength(2);
});

test('reminders that fell due while their chat was paused come as one message with their times, and one call of the model', async () => {
  await start({}, OFTEN);
  await runCli(['pause', String(CHAT)], world.env);
  const daily = await givenReminder({ repeat: { everyMinutes: 1_440 }, text: 'water the plants' }, -2.1 * DAY_MS);
  await givenReminder({ text: 'call the bank' }, -2 * DAY_MS);
  await givenReminder({ text: 'buy milk' }, -DAY_MS);
  await untilWaiting(3);
  // The repeat falls due again, and again: its first message is not answered yet and speaks for all times.
  for (const agoMs of [DAY_MS, 1_000]) {
    await world.peek.zadd(world.keys.reminders, String(Date.now() - agoMs), `${CHAT}:${daily}`);
    await until('it is put off', async () => ((await dueTimes())[0] ?? 0) > Date.now() || undefined);
  }
  await runCli(['resume', String(CHAT)], world.env);
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', 'merged', 'merged']);
  expect(mainCalls()).toHaveLength(1);
  const asked = JSON.stringify(mainCalls()[0]?.body.messages.at(-1));
  for (const text of ['water the plants', 'call the bank', 'buy milk']) expect(asked).toContain(text);
  expect(asked.match(/was due at \w+ \d{4}-/g)).toHaveLength(3);
  expect(shown()).toHaveLength(2);
  expect(shown()[0]).toMatch(
    /^These reminders were due earlier.*\n\d{4}-.* \(and 2 more times since then\): water the plants\n.*: call the bank\n.*: buy milk$/,
  );
});

test('late reminders that end without an answer are all said in their own words', async () => {
  world.claude.react(() => ({ do: 'error', status: 401, type: 'authentication_error', message: 'no key' }));
  await start({}, OFTEN);
  await runCli(['pause', String(CHAT)], world.env);
  await givenReminder({ text: 'call the bank' }, -7_200_000);
  await givenReminder({ text: 'buy milk' }, -3_600_000);
  await untilWaiting(2);
  await runCli(['resume', String(CHAT)], world.env);
  await nextOutcome(world, CHAT, 2);
  for (const words of [EN.reminders.plain('call the bank'), EN.reminders.plain('buy milk'), EN.misconfigured])
    expect(shown().join('\n')).toContain(words);
  expect(new Set(mainCalls().map(({ pendingText }) => pendingText))).toEqual(new Set(['buy milk']));
});
