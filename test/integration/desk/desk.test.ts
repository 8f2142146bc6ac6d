import { expect, test } from '@jest/globals';
import { eachInWorld, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const OPERATOR = ALERT_CHAT;
const CHAT = 1001;

eachInWorld();

const startDesk = (env: Record<string, string> = {}) => start({ TELEGRAM_OPERATOR_IDS: String(OPERATOR), ...env });

test('an operator is told the status of the installation in the chat of alerts', async () => {
  await startDesk();
  world.telegram.say(ALERT_CHAT, '/status');
  await world.telegram.waitForText(
    ALERT_CHAT,
    /^\S+ (?:Green|Red) (?:.*\n)*Pending 0; of 1 accepted; none waits (?:.*\n)*Turns in flight None\./,
  );
  expect(await nextOutcome(world, ALERT_CHAT)).toMatchObject({ outcome: 'command', reason: 'desk' });
});

test('every chat is resumed from the chat of alerts, although every chat is paused', async () => {
  await startDesk();
  world.telegram.say(ALERT_CHAT, '/pause all');
  await world.telegram.waitForText(ALERT_CHAT, /^Paused: Every chat/);
  world.telegram.say(CHAT, 'hello');
  world.telegram.say(ALERT_CHAT, '/resume all');
  await world.telegram.waitForText(ALERT_CHAT, /^Resumed: Every chat/);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('who is no operator is not heard there, and no command of theirs works elsewhere', async () => {
  await start({ TELEGRAM_OPERATOR_IDS: '1002' });
  world.telegram.say(ALERT_CHAT, '/pause all');
  world.telegram.say(CHAT, '/desk pause all');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  world.telegram.say(CHAT, '/incidents');
  await world.telegram.waitForText(CHAT, /incidents/);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
});
