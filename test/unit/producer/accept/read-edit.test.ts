import { expect, test } from '@jest/globals';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { isEdit, readEdit } from '../../../../producer/accept/read-update.ts';

const USER = 1001;
const GROUP = -5;
const GATE: Gate = {
  allowed: new Set([USER, GROUP]),
  answersAll: new Set(),
  bot: { id: 7, name: 'spillway_bot' },
};
const from = { id: USER, is_bot: false };
const inPrivate = { message_id: 3, from, chat: { id: USER, type: 'private' }, date: 100, edit_date: 160, text: 'now' };
const inGroup = { ...inPrivate, chat: { id: GROUP, type: 'supergroup' } };
const read = (edited: unknown) => readEdit({ update_id: 5, edited_message: edited }, GATE, 100);

test.each<[string, object, boolean]>([
  ['addresses nobody', {}, false],
  ['addresses the bot, an hour later', { text: '/ask why', edit_date: 100 + 3_600 }, true],
  ['addresses the bot, at no time', { text: '/ask why', date: 0.5 }, false],
  ['addresses the bot, over an hour later', { text: '/ask why', edit_date: 100 + 3_601 }, false],
  ['addresses the bot, at a time that is none', { text: '/ask why', edit_date: 'now' }, false],
])('in a group, an edit that %s may be a message of its own: %#', (_, over, mayBeNew) => {
  expect(read({ ...inGroup, ...over })).toMatchObject({ accept: true, mayBeNew });
});

test('an edit is ignored where a message is', () => {
  const stranger = { ...inPrivate, from: { id: 666 }, chat: { id: 666, type: 'private' } };
  expect(read(stranger)).toEqual({ accept: false, reason: 'not_allowed' });
  expect(read('x')).toEqual({ accept: false, reason: 'not_a_message' });
});

test.each([null, 7, 'x', { message: {} }])('%j is no edit', (update) => {
  expect(isEdit(update)).toBe(false);
});
