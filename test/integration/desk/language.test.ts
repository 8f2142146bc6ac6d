import { expect, test } from '@jest/globals';
import type { Alert } from '../../../shared/flow/alert.ts';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import { queueAlert } from '../../../shared/state/incident/book.ts';
import { ask, pressed, type Replied, startDesk } from '../../fixture/desk.ts';
import { eachInWorld, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { untilSettled } from '../../fixture/ledger.ts';

const CHAT = 1007;
const FAILED: Alert = { cause: 'failed', chat: `${CHAT}` as ChatKey, text: `A message failed. Chat ${CHAT}.` };

eachInWorld();

const shown = (text: RegExp) => world.telegram.waitForText(ALERT_CHAT, text, 30_000);
const queue = (alert: Alert) => queueAlert(world.peek, world.keys, alert);

/** The message that matches, with its buttons as they are now. */
async function alerted(match: RegExp): Promise<Replied> {
  const { messageId, text, replyMarkup } = await shown(match);
  const rows = (replyMarkup as { inline_keyboard?: { text: string; callback_data?: string }[][] }).inline_keyboard;
  const buttons = (rows ?? []).flat().map(({ text: label, callback_data: data = '' }) => [label, data]);
  return { text, messageId, buttons: Object.fromEntries(buttons) };
}

test('an alert in Chinese is taken, snoozed and closed by buttons, and each reply is Chinese', async () => {
  await startDesk({ ALERT_LANGUAGE: 'zh-Hant' });
  await queue({ ...FAILED, cause: 'torn-session', text: `A session log is torn. Chat ${CHAT}.` });
  const alert = await alerted(
    /^🟠 今日處理：對話記錄中有讀不出來的資料\n自 .* 起：1 個聊天室的 1 則訊息。\nA session log is torn/,
  );
  expect((await pressed(alert, '我來處理')).text).toMatch(/ 處理中。$/);
  await shown(/ 處理中 · 自 \d\d:\d\d UTC 起/);
  const closed = await pressed(alert, '結案');
  expect(closed.text).toBe('已結案。');
  await shown(/^已解決：由 .* 結案。持續 \d+ 秒：1 個聊天室的 1 則訊息（torn-session）。\n🟠 今日處理/);
});

test('who presses what somebody else has done is told so in Chinese', async () => {
  await startDesk({ ALERT_LANGUAGE: 'zh-Hant' });
  await queue(FAILED);
  const alert = await alerted(/有訊息處理失敗/);
  const stored = JSON.parse((await world.peek.hget(world.keys.incidents, 'incident:failed')) ?? '{}');
  const take = { n: 1, by: 'Ben', id: 1002, atMs: Date.now(), entry: '1-1', result: 'Ben 處理中' };
  await world.peek.hset(world.keys.incidents, 'incident:failed', JSON.stringify({ ...stored, acts: { take } }));
  expect((await pressed(alert, '我來處理')).text).toMatch(/^Ben 在 .* UTC 已經做過：Ben 處理中。$/);
});

test('what failed is put back by the button of a Chinese alert', async () => {
  let isOver = false;
  world.claude.react(({ pendingText }) =>
    isOver || !pendingText.includes('hello')
      ? undefined
      : { do: 'error', status: 400, type: 'invalid_request_error', message: 'no' },
  );
  await startDesk({ ALERT_LANGUAGE: 'zh-Hant' });
  world.telegram.say(CHAT, 'hello');
  await untilSettled(world, 1);
  const alert = await alerted(/有訊息無法回答/);
  isOver = true;
  expect((await pressed(alert, '重送失敗訊息')).text).toBe('已重送 1／1 則。');
  await shown(/已重送 1／1 則 · .*，\d\d:\d\d UTC/);
});

test('a question before an act is asked and taken back in Chinese', async () => {
  await startDesk({ ALERT_LANGUAGE: 'zh-Hant' });
  await queue({ cause: 'overflow-storm', text: 'Many chats overflow.' });
  const asked = await pressed(await alerted(/🔴 緊急：許多聊天室同時超出容量/), '暫停所有聊天室');
  expect(asked.text).toBe('要暫停所有聊天室嗎？執行中的會照常結束，其他都會等待。');
  expect(Object.keys(asked.buttons)).toEqual(['是，全部暫停', '返回']);
  expect((await pressed(asked, '返回')).text).toBe('什麼都沒做。');
});

test('a reply to a Chinese alert is known as one, whatever the language is by then', async () => {
  await startDesk({ ALERT_LANGUAGE: 'zh-Hant' });
  await queue(FAILED);
  const { messageId } = await alerted(/有訊息處理失敗/);
  expect((await ask('為什麼', { replyTo: messageId })).text).toMatch(/A message failed\. Chat 1007\./);
  await stopGateways();
  await startDesk();
  expect((await ask('why', { replyTo: messageId })).text).toMatch(/A message failed\. Chat 1007\./);
  // The book has forgotten it, and the message names its chat.
  await stopGateways();
  await world.peek.del(world.keys.incidents, world.keys.alerting);
  await startDesk();
  const { text, buttons } = await ask('為什麼', { replyTo: messageId });
  expect(text).toMatch(/no longer kept/);
  expect(Object.keys(buttons)).toEqual(['Chat 1007']);
});
