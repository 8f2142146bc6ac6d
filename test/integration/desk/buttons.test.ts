import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { readActions } from '../../../shared/state/process/actions.ts';
import { dataByLabel } from '../../fixture/desk.ts';
import { eachInWorld, start, trouble, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { untilSettled } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

const ANN = ALERT_CHAT;
const BEN = 1002;
const OPERATORS = { TELEGRAM_OPERATOR_IDS: `${ANN},${BEN}` };
const FAILED: Alert = { cause: 'failed', chat: '1001' as ChatKey, text: 'A message failed. Chat 1001.' };

eachInWorld({ env: OPERATORS });

const queue = (alert: Alert) => queueAlert(world.peek, world.keys, alert);

/** The buttons under a message that is shown: what they say, and what they send. */
const buttonsUnder = (messageId: number, chat = ALERT_CHAT) =>
  dataByLabel(world.telegram.shown(chat).find((each) => each.messageId === messageId));

/** Waits for the message about an incident, and returns how its buttons are pressed. */
async function alerted(match: RegExp, chat = ALERT_CHAT) {
  const { messageId } = await world.telegram.waitForText(chat, match);
  const dataOf = (label: string): string => {
    const data = buttonsUnder(messageId, chat)[label];
    if (data === undefined) throw new Error(`no button ${label}: ${Object.keys(buttonsUnder(messageId, chat))}`);
    return data;
  };
  return {
    messageId,
    labels: () => Object.keys(buttonsUnder(messageId, chat)),
    dataOf,
    press: (label: string, by = ANN) => world.telegram.press(chat, messageId, dataOf(label), by),
  };
}

const shown = (text: RegExp, chat = ALERT_CHAT) => world.telegram.waitForText(chat, text);
const incidentNow = async (name = 'failed') =>
  JSON.parse((await world.peek.hget(world.keys.incidents, `incident:${name}`)) ?? '{}') as {
    isOpen: boolean;
    acts?: Record<string, { by: string; result: string }>;
  };

test('only what an operator did stands in the message of its incident and the trail, and the reply rings nobody', async () => {
  await start();
  await queue(FAILED);
  const alert = await alerted(/Messages failed/);
  alert.press('Replay failed', 1003);
  await until('an answer', () => world.telegram.answers.find(({ text }) => /operators/.test(text ?? '')));
  expect(await incidentNow()).not.toHaveProperty('acts');
  expect(alert.labels()[0]).toBe('Replay failed');
  alert.press('Replay failed');
  await shown(/^🟡 Needs attention: Messages failed(?:.|\n)*Nothing to replay · by .+, \d\d:\d\d UTC/);
  const reply = await shown(/^Nothing to replay\.$/);
  expect(reply.replyTo).toBe(alert.messageId);
  const sent = world.telegram.calls.find(({ params }) => String(params.text) === reply.text);
  expect(sent?.params).toMatchObject({ disable_notification: true });
  await queue({ cause: 'tool-refused', key: 'web', text: 'The API refuses the tool web.' });
  const other = await alerted(/rejects it/);
  other.press('Close');
  await shown(/^Resolved: closed by (?:.|\n)*was turned off/);
  expect(other.labels()).toEqual([]);
  expect(await incidentNow('tool-refused:web')).toMatchObject({ isOpen: false });
  const by = expect.stringMatching(new RegExp(`\\(${ANN}\\)$`));
  expect((await readActions(world.peek, 1))[0]).toMatchObject({ deed: 'close', target: 'tool-refused:web', by });
});

const STILL_FAILS =
  /^Replay 2 dead letters\? No call has gone through since .*: the endpoint does not accept our API key\./;

test('what failed is put back by one press of two, after a question that is neither old nor taken back, and is answered', async () => {
  const mend = trouble(LIES.key);
  await start();
  world.telegram.say(1001, 'one');
  world.telegram.say(1002, 'two');
  await untilSettled(world, 2);
  mend();
  const alert = await alerted(/rejects the API key/);
  alert.press('Replay failed');
  const question = await shown(STILL_FAILS);
  world.telegram.press(ALERT_CHAT, question.messageId, buttonsUnder(question.messageId).Back ?? '', ANN);
  await shown(/^Nothing was done\.$/);
  await until('no buttons', () => Object.keys(buttonsUnder(question.messageId)).length === 0 || undefined);
  await pressOld(`${alert.dataOf('Replay failed')} yes-1`);
  await shown(/^That question is more than ten minutes old, so nothing was done/);
  expect(await world.peek.xlen(world.keys.dead)).toBe(2);
  alert.press('Replay failed');
  const again = await until('a question', () =>
    world.telegram
      .shown(ALERT_CHAT)
      .find((each) => STILL_FAILS.test(each.text) && each.messageId !== question.messageId),
  );
  const yes = buttonsUnder(again.messageId)['Yes, replay'] ?? '';
  for (const by of [ANN, BEN]) world.telegram.press(ALERT_CHAT, again.messageId, yes, by);
  await shown(/^Replayed 2 of 2\.$/);
  await shown(/^Nothing to replay\. .+ did that at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: Replayed 2 of 2\.$/);
  await shown(/Page(?:.|\n)*Replayed 2 of 2 · by .+, \d\d:\d\d UTC/);
  for (const chat of [1001, 1002]) await shown(/You said/, chat);
});

/** Presses a button of a message that was sent long ago. */
async function pressOld(data: string): Promise<void> {
  const reply_markup = { inline_keyboard: [[{ text: 'Old', callback_data: data }]] };
  const body = JSON.stringify({ chat_id: ALERT_CHAT, text: `An old alert: ${data}`, reply_markup });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${world.telegram.url}/bot${world.telegram.token}/sendMessage`, { method: 'POST', body, headers });
  const { messageId } = await until('it', () =>
    world.telegram.shown(ALERT_CHAT).find(({ text }) => text.includes(data)),
  );
  world.telegram.press(ALERT_CHAT, messageId, data, ANN);
}

const OLD_BUTTONS: [data: string, reply: RegExp][] = [
  ['/desk act AAAAAAAAAA replay', /alert is over/],
  ['/desk act AAAAAAAAAA take', /does not know that button/],
  ['/desk do AAAAAAAAAA pause-all 0 0a1b2c', /^This button is from an older version, .*\/incidents/],
];

test('a button of an opening that is over, of an unknown act or of an older version does nothing and says so', async () => {
  await start();
  for (const [data, reply] of OLD_BUTTONS) {
    await pressOld(data);
    await shown(reply);
  }
  expect(await readActions(world.peek, 1)).toEqual([]);
});

test('the stuck chat is paused, although every chat is paused, and goes on with Resume', async () => {
  await start();
  world.telegram.say(ANN, '/pause all');
  await shown(/^Every chat is paused/);
  await queue({ ...FAILED, cause: 'paused', text: 'Messages wait.' });
  const alert = await alerted(/paused chats/);
  world.telegram.say(1001, 'hello');
  alert.press('Resume');
  await shown(/^Every chat resumes within seconds; pauses ended: 1\.$/);
  await untilSettled(world, 3);
});

test('a group of operators that became a supergroup has working buttons', async () => {
  const group = -900;
  world.telegram.openChat(group, 'group');
  await start({ TELEGRAM_ALERT_CHAT_ID: String(group) });
  await queue(FAILED);
  await alerted(/Messages failed/, group);
  const now = world.telegram.migrate(group);
  await queue({ cause: 'tool-refused', key: 'web', text: 'The API refuses the tool web.' });
  const alert = await alerted(/rejects it/, now);
  alert.press('Close');
  await world.telegram.waitForText(now, /^Resolved: closed by/);
});
