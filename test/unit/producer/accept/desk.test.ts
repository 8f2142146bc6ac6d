import { expect, test } from '@jest/globals';
import { readDesk } from '../../../../producer/accept/desk.ts';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { isAlertText } from '../../../../shared/flow/alert.ts';
import { decodeMessage, encodeMessage } from '../../../../shared/flow/message.ts';
import { updateText } from '../../../../worker/alerts/notice-text.ts';
import { failure, opened } from '../../../fixture/incidents.ts';

const OPERATOR = 1001;
const DESK = -5;
const BOT = 7;
const GATE: Gate = {
  ...{ allowed: new Set<number>(), answersAll: new Set<number>(), bot: { id: BOT, name: 'spillway_bot' } },
  desk: { chatId: DESK, operators: new Set([OPERATOR]) },
};
const ALERT = '🟠 Today: Messages failed\nA message failed. Chat 1007.';

const chat = { id: DESK, type: 'supergroup' };
const from = { id: OPERATOR, first_name: 'Ann' };
const pressed = (data: string, by = OPERATOR) => ({
  ...{ update_id: 1, callback_query: { id: '5', from: { ...from, id: by }, message: { message_id: 9, chat }, data } },
});
const said = (text: string, more: object = {}) => ({
  ...{ update_id: 1, message: { message_id: 3, date: 10, chat, from, text, ...more } },
});
const answering = (text: string, by = BOT) => ({ reply_to_message: { message_id: 9, chat, from: { id: by }, text } });
const textOf = (update: unknown) => {
  const read = readDesk(update, GATE, 1_000);
  return read?.accept && read.message.content.kind === 'text' ? read.message.content.text : read;
};

test.each(['/desk do 5 retry', '/desk chat -100.7', '/desk message 1/1700000000000-0', '/desk chat 1001@-100'])(
  'the press of an operator is the command %s, of the message under which it stood',
  (data) => {
    const read = readDesk(pressed(data), GATE, 1_000);
    if (!read?.accept) throw new Error('not accepted');
    expect(read.message).toMatchObject({ content: { text: data }, pressed: 9, from: { isOperator: true } });
    expect(decodeMessage(encodeMessage(read.message))).toEqual({ ok: true, value: read.message });
  },
);

test.each(['/desk', '/desk ', '/desk a  b', '/desk a\nb', '/desk <b>', '/status', `/desk ${'a'.repeat(59)}!`])(
  'a press with %j is none of ours, and is found to be none at once',
  (data) => {
    const begunMs = performance.now();
    expect(readDesk(pressed(data), GATE, 1_000)).toBeUndefined();
    expect(performance.now() - begunMs).toBeLessThan(1_000);
  },
);

test('the press of anybody else is not accepted', () => {
  expect(readDesk(pressed('/desk pause all', 1002), GATE, 1_000)).toEqual({ accept: false, reason: 'not_an_operator' });
});

test('a text that answers an alert names it and brings its words along', () => {
  const read = readDesk(said('pause\nit', answering(ALERT)), GATE, 1_000);
  if (!read?.accept) throw new Error('not accepted');
  expect(read.message).toMatchObject({ content: { text: '/desk about 9 pause it' }, answers: { text: ALERT } });
  expect(textOf(said('／PAUSE 1007', answering(ALERT)))).toBe('/desk pause 1007');
});

test('what answers somebody else, another message, or was forwarded, is not for the desk', () => {
  expect(textOf(said('pause it', answering(ALERT, 1002)))).toBeUndefined();
  expect(textOf(said('pause it', answering('Good morning')))).toBeUndefined();
  expect(textOf(said('pause it', { ...answering(ALERT), forward_origin: { type: 'user' } }))).toBeUndefined();
  expect(textOf(said('/status@other_bot'))).toBeUndefined();
});

test('each later word about an incident is known as one, but for a bare list', () => {
  const incidents = opened();
  incidents.at(0, { alerts: [failure(1)] });
  const incident = incidents.book().get('failed');
  if (incident === undefined) throw new Error('no incident');
  const words = (['changed', 'lasts', 'grown', 'resolved'] as const).map((kind) => updateText(incident, kind));
  expect(words.map(isAlertText)).toEqual([true, true, true, true]);
  expect(['More: of this later.', 'Resolved: it works now.', 'Still open: the door.'].map(isAlertText)).toEqual([
    ...[false, false, false],
  ]);
});
