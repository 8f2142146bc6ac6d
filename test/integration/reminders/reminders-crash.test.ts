import { expect, test } from '@jest/globals';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { FencedError } from '../../../shared/state/change.ts';
import { createReminderBook } from '../../../shared/state/reminder/book.ts';
import { EN } from '../../../shared/texts/en.ts';
import { messageFor } from '../../../worker/features/reminders/reminder.ts';
import { createReminders } from '../../../worker/features/reminders/tool.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { givenAttempt } from '../../fixture/archived-session.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { callsTools } from '../../fixture/notebook.ts';
import { asks, coming, givenReminder, makeDue, OFTEN, TEXT } from '../../fixture/reminders.ts';

eachInWorld();

test.each(['later', 'before its message goes on'])(
  'killed after it was set, and due %s: it is set and comes once',
  async (due) => {
    const react = callsTools([asks('r1', { action: 'set', in: 60, text: TEXT })]);
    world.claude.react((request) => (request.pendingText === 'Remind me' ? react(request) : undefined));
    const victim = await spawn({ SPILLWAY_FAIL_AT: 'tool called:1' });
    world.telegram.say(CHAT, 'Remind me');
    expect(await victim.ended).toBe('SIGKILL');
    expect(await coming()).toHaveLength(1);
    if (due !== 'later') await makeDue();
    await takeOver();
    await nextOutcome(world, CHAT);
    if (due === 'later') {
      expect(await coming()).toHaveLength(1);
      expect(shown().filter((text) => text.includes('set this for later'))).toHaveLength(1);
      await makeDue();
    }
    await nextOutcome(world, CHAT, 2);
    expect(await coming()).toEqual([]);
    expect(mainCalls().filter(({ pendingText }) => pendingText === TEXT)).toHaveLength(1);
  },
);

test('killed after a cancellation: the model is told that it is done', async () => {
  const id = await givenReminder();
  const react = callsTools([asks('r1', { action: 'cancel', id })]);
  let result = '';
  world.claude.react((request) => {
    result = JSON.stringify(request.body.messages.at(-1));
    return react(request);
  });
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'tool called:1' });
  world.telegram.say(CHAT, 'Cancel it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT);
  expect(result).toContain(`Cancelled: ${id}.`);
});

test('killed when a reminder that is due was accepted: it has one outcome and one answer', async () => {
  await givenReminder();
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'accepted:1' });
  await makeDue();
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  world.telegram.say(CHAT, 'and the next');
  await nextOutcome(world, CHAT, 2);
  expect(await settledOutcomes(world)).toHaveLength(2);
  expect(shown().filter((text) => text.includes(TEXT))).toHaveLength(1);
  expect(await coming()).toEqual([]);
});

test('entered again with what was listed before, a due time changes nothing, whoever tries', async () => {
  await givenReminder({ repeat: { everyMinutes: 60 } }, -1_000);
  const redis = connectRedis(world.redis.url, 'patient');
  try {
    const [one, other] = [createReminderBook(redis, world.keys), createReminderBook(redis, world.keys)];
    const { due, nowMs } = await one.due(10);
    const [each] = due;
    if (each === undefined) throw new Error('nothing is due');
    const { message, nextMs } = messageFor(each.stored, {
      dueAtMs: each.dueAtMs,
      nowMs,
      minutesMin: 60,
      isListed: () => true,
    });
    const entered = await Promise.all([one, other, one].map((book) => book.enter(each, message, nextMs, '')));
    expect(entered.filter((entry) => entry !== undefined)).toHaveLength(1);
    expect(await world.peek.xlen(world.keys.inbound)).toBe(1);
    expect(await world.peek.hget(world.keys.counts, 'accepted')).toBe('1');
    expect((await one.due(10)).due).toEqual([]);
  } finally {
    redis.disconnect();
  }
});

test('an attempt that was taken over sets no reminder, and its tool tells it so by a FencedError and not by a text', async () => {
  const redis = connectRedis(world.redis.url, 'patient');
  try {
    const turn = await givenAttempt(redis, world.keys, CHAT, 's-1' as SessionId);
    const heir = await createLane(redis, world.keys).begin(turn.entry, chatKey(CHAT), 's-1' as SessionId);
    expect(heir.kind).toBe('begun');
    const settings = { TZ: 'UTC', REMINDER_MINUTES_MIN: 1 };
    const tool = createReminders(createReminderBook(redis, world.keys), settings);
    const made = tool.call(
      { id: 'r1', name: 'reminders', input: { action: 'set', in: 60, text: TEXT }, turn },
      new AbortController().signal,
    );
    await expect(made).rejects.toThrow(FencedError);
    expect(await coming()).toEqual([]);
  } finally {
    redis.disconnect();
  }
});

test('while the model cannot be reached the user is reminded at once, and the answer follows', async () => {
  let isAway = true;
  world.claude.react(() =>
    isAway ? { do: 'error', status: 529, type: 'overloaded_error', message: 'busy' } : undefined,
  );
  await givenReminder();
  await start({}, { ...OFTEN, WAITING_NOTICE_MS: 1 });
  await makeDue();
  await world.telegram.waitForText(CHAT, /I can't answer right now/);
  expect(shown()).toEqual([EN.reminders.waiting(TEXT)]);
  isAway = false;
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(shown()).toHaveLength(2);
});
