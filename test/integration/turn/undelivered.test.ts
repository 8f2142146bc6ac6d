import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { goAwayBeforeAnswer, isAway, letters, sayTwice } from '../../fixture/telegram-away.ts';

const MANY = 1_000_000;
const NOT_FOUND = { status: 400, description: 'Bad Request: chat not found' };

eachInWorld();

const outcomes = async () => (await settledOutcomes(world)).map(({ outcome }) => outcome);

/** Has Telegram refuse what is sent to the chat. */
function refuseAnswers(reply: { status: number; description: string }, times: number, like = /./): void {
  const isMeant = ({ chat_id: chat, text }: Record<string, unknown>) =>
    Number(chat) === CHAT && like.test(String(text));
  world.telegram.fail('sendMessage', reply, times, isMeant);
}

test('an answer that waits longer than TELEGRAM_PATIENCE_MS is a dead letter, the operator is told, and /retry delivers it without a model call', async () => {
  await start({ TELEGRAM_PATIENCE_MS: '1000' });
  world.telegram.say(CHAT, 'First');
  await goAwayBeforeAnswer('page', [CHAT]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'telegram_away' });
  await world.telegram.comeBack();
  await until('Telegram is there', async () => !(await isAway()));
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /waited/);
  expect(text).toContain(`Chat ${CHAT}`);
  expect(shown(ALERT_CHAT).join()).not.toContain('blocked');
  world.telegram.say(CHAT, '/retry');
  await untilSettled(world, 3);
  expect(await outcomes()).toEqual(['failed', 'command', 'answered']);
  expect(shown().at(-1)).toMatch(/You said: First$/);
  expect([mainCalls().length, await letters()]).toEqual([1, 0]);
}, 60_000);

test('an answer of which a part was delivered goes on with the part that is missing', async () => {
  await start({ TELEGRAM_PATIENCE_MS: '1500' });
  const long = `${'a'.repeat(3_800)}\n\n${'b'.repeat(3_000)}`;
  world.claude.react(() => ({ do: 'answer', text: long }));
  world.telegram.fail('sendMessage', { do: 'html502' }, MANY, ({ text }) => !String(text).startsWith('a'));
  world.telegram.say(CHAT, 'Long');
  const failed = await nextOutcome(world, CHAT);
  expect(failed).toMatchObject({ outcome: 'failed', reason: 'telegram_away' });
  const report = await runCli(['message', `${failed.entry}`], world.env);
  expect(report.stdout).toContain('1 of 2 parts delivered');
  world.telegram.heal();
  expect(await runCli(['dead', 'replay', '--all'], world.env)).toMatchObject({ code: 0 });
  const delivery = { parts: 2, confirmed: 2, unsure: 0 };
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', delivery });
  expect(shown().map((text) => [text[0], text.endsWith('b')])).toEqual([
    ['a', false],
    ['↻', true],
  ]);
  expect(mainCalls().length).toBe(1);
}, 60_000);

test('answers to a chat that blocks the bot are kept, and come back in order once a command is answered', async () => {
  await start();
  refuseAnswers({ status: 403, description: 'Forbidden: bot was blocked by the user' }, MANY);
  sayTwice(CHAT);
  await untilSettled(world, 2);
  expect([await outcomes(), await letters()]).toEqual([['undeliverable', 'undeliverable'], 2]);
  world.telegram.heal();
  world.telegram.say(CHAT, '/forget');
  await world.telegram.waitForText(CHAT, /erases everything/);
  // Both come back, since the chat takes messages again.
  await untilSettled(world, 5);
  expect([shown().slice(-2), mainCalls().length]).toEqual([['You said: First', 'You said: Second'], 2]);
  expect(await letters()).toBe(0);
}, 60_000);

test('an answer that is refused although its chat takes others is given up, and its user is told', async () => {
  await start();
  refuseAnswers(NOT_FOUND, MANY, /First/);
  refuseAnswers({ status: 400, description: 'Bad Request: text is not acceptable' }, MANY, /Fourth/);
  for (const [at, text] of ['First', 'Second', 'Third', 'Fourth'].entries()) {
    world.telegram.say(CHAT, text);
    // The first one is tried again after the second.
    await untilSettled(world, at === 0 ? 1 : at + 2);
  }
  const ends = ['undeliverable', 'answered', 'undeliverable', 'answered', 'undeliverable'];
  expect([await outcomes(), await letters()]).toEqual([ends, 2]);
  expect((await settledOutcomes(world)).at(-1)).toMatchObject({ reason: 'telegram_rejected' });
  expect(shown()).toEqual(['You said: Second', EN.undelivered, 'You said: Third', EN.undelivered]);
});

test('the audit proves that what is called answered was confirmed, and finds a line that is forged', async () => {
  await start();
  sayTwice(CHAT);
  await untilSettled(world, 2);
  const proven = await runCli(['audit', '--json'], world.env);
  expect([proven.code, JSON.parse(proven.stdout).delivery]).toEqual([
    0,
    { confirmed: 2, unsure: 0, unknown: 0, unconfirmed: 0, unconfirmedEntries: [] },
  ]);
  const [record] = await settledOutcomes(world);
  const forge = (delivery: object | undefined) =>
    world.peek.xadd(world.keys.outcomes, '*', 'outcome', 'answered', 'record', JSON.stringify({ ...record, delivery }));
  await forge(undefined);
  const unproven = { code: 0, stdout: expect.stringContaining('1 with no proof kept') };
  expect(await runCli(['audit'], world.env)).toMatchObject(unproven);
  await forge({ parts: 3, confirmed: 2, unsure: 0 });
  const forged = { code: 1, stdout: expect.stringContaining(`UNCONFIRMED 1 (${record?.entry})`) };
  expect(await runCli(['audit'], world.env)).toMatchObject(forged);
});
