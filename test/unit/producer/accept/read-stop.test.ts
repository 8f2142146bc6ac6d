import { expect, test } from '@jest/globals';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { groupIn, isStop, moveOf, pressIdOf, readPress, readStop } from '../../../../producer/accept/read-update.ts';
import { decodeMessage, encodeMessage } from '../../../../shared/flow/message.ts';

const USER = 1001;
const GROUP = -5;
const GATE: Gate = { allowed: new Set([USER, GROUP]), answersAll: new Set(), bot: { id: 7, name: 'spillway_bot' } };
const pressed = (stop: unknown) => ({ update_id: 5, stopped_message_generation: stop });
const chat = { id: USER, type: 'private' };

test('a press of the stop button is the message /stop of its chat and topic', () => {
  const read = readStop(pressed({ chat, message_thread_id: 3, draft_id: 77 }), GATE, 1_000);
  if (!read.accept) throw new Error(read.reason);
  const place = { chatId: USER, topicId: 3, chatType: 'private', messageId: 77, from: { id: USER } };
  expect(read.message).toEqual({
    v: 1,
    updateId: 5,
    ...place,
    sentAtMs: 1_000,
    content: { kind: 'text', text: '/stop' },
  });
  expect(decodeMessage(encodeMessage(read.message))).toEqual({ ok: true, value: read.message });
});

test.each([undefined, 0, '3'])('a press of the stop button in the topic %j is one of the chat', (message_thread_id) => {
  const read = readStop(pressed({ chat, message_thread_id, draft_id: 77 }), GATE, 1_000);
  expect(read.accept && read.message.topicId).toBeUndefined();
});

test('a press in a chat that is not allowed is ignored', () => {
  const read = readStop(pressed({ chat: { id: 666 }, draft_id: 77 }), GATE, 1_000);
  expect(read).toEqual({ accept: false, reason: 'not_allowed' });
});

test.each<[string, unknown]>([
  ['nothing', null],
  ['no chat', { draft_id: 1 }],
  ['a chat without an id', { chat: {}, draft_id: 1 }],
  ['no draft', { chat }],
  ['a text as the draft', { chat, draft_id: '77' }],
])('a press of the stop button with %s is malformed', (_, stop) => {
  expect(readStop(pressed(stop), GATE, 1_000)).toEqual({ accept: false, reason: 'malformed' });
});

test('only a press of the stop button is one', () => {
  expect([isStop(pressed({})), isStop({ update_id: 5, message: {} }), isStop(null), isStop('x')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

const BUTTON = {
  id: 'press-1',
  from: { id: USER, is_bot: false, first_name: 'Ann' },
  message: { message_id: 9, chat },
  data: '/retry',
};
const onButton = (over: object) => ({ update_id: 5, callback_query: { ...BUTTON, ...over } });
const inGroup = { message_id: 9, chat: { id: GROUP, type: 'supergroup' } };

test('the press of a button is the command that it names, given by whoever pressed', () => {
  const place = { chatId: USER, chatType: 'private', messageId: 9, from: { id: USER, name: 'Ann' } };
  const command = { sentAtMs: 1_000, pressed: 9, content: { kind: 'text', text: '/retry' } };
  const message = { v: 1, updateId: 5, ...place, ...command };
  expect(readPress(onButton({}), GATE, 1_000)).toEqual({ accept: true, message });
  const guest = readPress(onButton({ message: inGroup, from: { id: 666 } }), GATE, 1_000);
  expect(guest).toMatchObject({ accept: true, message: { chatId: GROUP, from: { id: 666, isGuest: true } } });
  const listed = readPress(onButton({ message: inGroup }), GATE, 1_000);
  expect(listed).toHaveProperty('message.from', message.from);
  const channel = readPress(onButton({ message: { ...inGroup, chat: { id: 9, type: 'private' } } }), GATE, 1_000);
  expect(channel).toMatchObject({ accept: true, message: { chatId: 9 } });
  expect(channel).not.toHaveProperty('message.from.isGuest');
});

test.each<[string, unknown, string]>([
  ['no press', { update_id: 5, callback_query: null }, 'malformed'],
  ['no id of its update', { callback_query: BUTTON }, 'malformed'],
  ['no sender', onButton({ from: undefined }), 'malformed'],
  ['no message', onButton({ message: undefined }), 'malformed'],
  ['no chat', onButton({ message: { message_id: 9 } }), 'malformed'],
  ['no id of its message', onButton({ message: { chat } }), 'malformed'],
  ['no data', onButton({ data: undefined }), 'malformed'],
  ['data that is a list', onButton({ data: ['/retry'] }), 'malformed'],
  ['data that names no command', onButton({ data: '/explode' }), 'malformed'],
  ['a stranger', onButton({ from: { id: 666 }, message: { message_id: 9, chat: { id: 666 } } }), 'not_allowed'],
])('the press of a button with %s is ignored', (_, update, reason) => {
  expect(readPress(update, GATE, 1_000)).toEqual({ accept: false, reason });
});

test.each<[unknown, string | undefined, number | undefined, object | undefined]>([
  [onButton({}), 'press-1', undefined, undefined],
  [onButton({ message: inGroup }), 'press-1', GROUP, undefined],
  [onButton({ id: 7 }), undefined, undefined, undefined],
  [{ callback_query: null }, undefined, undefined, undefined],
  [{ message: inGroup }, undefined, GROUP, undefined],
  [{ edited_message: inGroup }, undefined, GROUP, undefined],
  [{ message: { ...inGroup, migrate_to_chat_id: -100 } }, undefined, GROUP, { from: GROUP, to: -100 }],
  [{ message: { chat: { id: -6 }, migrate_to_chat_id: -100 } }, undefined, -6, undefined],
  [{ message: { chat: { id: '-5' }, migrate_to_chat_id: -100 } }, undefined, undefined, undefined],
  [{ message: { chat: { id: 0 } } }, undefined, undefined, undefined],
  [{ message: { migrate_to_chat_id: -100 } }, undefined, undefined, undefined],
  [{ message: null }, undefined, undefined, undefined],
  [null, undefined, undefined, undefined],
])('in %j: the id of a press %j, the group %j and its move %j', (update, id, group, move) => {
  expect([pressIdOf(update), groupIn(update), moveOf(update, GATE)]).toEqual([id, group, move]);
  if (move === undefined) expect(moveOf(update, { ...GATE, allowed: 'everyone' })?.from).not.toBe('-5');
});
