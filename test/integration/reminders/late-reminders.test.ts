import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { runCli } from '../../fixture/cli.ts';
import { outcomes } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { dueTimes, givenReminder, OFTEN } from '../../fixture/reminders.ts';
import { until } from '../../fixture/root.ts';

const DAY_MS = 24 * 3_600_000;

eachInWorld();

/** Resolves when the chat's lane holds so many messages. */
async function untilWaiting(count: number): Promise<void> {
  const look = async () => (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === count || undefined;
  await until(`${count} messages wait`, look);
}

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
    /^These reminders were due earlier.*\n\d{4}-.* \(and 2 times more since then\): water the plants\n.*: call the bank\n.*: buy milk$/,
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
