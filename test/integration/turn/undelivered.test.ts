import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { until } from '../../chaos/scenario.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { goAwayBeforeAnswer, isAway, letters, sayTwice } from '../../fixture/telegram-away.ts';

const MANY = 1_000_000;

eachInWorld();

const outcomes = async () => (await settledOutcomes(world)).map(({ outcome }) => outcome);

describe('an answer that could not be delivered', () => {
  test('is a dead letter after TELEGRAM_PATIENCE_MS, the operator is told, and /retry delivers it without a model call', async () => {
    await givenUndelivered();
    const alerts = world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
    expect(alerts.some((text) => text.includes('has waited') && text.includes(`Chat ${CHAT}`))).toBe(true);
    expect(alerts.join()).not.toContain('blocked');
    world.telegram.say(CHAT, '/retry');
    await untilSettled(world, 3);
    expect(await outcomes()).toEqual(['failed', 'command', 'answered']);
    expect(shown().at(-1)).toMatch(/You said: First$/);
    expect([mainCalls().length, await letters()]).toEqual([1, 0]);
  }, 60_000);

  test('is delivered once by "cli dead replay", however often that is said', async () => {
    await givenUndelivered();
    const [[id = ''] = []] = await world.peek.xrange(world.keys.dead, '-', '+');
    expect(await runCli(['dead', 'replay', id], world.env)).toMatchObject({ code: 0 });
    expect(await runCli(['dead', 'replay', id], world.env)).toMatchObject({ code: 1 });
    await untilSettled(world, 2);
    await pause(300);
    expect([await outcomes(), mainCalls().length]).toEqual([['failed', 'answered'], 1]);
    expect(shown().filter((text) => text.includes('You said: First')).length).toBe(1);
  }, 60_000);

  test('goes on with the part that is missing', async () => {
    await start({ TELEGRAM_PATIENCE_MS: '1500' });
    const long = `${'a'.repeat(3_800)}\n\n${'b'.repeat(3_000)}`;
    world.claude.react(() => ({ do: 'answer', text: long }));
    world.telegram.fail('sendMessage', { do: 'html502' }, MANY, ({ text }) => !String(text).startsWith('a'));
    world.telegram.say(CHAT, 'Long');
    expect(await nextOutcome(world, CHAT)).toMatchObject({
      outcome: 'failed',
      reason: 'telegram_away',
    });
    world.telegram.heal();
    expect(await runCli(['dead', 'replay', '--all'], world.env)).toMatchObject({ code: 0 });
    expect(await nextOutcome(world, CHAT, 2)).toMatchObject({
      outcome: 'answered',
      delivery: { parts: 2, confirmed: 2, unsure: 0 },
    });
    expect(shown().map((text) => [text[0], text.endsWith('b')])).toEqual([
      ['a', false],
      ['↻', true],
    ]);
    expect(mainCalls().length).toBe(1);
  }, 60_000);

  test('is kept where Telegram itself refuses it, too, and /forget erases it', async () => {
    await start();
    const blocked = { status: 403, description: 'Forbidden: bot was blocked by the user' };
    world.telegram.fail('sendMessage', blocked, 2, ({ chat_id }) => Number(chat_id) === CHAT);
    sayTwice(CHAT);
    await untilSettled(world, 2);
    expect([await outcomes(), await letters()]).toEqual([['undeliverable', 'undeliverable'], 2]);
    world.telegram.say(CHAT, '/retry');
    await untilSettled(world, 4);
    expect([shown().at(-1), mainCalls().length, await letters()]).toEqual(['You said: Second', 2, 1]);
    world.telegram.say(CHAT, '/forget');
    await world.telegram.waitForText(CHAT, /erases everything/);
    world.telegram.say(CHAT, '/forget yes');
    await untilSettled(world, 6);
    expect(await letters()).toBe(0);
  }, 60_000);
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
  expect(await runCli(['audit'], world.env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('1 with no proof kept'),
  });
  await forge({ parts: 3, confirmed: 2, unsure: 0 });
  const forged = await runCli(['audit'], world.env);
  expect(forged).toMatchObject({ code: 1, stdout: expect.stringContaining(`UNCONFIRMED 1 (${record?.entry})`) });
});

/** An answer that was finished, and waited in vain; Telegram is back. */
async function givenUndelivered(): Promise<void> {
  await start({ TELEGRAM_PATIENCE_MS: '1000' });
  world.telegram.say(CHAT, 'First');
  await goAwayBeforeAnswer('page', [CHAT]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'telegram_away' });
  await world.telegram.comeBack();
  await until('Telegram is there', async () => !(await isAway()));
  await world.telegram.waitForText(ALERT_CHAT, /has waited/);
}
