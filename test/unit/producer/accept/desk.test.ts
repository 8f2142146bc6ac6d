import { expect, test } from '@jest/globals';
import { readDesk } from '../../../../producer/accept/desk.ts';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { decodeMessage, encodeMessage } from '../../../../shared/flow/message.ts';

const OPERATOR = 1001;
const DESK = -5;
const BOT = 7;
const GATE: Gate = {
  ...{ allowed: new Set<number>(), answersAll: new Set<number>(), bot: { id: BOT, name: 'spillway_bot' } },
  desk: { chatId: DESK, operators: new Set([OPERATOR]) },
};
const ALERT = '🟡 Needs attention: Messages failed\nA message failed. Chat 1007.';

const chat = { id: DESK, type: 'supergroup' };
const from = { id: OPERATOR, first_name: 'Ann' };
const pressed = (data: string, by = OPERATOR) => ({
  ...{ update_id: 1, callback_query: { id: '5', from: { ...from, id: by }, message: { message_id: 9, chat }, data } },
});
const said = (text: string, more: object = {}) => ({
  ...{ update_id: 1, message: { message_id: 3, date: 10, chat, from, text, ...more } },
});
const answering = (text: string) => ({ reply_to_message: { message_id: 9, chat, from: { id: BOT }, text } });
const textOf = (update: unknown) => {
  const read = readDesk(update, GATE, 1_000);
  return read?.accept && read.message.content.kind === 'text' ? read.message.content.text : read;
};

const PRESSED = ['/desk do 5 retry', '/desk chat -100.7', '/desk message 1/1700000000000-0', '/desk chat 1001@-100'];

test.each(PRESSED)('the press of an operator is the command %s, of the message with the button', (data) => {
  const read = readDesk(pressed(data), GATE, 1_000);
  if (!read?.accept) throw new Error('not accepted');
  expect(read.message).toMatchObject({ content: { text: data }, pressed: 9, from: { isOperator: true } });
  expect(decodeMessage(encodeMessage(read.message))).toEqual({ ok: true, value: read.message });
});

const FOREIGN = ['/desk', '/desk ', '/desk a  b', '/desk a\nb', '/desk <b>', '/status', `/desk ${'a'.repeat(59)}!`];

test.each(FOREIGN)('a press with %j is none of ours, and is found to be none at once', (data) => {
  const begunMs = performance.now();
  expect(readDesk(pressed(data), GATE, 1_000)).toBeUndefined();
  expect(performance.now() - begunMs).toBeLessThan(1_000);
});

test('the press of anybody else is not accepted', () => {
  expect(readDesk(pressed('/desk pause all', 1002), GATE, 1_000)).toEqual({ accept: false, reason: 'not_an_operator' });
});

test('a text that answers an alert is no command of the desk, unless it is typed as one', () => {
  expect(textOf(said('pause it', answering(ALERT)))).toBeUndefined();
  expect(textOf(said('／PAUSE\n1007', answering(ALERT)))).toBe('/desk pause 1007');
});

test('what was forwarded, or is for another bot, is not for the desk', () => {
  expect(textOf(said('/status', { forward_origin: { type: 'user' } }))).toBeUndefined();
  expect(textOf(said('/status@other_bot'))).toBeUndefined();
});
